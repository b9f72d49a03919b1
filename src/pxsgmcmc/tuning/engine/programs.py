"""Compiled steps of chains whose data and settings are arguments.

What is compiled depends on shapes and on what the network, the likelihood, the prior and the
expansion are. Data, weights, step size, friction, masses, the scale of the default prior and seeds
are arguments. So whoever keeps a program compiles nothing for a second fit of the same shapes, and
gradients that are measured come from the program that samples.

Chains run side by side in a loop on the device. XLA on CPU runs a convolution there 4 to 8 times
slower than outside, so networks with convolutions take a Python loop, a thread for each core.
"""

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc import priors
from pxsgmcmc.chain.executors import StepSums
from pxsgmcmc.chain.groups import by_group, kinetic_temperature
from pxsgmcmc.expansion import expand, groups, plan
from pxsgmcmc.jobs.local import cores
from pxsgmcmc.posterior import PosteriorPotential
from pxsgmcmc.problem import Problem
from pxsgmcmc.samplers import sghmc, sgld, sgnht
from pxsgmcmc.tree import size
from pxsgmcmc.tuning.default_prior import default_prior
from pxsgmcmc.types import Array, Batch, Sampler, Tree

FACTOR_VARIANCE = 0.02  # around the identity, well below 1 / width
SAMPLERS = {"sghmc": sghmc, "sgnht": sgnht, "sgld": sgld}
ALL_ROWS, BATCH_SIZE = 1024, 256  # up to so many rows a step sees all of them, else a batch
SMALL_BATCH_SIZE = 50  # of networks with convolutions on a CPU, whose steps take as long as rows


@dataclass(frozen=True)
class Spec:
    """All that a compiled program depends on besides its problem.

    Attributes:
      prior: on the weights, or None for the default one, whose scale is an argument.
      factors: on each side of every layer; 0 for none.
      sampler: "sghmc", "sgnht" or "sgld".
      chains: how many.
      batch: rows a step sees; 0 for all.
      executor: "scan" for chains side by side on the device, "loop" for a thread each.
    """

    prior: priors.Prior | None
    factors: int
    sampler: str
    chains: int
    batch: int
    executor: Literal["scan", "loop"] = "scan"

    @property
    def slow(self) -> bool:
        """Whether gradients are so dear that fewer are spent on measurements."""
        return self.executor == "loop"


class Settings(NamedTuple):
    """Numbers that a program takes as arguments.

    Attributes:
      step_size: constant.
      friction: by group; empty for SGLD.
      masses: of each leaf of a position.
      last_layer: of the default prior, times 1 / fan-in.
    """

    step_size: Any
    friction: dict[str, Any]
    masses: tuple[Any, ...]
    last_layer: Any

    def typed(self) -> "Settings":
        """With numbers of the type that programs are compiled for."""
        return jax.tree.map(np.float32, self)


class Program(NamedTuple):
    """What is compiled for a problem.

    Attributes:
      problem: whose network and likelihood it has; data are arguments.
      spec: what else it depends on.
      advance: (states, count, rows, data, settings, keys, active) -> states, sums.
    """

    problem: Problem
    spec: Spec
    advance: Callable[..., tuple[Any, StepSums]]

    def prior(self, last_layer: Any) -> priors.Prior:
        """On the weights."""
        own = self.spec.prior
        return default_prior(self.problem, last_layer) if own is None else own

    def sampler(self, energy: Any, settings: Settings, position: Tree) -> Sampler:
        """With its settings, for who takes a step or judges the chain."""
        return sampler_of(self.spec.sampler, energy, settings, position)

    def expanded(self, params: Tree) -> Tree:
        """Parameters as a position."""
        factors = self.spec.factors
        if not factors:
            return params
        found = plan(params, out=factors, into=factors)
        return expand(params, found) if found.factor_count else params


def factor_prior() -> priors.Prior:
    """On the factors."""
    return priors.normal(FACTOR_VARIANCE, at="identity")


def executor_for(params: Tree) -> Literal["scan", "loop"]:
    """How steps of a network are best run here: kernels with a window are those of convolutions."""
    windows = any(np.ndim(leaf) > 2 for leaf in jax.tree.leaves(params))
    return "loop" if windows and jax.default_backend() == "cpu" else "scan"


def batch_for(executor: str, rows: int, *, augmented: bool = False) -> int:
    """Rows a step sees; 0 for all of them."""
    if executor == "loop":
        return min(rows, SMALL_BATCH_SIZE)
    if rows <= ALL_ROWS and not augmented:
        return 0
    return min(rows, BATCH_SIZE)


def make_program(problem: Problem, spec: Spec) -> Program:
    """The program of a problem, whose own data it does not keep."""
    augment = problem.augment
    kind = jnp.result_type(float)

    def energy(last_layer: Any) -> PosteriorPotential:
        def log_likelihood(params: Tree, batch: Batch) -> Array:
            x, y, weights = batch
            # The energy takes the mean over rows; what is wanted is the sum.
            return weights * problem.log_likelihood(params, (x, y)) * float(len(weights))

        prior = default_prior(problem, last_layer) if spec.prior is None else spec.prior
        return PosteriorPotential(log_likelihood, 1, prior, factor_prior(), problem)

    def transition(state: Any, keys: Any, batch: Batch, settings: Settings) -> Any:
        noise, augmenting = keys
        if augment is not None:
            x, y, weights = batch
            batch = augment(jax.random.fold_in(augmenting, state.step), x), y, weights
        sampler = sampler_of(spec.sampler, energy(settings.last_layer), settings, state.position)
        after, info = sampler.step(jax.random.fold_in(noise, state.step), state, batch)
        heat = {}
        if spec.sampler != "sgld":
            heat = kinetic_temperature(after.momentum, mass_tree(settings.masses, state.position))
        return after, jax.tree.map(lambda x: x.astype(kind), (info.energy, heat))

    def reported(i: Any, sums: Any, energy: Array, heat: dict[str, Array]) -> Any:
        first, _, total, heats = sums
        first = jnp.where(i == 0, energy, first)
        return first, energy, total + energy, jax.tree.map(jnp.add, heats, heat)

    def take(data: Batch, rows: Array) -> Batch:
        return jax.tree.map(lambda x: x[rows], data) if spec.batch else data

    @functools.partial(jax.jit, donate_argnums=0, compiler_options=quick_options())
    def side_by_side(state, count, rows, data, settings, keys, active):
        def body(i: Any, carry: Any) -> Any:
            state, sums = carry
            batch, each = (take(data, rows[:, i]), 0) if spec.batch else (data, None)
            after, (energy, heat) = jax.vmap(transition, (0, 0, each, None))(
                state, keys, batch, settings
            )
            after = jax.tree.map(
                lambda a, b: jnp.where(active.reshape(-1, *[1] * (a.ndim - 1)), a, b), after, state
            )
            return after, reported(i, sums, energy, heat)

        empty = _no_sums(spec, state.position, (spec.chains,), kind)
        return jax.lax.fori_loop(0, count, body, (state, empty))

    @functools.partial(jax.jit, compiler_options=quick_options())
    def one(carry, i, rows, data, settings, keys):
        state, sums = carry
        state, (energy, heat) = transition(state, keys, take(data, rows[i]), settings)
        return state, reported(i, sums, energy, heat)

    def in_threads(state, count, rows, data, settings, keys, active):
        def follow(chain: int) -> Any:
            mine = jax.tree.map(lambda x: np.asarray(x)[chain], (state, rows))
            carry = mine[0], _no_sums(spec, mine[0].position, (), kind)
            table, own = jnp.asarray(mine[1]), keys[chain]
            for i in range(int(count) if active[chain] else 0):
                carry = one(carry, np.int32(i), table, data, settings, own)
            return jax.tree.map(np.asarray, carry)

        with ThreadPoolExecutor(len(cores())) as pool:
            found = list(pool.map(follow, range(spec.chains)))
        return jax.tree.map(lambda *x: np.stack(x), *found)

    def advance(state, count, rows, data, settings, keys, active):
        run = in_threads if spec.slow else side_by_side
        state, (first, last, total, heats) = run(state, count, rows, data, settings, keys, active)
        h: Any = np.broadcast_to(settings.step_size, (spec.chains,))
        none: Any = np.zeros(spec.chains, kind)
        return state, StepSums(total, first, last, count * h, h, h, none, none, heats)

    return Program(problem, spec, advance)


def sampler_of(name: str, energy: Any, settings: Settings, position: Tree) -> Sampler:
    """A sampler with its settings; SGLD has neither friction nor mass."""
    h = settings.step_size
    h = h if isinstance(h, float) else lambda _: settings.step_size  # not a number while traced
    if name == "sgld":
        return sgld(energy, h)
    friction = groups(position, **{"base": 0.0, "factors": 0.0, **settings.friction})
    mass = mass_tree(settings.masses, position)
    return SAMPLERS[name](energy, h, friction=friction, mass=mass)


def mass_tree(masses: Any, position: Tree) -> Tree:
    """One number for each leaf, in the order of the leaves."""
    return jax.tree.unflatten(jax.tree.structure(position), list(masses))


def _no_sums(spec: Spec, position: Tree, shape: tuple[int, ...], kind: Any) -> Any:
    """First, last and summed energy, and summed temperatures, of no steps."""
    none = np.zeros(shape, kind)
    named = {} if spec.sampler == "sgld" else by_group(position)
    return none, none, none, {name: none for name, part in named.items() if size(part)}


@functools.cache
def quick_options() -> dict[str, Any] | None:
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
