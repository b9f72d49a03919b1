"""From a configuration to its parts: problem, expansion, energy, sampler, and what to run."""

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import msgspec

from pxsgmcmc import priors, samplers
from pxsgmcmc.chain.collection import collection_of
from pxsgmcmc.chain.execution import Execution
from pxsgmcmc.chain.sampling import Sampling
from pxsgmcmc.config.data_description import DataDescription
from pxsgmcmc.config.naming import naming
from pxsgmcmc.config.problem import BuiltProblem, build_problem, without_test
from pxsgmcmc.config.sampler_sections import AUTO, Adapt, CyclicalSettings, Groups
from pxsgmcmc.config.schema import Config
from pxsgmcmc.config.start_weights import prior_draw, stored_weights
from pxsgmcmc.errors import UserError
from pxsgmcmc.expansion import Plan, expand, groups, plan
from pxsgmcmc.posterior import PosteriorPotential, freeze_factors, potential
from pxsgmcmc.problem import NETWORK, Problem
from pxsgmcmc.rng import streams
from pxsgmcmc.schedules import constant, cyclical
from pxsgmcmc.types import Key, Sampler, Schedule, Tree


@dataclass(frozen=True)
class Built:
    """The parts of a run.

    Attributes:
      config: what they were made from.
      problem: network, likelihood, data.
      plan: of the expansion, None without one.
      position: from the number of a chain to where it starts.
      potential: the energy.
      sampler: from a factor on the step size to a sampler.
      prepared: what a run keeps of its data.
    """

    config: Config
    problem: Problem
    plan: Plan | None
    position: Callable[[int], Tree]
    potential: PosteriorPotential
    sampler: Callable[[float], Sampler]
    prepared: DataDescription | None = None


def build(
    config: Config,
    *,
    judging: bool = False,
    begun: bool = False,
    blind: bool = False,
    problem: Problem | None = None,
    prepared: DataDescription | None = None,
) -> Built:
    """Load, build and connect everything a configuration names.

    Args:
      config: what to build.
      judging: also load the sets that only an evaluation needs.
      begun: the chain goes on from a saved state, so `chain.start` is not read again.
      blind: without the test rows and everything else that is kept for the judge.
      problem: in place of the one that the configuration names.
      prepared: what a run keeps of its data, to predict without reading them.
    """
    if problem is None:
        made = build_problem(config, judging=judging, blind=blind, prepared=prepared)
    else:
        made = BuiltProblem(without_test(problem) if blind else problem, {}, None)
    problem, ends, kept = made
    if prepared is None:
        _check_batch_size(config, problem)
    shapes = jax.eval_shape(problem.initial, jax.random.key(0))
    planned = _plan(config, shapes, ends)

    @functools.cache
    def position(chain: int) -> Tree:
        init_key, factor_key = jax.random.split(streams(config.seed, chain).init)
        # Jitted: operation by operation, a deep network takes seconds to make.
        params = jax.jit(problem.initial)(init_key)
        if config.chain.start == "map" and not begun:
            from pxsgmcmc.tuning.warm_start import warm_start  # a room above, see DOORS

            seed = warm_start_seed(config.seed, chain)
            params = warm_start(problem, params, prior=_prior(config), seed=seed)
        elif config.chain.start == "prior" and not begun:
            key = jax.random.key(warm_start_seed(config.seed, chain))
            params = jax.jit(partial(prior_draw, config.prior, problem))(key, params)
        elif config.chain.start != "random" and not begun:
            params = stored_weights(config.chain.start, like=params)
        if planned is None:
            return params
        return jax.jit(partial(_expanded, planned))(params, factor_key)

    energy = _potential(config, problem)
    like = shapes
    if planned is not None:
        like = jax.eval_shape(partial(_expanded, planned), shapes, jax.random.key(0))
    sampler = _sampler(config, problem, energy, like)
    return Built(config, problem, planned, position, energy, sampler, kept)


def _expanded(plan: Plan, params: Tree, key: Key) -> Tree:
    return expand(params, plan, key)


def sampling_of(built: Built, chains: tuple[int, ...], text: str, settings: str) -> Sampling:
    """What to run of a configuration: these chains of it.

    Args:
      built: its parts.
      chains: numbers of the chains.
      text: to keep as config.toml.
      settings: a digest of all settings that decide the law of draws.
    """
    config, chain = built.config, built.config.chain
    return Sampling(
        build=built.sampler,
        start=built.position,
        problem=built.problem,
        data=tuple(built.problem.train),
        collection=collection_of(
            chain.draws, chain.cycle_length, chain.burn_in, chain.draws_per_cycle, chain.thinning
        ),
        batch_size=chain.batch_size,
        seed=config.seed,
        chains=chains,
        execution=Execution(
            executor=chain.executor,
            chunk_seconds=chain.chunk_seconds,
            checkpoint_seconds=chain.checkpoint_seconds,
            on_divergence=chain.on_divergence,
            retries=chain.retries,
            keep_data=chain.keep_data,
            devices=chain.devices,
            matmul_precision=chain.matmul_precision,
            on_signal="return",
        ),
        config=text,
        facts={
            "settings": settings,
            "method": method_name(config),
            **({} if built.prepared is None else {"prepared": msgspec.to_builtins(built.prepared)}),
            **(
                {}
                if config.measured is None
                else {"measured": msgspec.to_builtins(config.measured)}
            ),
        },
    )


def method_name(config: Config) -> str:
    """The sampler, and how it is expanded.

    Example:
      >>> from pxsgmcmc.config.model_sections import MLPSettings
      >>> from pxsgmcmc.config.sampler_sections import SGLD
      >>> from pxsgmcmc.config.schema import ChainSettings, Data, Expansion
      >>> chain = ChainSettings(draws=1, cycle_length=1, batch_size=1)
      >>> config = Config(data=Data(name="digits"), model=MLPSettings(),
      ...     sampler=SGLD(step_size=0.1), chain=chain, expansion=Expansion(out=1, into=2))
      >>> method_name(config)
      'PX-SGLD (c=1, d=2)'
    """
    name = _tag(config.sampler)
    name = {"psgld": "pSGLD"}.get(name, name.upper())
    expansion = config.expansion
    if not (expansion.out or expansion.into):
        return name
    notes = [f"c={expansion.out}", f"d={expansion.into}"]
    if expansion.rank is not None:
        notes.append(f"rank {expansion.rank}" + " of the width" * isinstance(expansion.rank, float))
    notes += [f"{expansion.inner:g} times as wide inside"] * (expansion.inner > 1.0)
    notes += ["on input"] * expansion.input + ["on logits"] * expansion.logits
    notes += ["frozen factors"] * expansion.frozen
    notes += ["prior on weights"] * config.prior.on_weights
    return f"PX-{name} ({', '.join(notes)})"


def _tag(section: msgspec.Struct) -> str:
    return str(section.__struct_config__.tag)


def _check_batch_size(config: Config, problem: Problem) -> None:
    rows, size = len(problem.train.x), config.chain.batch_size
    whole = _tag(config.sampler) == "hmc"
    if size > rows or (whole and size != rows):
        rule = "equal to" if whole else "at most"
        raise UserError(f"`chain.batch_size` must be {rule} the {rows} training rows, got {size}.")


def _plan(config: Config, shapes: Tree, ends: dict[str, str]) -> Plan | None:
    expansion = config.expansion
    if not (expansion.out or expansion.into):
        return None
    if isinstance(shapes, dict) and NETWORK in shapes:  # the noise is sampled beside the network
        ends = {key: f"{NETWORK}/{layer}" for key, layer in ends.items()}
    with naming("expansion"):
        return plan(
            shapes,
            out=expansion.out,
            into=expansion.into,
            rank=expansion.rank,
            inner=expansion.inner,
            input_layer=ends.get("input_layer"),
            logits_layer=ends.get("logits_layer"),
            expand_input=expansion.input,
            expand_logits=expansion.logits,
        )


def with_settings(built: Built, config: Config) -> Built:
    """The same parts with a sampler of other settings; starts that were made are not made again.

    Args:
      built: the parts.
      config: that differs from theirs in [sampler] alone.
    """
    like = jax.eval_shape(lambda: built.position(0))
    sampler = _sampler(config, built.problem, built.potential, like)
    return dataclasses.replace(built, config=config, sampler=sampler)


def warm_start_seed(seed: int, chain: int) -> int:
    """One for each chain, so that chains come to different modes."""
    key = jax.random.fold_in(streams(seed, chain).init, 1)
    return int(jax.random.randint(key, (), 0, 2**31 - 1))


def _prior(config: Config) -> priors.Prior:
    """On the weights, without what expansion adds."""
    section = config.prior
    families = {
        "normal": lambda: priors.normal(section.variance),
        "laplace": lambda: priors.laplace(section.scale),
        "student_t": lambda: priors.student_t(section.scale, freedom=section.freedom),
    }
    return families[section.family]()


def _potential(config: Config, problem: Problem) -> PosteriorPotential:
    section, prior = config.prior, _prior(config)
    if section.on_weights:
        temperature = getattr(config.sampler, "temperature", 0.0)
        prior = priors.on_weights(prior, temperature=temperature)
    variance = section.factor_variance
    factor_prior = priors.normal(variance, at=section.factors_at) if variance else None
    return potential(problem, prior=prior, factor_prior=factor_prior)


def _sampler(
    config: Config, problem: Problem, potential: PosteriorPotential, like: Tree
) -> Callable[[float], Sampler]:
    name, settings = _tag(config.sampler), msgspec.structs.asdict(config.sampler)
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
            settings[key] = groups(like, base=value.base, factors=value.factors)
    if name == "ggmc":
        data = jax.tree.map(jnp.asarray, tuple(problem.train))
        settings["full_potential"] = potential.on_all(data, chunk_size=config.chain.batch_size)
    if isinstance(settings.get("adapt"), Adapt):
        settings["adapt"] = samplers.adaptation(**msgspec.structs.asdict(settings["adapt"]))
    if name == "l2e":
        settings["data_size"] = len(problem.train.x)
    step_size = settings.pop("step_size")

    def sampler(factor: float) -> Sampler:
        with naming("sampler"):
            schedule = _schedule(step_size, factor, config.chain.cycle_length)
            return getattr(samplers, name)(energy, schedule, **settings)

    return sampler


def _schedule(step_size: float | CyclicalSettings, factor: float, cycle_length: int) -> Schedule:
    if not isinstance(step_size, CyclicalSettings):
        return constant(factor * step_size)
    period = step_size.period or cycle_length
    peak = step_size.peak
    assert peak != AUTO, "measured before anything is sampled"
    return cyclical(factor * peak, period, lowest=factor * step_size.lowest)
