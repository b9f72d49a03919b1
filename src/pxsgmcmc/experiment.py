"""A configuration, wired: data, network, expansion, energy, sampler, chain."""

import difflib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
from pxsgmcmc.config import Config, parse_config, write_config
from pxsgmcmc.config.schema import Cyclical, Groups
from pxsgmcmc.data import Dataset, known_sets, load
from pxsgmcmc.data.augment import augment
from pxsgmcmc.errors import CorruptRun, UserError, one_line
from pxsgmcmc.expansion import Plan, expand, groups, plan
from pxsgmcmc.models import Model, build
from pxsgmcmc.potential import Posterior, classification, exact, freeze_factors, normal
from pxsgmcmc.rng import streams
from pxsgmcmc.schedules import as_schedule, cyclical
from pxsgmcmc.store import Run, open_run
from pxsgmcmc.store.layout import MANIFEST
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


def wire(
    config: Config, chain: int = 0, *, begun: bool = False, shapes: bool = False
) -> Experiment:
    """Load, build and connect everything a configuration names, for one chain.

    Args:
      config: what to build.
      chain: its number, for what is random at the start.
      begun: the chain goes on from a saved state, so `chain.start` is not read again.
      shapes: nothing will be sampled, so only the shapes of `position` are found out, which saves
        seconds.
    """
    dataset = _load(config)
    train = _training_rows(dataset, config)
    with _naming("model"):
        model = build(_name(config.model), **_settings(config.model), classes=len(dataset.classes))
    mean, std = (jnp.asarray(x, jnp.float32) for x in (dataset.mean, dataset.std))
    images = train[0].dtype == np.uint8

    def apply(params: Tree, x: Array) -> Array:
        shape = (1,) * (x.ndim - 1) + (-1,)
        x = x.astype(jnp.float32) / (255.0 if images else 1.0)
        return model.apply(params, (x - mean.reshape(shape)) / std.reshape(shape))

    keys = streams(config.seed, chain)
    init_key, factor_key = jax.random.split(keys.init)
    # Jitted: operation by operation, a deep network takes seconds to make.
    make = jax.eval_shape if shapes else lambda function, *args: jax.jit(function)(*args)
    with _naming("model"):
        example = np.zeros((1, *train[0].shape[1:]), np.float32)
        params = make(model.init, init_key, jnp.asarray(example))
    if config.chain.start != "random" and not (begun or shapes):
        params = _stored_weights(config.chain.start, like=params)
    asked = config.expansion
    planned, position = None, params
    if asked.out or asked.into:
        with _naming("expansion"):
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
        position = make(lambda p, key: expand(p, planned, key), params, factor_key)
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
    stored = open_run(out) if resume and (Path(out) / MANIFEST).exists() else None
    parts = wire(config, chain, begun=stored is not None and stored.manifest["resumable"])
    settings = msgspec.structs.asdict(config.chain)
    del settings["start"]
    if config.chains > 1 and config.chain.tensorboard is not None:
        settings["tensorboard"] = Path(config.chain.tensorboard) / Path(out).name
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
        config=_as_stored(config, stored),
        facts={"data": {parts.dataset.name: parts.dataset.sha256}},
    )


def _as_stored(config: Config, stored: Run | None) -> str:
    """The configuration as text: as the run has it, if the same draws come of that."""
    if stored is not None:
        with suppress(UserError):
            begun = parse_config(stored.config)
            if msgspec.structs.replace(begun, evaluate=config.evaluate) == config:
                return stored.config
    return write_config(config)


@contextmanager
def _naming(section: str) -> Iterator[None]:
    """Put the section of the configuration before the setting that an error names."""
    try:
        yield
    except UserError as error:
        text = str(error)
        named = text.replace("`", f"`{section}.", 1) if text[0] == "`" else f"[{section}] {text}"
        raise UserError(named) from error


def _name(section: msgspec.Struct) -> str:
    return str(section.__struct_config__.tag)


def _settings(section: msgspec.Struct) -> dict[str, Any]:
    return msgspec.structs.asdict(section)


def _load(config: Config) -> Dataset:
    _check_known("data.name", config.data.name)
    for setting in ("shifts", "out_of_distribution"):  # heard of before sampling, not after
        for name in getattr(config.evaluate, setting):
            _check_known(f"evaluate.{setting}", name)
    return load(config.data.name, root=config.data.root)


def _check_known(setting: str, name: str) -> None:
    if name not in known_sets():
        close = difflib.get_close_matches(name, known_sets(), n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known_sets())}."
        raise UserError(f"`{setting}` cannot be {one_line(name)}; {hint}")


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


def _stored_weights(start: str, like: Tree) -> Tree:
    """Parameters to start from: a draw of a run, or a file of weights."""
    if start.endswith(".safetensors"):
        try:
            arrays = decode(Path(start).read_bytes())
        except OSError as error:
            raise UserError(f"`chain.start` cannot be read: {start}: {error.strerror}.") from None
        except ValueError as error:
            raise UserError(f"`chain.start` cannot be used: {start} is {error}.") from None
    else:
        folder, colon, number = start.rpartition(":")
        folder, number = (folder, number) if colon and number.isdecimal() else (start, "")
        try:
            run = open_run(folder)
            arrays = run.load_draw(int(number) if number else max(1, len(run.draws)))
        except UserError as error:
            raise UserError(f"`chain.start` cannot be used: {error}") from None
    try:
        return from_arrays(arrays, like, start)
    except CorruptRun as error:
        raise UserError(f"`chain.start` cannot be used: {error}") from None


def _sampler_builder(
    config: Config, potential: Posterior, position: Tree, train: Any
) -> Callable[[float], Sampler]:
    name, settings = _name(config.sampler), _settings(config.sampler)
    energy = potential
    if config.expansion.frozen:
        energy = freeze_factors(potential)
        if "noise" in settings:
            base = settings["noise"]
            base = base.base if isinstance(base, Groups) else base
            settings["noise"] = Groups(base=base, factors=0.0)
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
        with _naming("sampler"):
            return getattr(samplers, name)(energy, lambda t: factor * step_size(t), **settings)

    return sampler
