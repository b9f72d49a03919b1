"""A configuration, wired: data, network, expansion, energy, sampler, chain."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import msgspec
import numpy as np

from pxsgmcmc import samplers
from pxsgmcmc.chain import Samples, sample
from pxsgmcmc.chain.record import from_arrays
from pxsgmcmc.config import Config, write_config
from pxsgmcmc.config.schema import Cyclical, Groups
from pxsgmcmc.data import Dataset, load
from pxsgmcmc.data.augment import augment
from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.expansion import Plan, expand, groups, plan
from pxsgmcmc.models import Model, build
from pxsgmcmc.potential import Posterior, classification, exact, freeze_factors, normal
from pxsgmcmc.rng import streams
from pxsgmcmc.schedules import as_schedule, cyclical
from pxsgmcmc.store import open_run
from pxsgmcmc.store.tensors import decode
from pxsgmcmc.types import Array, Key, Sampler, Tree


@dataclass(frozen=True)
class Experiment:
    """The parts of a run.

    Attributes:
      config: what they were made from.
      dataset: all splits.
      train: what the chain sees, (inputs, labels) as stored.
      model: the network.
      apply: (parameters, inputs as stored) -> logits.
      plan: of the expansion, None without one.
      position: where the chain starts.
      potential: the energy.
      sampler: from a factor on the step size to a sampler.
    """

    config: Config
    dataset: Dataset
    train: tuple[np.ndarray, np.ndarray]
    model: Model
    apply: Callable[[Tree, Array], Array]
    plan: Plan | None
    position: Tree
    potential: Posterior
    sampler: Callable[[float], Sampler]


def wire(config: Config, chain: int = 0) -> Experiment:
    """Load, build and connect everything a configuration names, for one chain."""
    dataset = load(config.data.name, root=config.data.root)
    train = _training_rows(dataset, config)
    model = build(_name(config.model), **_settings(config.model), classes=len(dataset.classes))
    mean, std = (jnp.asarray(x, jnp.float32) for x in (dataset.mean, dataset.std))
    images = train[0].dtype == np.uint8

    def apply(params: Tree, x: Array) -> Array:
        shape = (1,) * (x.ndim - 1) + (-1,)
        x = x.astype(jnp.float32) / (255.0 if images else 1.0)
        return model.apply(params, (x - mean.reshape(shape)) / std.reshape(shape))

    keys = streams(config.seed, chain)
    init_key, factor_key = jax.random.split(keys.init)
    params = _start(config, model, init_key, train[0])
    asked = config.expansion
    planned, position = None, params
    if asked.out or asked.into:
        planned = plan(
            params,
            out=asked.out,
            into=asked.into,
            rank=asked.rank,
            input_layer=model.input_layer,
            logits_layer=model.logits_layer,
            expand_input=asked.input,
            expand_logits=asked.logits,
        )
        position = expand(params, planned, factor_key)
    prior = config.prior
    temperature = getattr(config.sampler, "temperature", 0.0)
    variance = prior.factor_variance
    potential = classification(
        apply,
        data_size=len(train[0]),
        prior=exact(prior.variance, temperature=temperature)
        if prior.exact
        else normal(prior.variance),
        factor_prior=normal(variance, at=prior.factors_at) if variance else None,
    )
    return Experiment(
        config,
        dataset,
        train,
        model,
        apply,
        planned,
        position,
        potential,
        _sampler_builder(config, potential, position, train),
    )


def run_chain(
    config: Config,
    out: str | Path,
    *,
    chain: int = 0,
    resume: bool = False,
    progress: bool | Literal["plain"] = True,
) -> Samples:
    """Run one chain of a configuration into a run directory."""
    parts = wire(config, chain)
    settings = msgspec.structs.asdict(config.chain)
    del settings["start"]
    return sample(
        parts.sampler,
        parts.position,
        parts.train,
        **settings,
        seed=config.seed,
        chain=chain,
        prepare=_prepare(config),
        out=out,
        resume=resume,
        progress=progress,
        label=Path(out).name,
        config=write_config(config),
        facts={"data": {parts.dataset.name: parts.dataset.sha256}},
    )


def _name(section: msgspec.Struct) -> str:
    return str(section.__struct_config__.tag)


def _settings(section: msgspec.Struct) -> dict[str, Any]:
    return msgspec.structs.asdict(section)


def _training_rows(dataset: Dataset, config: Config) -> tuple[np.ndarray, np.ndarray]:
    if "train" not in dataset.splits or not dataset.classes:
        raise UserError(
            f"`data.name` must be a set to train a classifier on, got {dataset.name!r}."
        )
    x, y = dataset.splits["train"]
    assert y is not None
    x, y = x[: config.data.limit], y[: config.data.limit]
    size, whole = config.chain.batch_size, _name(config.sampler) == "hmc"
    if size > len(x) or (whole and size != len(x)):
        rule = "equal to" if whole else "at most"
        raise UserError(
            f"`chain.batch_size` must be {rule} the {len(x)} training rows, got {size}."
        )
    if config.data.augment and x.ndim != 4:
        raise UserError(f"`data.augment` needs images, and {dataset.name!r} has none.")
    return x, y


def _prepare(config: Config) -> Callable[[Key, Any], Any] | None:
    data = config.data
    if not data.augment:
        return None
    return lambda key, batch: (augment(key, batch[0], pad=data.pad, flip=data.flip), batch[1])


def _start(config: Config, model: Model, key: Key, inputs: np.ndarray) -> Tree:
    """Parameters to start from: random, a kept draw, or a file of weights."""
    example = jax.ShapeDtypeStruct((1, *inputs.shape[1:]), jnp.float32)
    start = config.chain.start
    if start == "random":
        return model.init(key, jnp.zeros(example.shape, example.dtype))
    like = jax.eval_shape(lambda: model.init(key, jnp.zeros(example.shape, example.dtype)))
    try:
        return from_arrays(_stored_weights(start), like, f"`chain.start` ({start})")
    except CorruptRun as error:
        raise UserError(f"`chain.start` cannot be used: {error}") from None


def _stored_weights(start: str) -> dict[str, np.ndarray]:
    if start.endswith(".safetensors"):
        try:
            return decode(Path(start).read_bytes())
        except OSError as error:
            raise UserError(f"`chain.start` cannot be read: {start}: {error.strerror}.") from None
    folder, colon, number = start.rpartition(":")
    folder, number = (folder, number) if colon and number.isdigit() else (start, "")
    run = open_run(folder)
    if not run.draws:
        raise UserError(f"`chain.start` must be a run with draws, {folder!r} has none.")
    return run.load_draw(int(number) if number else len(run.draws))


def _sampler_builder(
    config: Config, potential: Posterior, position: Tree, train: Any
) -> Callable[[float], Sampler]:
    name, settings = _name(config.sampler), _settings(config.sampler)
    energy = potential
    if config.expansion.frozen:
        energy = freeze_factors(potential)
        settings["noise"] = Groups(base=1.0, factors=0.0)
    for key in ("friction", "noise"):
        if isinstance(settings.get(key), Groups):
            value = settings[key]
            settings[key] = groups(position, base=value.base, factors=value.factors)
    if name == "ggmc":
        data = jax.tree.map(jnp.asarray, train)
        settings["full_potential"] = potential.on_all(data, chunk_size=config.chain.batch_size)
    asked = settings.pop("step_size")
    if isinstance(asked, Cyclical):
        period = asked.period or config.chain.steps
        asked = cyclical(asked.peak, period, lowest=asked.lowest)
    step_size = as_schedule(asked, "sampler.step_size")

    def sampler(factor: float) -> Sampler:
        return getattr(samplers, name)(energy, lambda step: factor * step_size(step), **settings)

    return sampler
