"""Compiled steps and forward passes, one for each kind of fit and kept for the next fit.

What is compiled depends on shapes and on what the network, the likelihood, the prior and the
expansion are. Data, weights, step size, friction and seeds are arguments. So a second fit of the
same shapes compiles nothing, whatever its data and settings.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc import priors
from pxsgmcmc.chain.executors import StepSums
from pxsgmcmc.chain.groups import kinetic_temperature
from pxsgmcmc.errors import check_number
from pxsgmcmc.expansion import expand, groups, plan
from pxsgmcmc.likelihoods.likelihood import Likelihood
from pxsgmcmc.posterior import PosteriorPotential
from pxsgmcmc.problem import Problem
from pxsgmcmc.samplers import sghmc, sgld, sgnht
from pxsgmcmc.sklearn.networks import Network, Same
from pxsgmcmc.tuning.default_prior import fan_in_variances
from pxsgmcmc.types import Array, Batch, Sampler, Tree

KEPT = 64  # programs
FACTOR_VARIANCE = 0.02  # around the identity, well below 1 / width
SAMPLERS = {"sghmc": sghmc, "sgnht": sgnht, "sgld": sgld}


@dataclass(frozen=True)
class Spec:
    """All that a compiled program depends on; two fits with equal ones share it.

    Attributes:
      network: compared by its key.
      likelihood: on the scale of the network.
      features: columns of the inputs.
      targets: classes or targets.
      prior: a variance, a prior, or None for variances that fall with the fan-in.
      last: of the default prior on the last layer, times 1 / fan-in.
      factors: on each side of every layer; 0 for none.
      sampler: "sghmc", "sgnht" or "sgld".
      chains: side by side.
      rows: that data are filled up to.
      batch: rows a step sees; 0 for all.
    """

    network: Network
    likelihood: Likelihood
    features: int
    targets: int
    prior: Any
    last: float
    factors: int
    sampler: str
    chains: int
    rows: int
    batch: int


class Program(NamedTuple):
    """What is compiled for a spec.

    Attributes:
      potential: energy of (position, (x, y, weights)), the weights scaled to all the data.
      advance: (state, count, rows, data, step size, friction, masses, keys, active) -> state, sums.
      sampler: (step size, friction by group, masses by leaf, position) -> the sampler, for who
        judges its chain.
      expanded: parameters -> position.
    """

    potential: PosteriorPotential
    advance: Callable[..., tuple[Any, StepSums]]
    sampler: Callable[[Any, Any, Any, Tree], Sampler]
    expanded: Callable[[Tree], Tree]


@functools.lru_cache(maxsize=KEPT)
def program_for(spec: Spec) -> Program:
    """The program of a spec, made once."""
    energy = _energy(spec)

    def sampler(h: Any, friction: Any, masses: Any, position: Tree) -> Sampler:
        return sampler_of(spec, energy, lambda _: h, friction, masses, position)

    def advance(state, count, rows, data, h, friction, masses, keys, active):
        step = sampler(h, friction, masses, state.position).step
        mass = mass_tree(masses, state.position)

        def transition(state: Any, key: Any, batch: Batch) -> tuple[Any, Array, dict[str, Array]]:
            after, info = step(jax.random.fold_in(key, state.step), state, batch)
            if not hasattr(after, "momentum"):
                return after, info.energy, {}
            return after, info.energy, kinetic_temperature(after.momentum, mass)

        def chains(i: Any, state: Any) -> tuple[Any, Array, dict[str, Array]]:
            if not spec.batch:
                return jax.vmap(transition, (0, 0, None))(state, keys, data)
            batch = jax.tree.map(lambda x: x[rows[:, i]], data)
            return jax.vmap(transition)(state, keys, batch)

        def body(i: Any, carry: Any) -> Any:
            state, first, _, total, heats = carry
            after, energy, heat = chains(i, state)
            after = jax.tree.map(
                lambda a, b: jnp.where(active.reshape(-1, *[1] * (a.ndim - 1)), a, b), after, state
            )
            first = jnp.where(i == 0, energy, first)
            heats = jax.tree.map(jnp.add, heats, heat)
            return after, first, energy, total + energy, heats

        _, energy, heat = jax.eval_shape(chains, 0, state)
        none = jnp.zeros(energy.shape, energy.dtype)
        empty = (state, none, none, none, jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), heat))
        state, first, last, total, heats = jax.lax.fori_loop(0, count, body, empty)
        here = jnp.full_like(none, h)
        sums = StepSums(
            total, first, last, count.astype(here.dtype) * here, here, here, none, none, heats
        )
        return state, sums

    return Program(
        energy,
        jax.jit(advance, donate_argnums=0, compiler_options=_quick()),
        sampler,
        functools.partial(_expanded, spec.factors),
    )


def sampler_of(
    spec: Spec, energy: Any, h: Any, friction: Any, masses: Any, position: Tree
) -> Sampler:
    """The sampler of a spec with its settings; SGLD has neither friction nor mass."""
    if spec.sampler == "sgld":
        return sgld(energy, h)
    given = groups(position, **{"base": 0.0, "factors": 0.0, **friction})
    mass = mass_tree(masses, position)
    return SAMPLERS[spec.sampler](energy, h, friction=given, mass=mass)


def mass_tree(masses: Any, position: Tree) -> Tree:
    """One number for each leaf, in the order of the leaves."""
    return jax.tree.unflatten(jax.tree.structure(position), list(masses))


@functools.lru_cache(maxsize=KEPT)
def forward_for(network: Network, likelihood: Likelihood, features: int, targets: int) -> Any:
    """(stacked parameters of all draws, inputs) -> (draws, rows, numbers), compiled by size."""
    problem = _nothing(network, likelihood, features, targets)
    return jax.jit(jax.vmap(problem.distribution, (0, None)), compiler_options=_quick())


def _energy(spec: Spec) -> PosteriorPotential:
    """The weighted energy; a step's batch has its rows' weights."""
    problem = _nothing(spec.network, spec.likelihood, spec.features, spec.targets)

    def log_likelihood(params: Tree, batch: Batch) -> Array:
        x, y, weights = batch
        # The energy takes the mean over rows; what is wanted is the sum.
        return weights * problem.log_likelihood(params, (x, y)) * float(len(weights))

    factor_prior = priors.normal(FACTOR_VARIANCE, at="identity")
    return PosteriorPotential(
        log_likelihood, 1, prior_of(spec.prior, spec.last), factor_prior, problem
    )


def prior_of(prior: Any, last: float) -> priors.Prior:
    """What was given as `prior=`; None is the default one, `last` / fan-in on the last layer."""
    prior = prior.thing if isinstance(prior, Same) else prior
    if prior is None:
        return FanIn(last)
    if isinstance(prior, int | float) and not isinstance(prior, bool):
        return priors.normal(check_number("prior", prior, above=0.0))
    return priors.as_prior(prior, "prior")


@dataclass(frozen=True)
class FanIn:
    """Normals whose variances fall with the fan-in, whatever network they meet."""

    last: float

    @property
    def name(self) -> str:
        """As a table would print it."""
        return f"normal(2 / fan-in, {self.last:g} / fan-in on the last layer)"

    def energy(self, tree: Tree, old: Tree | None = None) -> Array:
        """Energy of `tree`, less that of `old` if given."""
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), tree)
        return priors.normal(fan_in_variances(shapes, last=self.last)).energy(tree, old)


def _nothing(network: Network, likelihood: Likelihood, features: int, targets: int) -> Problem:
    """The problem on two rows that nobody looks at: data are arguments of what is compiled."""
    classes = likelihood.task == "classification"
    y = np.arange(2) if classes else np.zeros((2, targets), np.float32)
    return Problem(
        network.apply,
        likelihood,
        train=(np.zeros((2, features), np.float32), y),
        names=tuple(map(str, range(targets))),
    )


def _expanded(factors: int, params: Tree) -> Tree:
    if not factors:
        return params
    found = plan(params, out=factors, into=factors)
    return expand(params, found) if found.factor_count else params


@functools.cache
def _quick() -> dict[str, Any] | None:
    """Options with which XLA on a CPU compiles in half the time, for steps a fifth slower.

    They are tried on a small program first: other versions of XLA may not have them.
    """
    if jax.default_backend() != "cpu":
        return None
    options = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1}
    try:
        jax.jit(lambda x: x + 1.0, compiler_options=options)(np.float32(0.0))
    except Exception:
        return None
    return options
