"""Compiled steps of chains whose data and settings are arguments.

What is compiled depends on shapes and on what the network, the likelihood, the prior and the
expansion are. Data, weights, step size, friction, masses, the scale of the default prior and seeds
are arguments. So whoever keeps a program compiles nothing for a second fit of the same shapes, and
gradients that are measured come from the program that samples.

Chains run side by side in a loop on the device; on a CPU, where such a loop keeps one core busy,
half of them in a thread each. XLA on CPU runs a convolution in a loop 4 to 8 times slower than
outside, so networks with convolutions take a Python loop, a thread for each core, on packed
positions. They are compiled with all optimisations, for steps that take half the time.
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
from pxsgmcmc.tuning.engine.packing import Packing
from pxsgmcmc.types import Array, Batch, Potential, Sampler, Tree

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
      executor: "scan" for chains side by side on the device, "loop" for one by one.
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

    @property
    def parts(self) -> list[slice]:
        """Chains that share a call of what is compiled; on a CPU each part has a thread.

        They do not depend on the number of cores, so draws do not either.
        """
        one = 1 if self.slow else self.chains
        if not self.slow and jax.default_backend() == "cpu" and self.chains % 2 == 0:
            one //= 2
        return [slice(first, first + one) for first in range(0, self.chains, one)]


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
      advance: (states, count, rows, data, settings, keys of each part, active) -> states, sums.
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

    def energy(last_layer: Any, packing: Packing | None) -> Potential:
        def log_likelihood(params: Tree, batch: Batch) -> Array:
            x, y, weights = batch
            # The energy takes the mean over rows; what is wanted is the sum.
            return weights * problem.log_likelihood(params, (x, y)) * float(len(weights))

        prior = default_prior(problem, last_layer) if spec.prior is None else spec.prior
        whole = PosteriorPotential(log_likelihood, 1, prior, factor_prior(), problem)
        return whole if packing is None else lambda q, batch: whole(packing.unpack(q), batch)

    def transition(
        state: Any, keys: Any, batch: Batch, settings: Settings, packing: Packing | None = None
    ) -> Any:
        noise, augmenting = keys
        if augment is not None:
            x, y, weights = batch
            batch = augment(jax.random.fold_in(augmenting, state.step), x), y, weights
        here = energy(settings.last_layer, packing)
        sampler = sampler_of(spec.sampler, here, settings, state.position)
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

        empty = _no_sums(spec, state.position, active.shape, kind)
        return jax.lax.fori_loop(0, count, body, (state, empty))

    @functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
    def one(packing, carry, i, rows, data, settings, keys):
        state, sums = carry
        state, report = transition(state, keys, take(data, rows), settings, packing)
        return state, reported(i, sums, *report)

    def one_by_one(state, count, rows, data, settings, keys, active):
        """Of one chain, its leading axis kept."""
        mine = jax.tree.map(lambda x: np.asarray(x)[0], state)
        sums = _no_sums(spec, mine.position, (), kind)
        if active[0]:
            packing = Packing.of(mine.position)
            settings = settings._replace(masses=packing.masses(settings.masses))
            mine = packing.packed_state(mine)
            carry = mine, _no_sums(spec, mine.position, (), kind)
            keys = jax.tree.map(lambda x: x[0], keys)
            for i in range(int(count)):
                carry = one(packing, carry, np.int32(i), rows[0][i], data, settings, keys)
            mine, sums = jax.tree.map(np.asarray, carry)
            mine = packing.unpacked_state(mine)
        return jax.tree.map(lambda x: np.asarray(x)[None], (mine, sums))

    parts, compiled, called = spec.parts, dict[Any, Any](), list[bool]()

    def ahead(*arguments: Any) -> Any:
        """`side_by_side`, compiled for arguments like these where JAX has the caller's settings."""
        kinds = tuple((x.shape, x.dtype) for x in jax.tree.leaves(arguments))
        if kinds not in compiled:
            compiled[kinds] = side_by_side.lower(*arguments).compile()
        return compiled[kinds]

    def in_threads(state, count, rows, data, settings, keys, active):
        state = jax.tree.map(np.asarray, state)
        cut = [jax.tree.map(lambda x: x[part], (state, rows, active)) for part in parts]  # noqa: B023
        given = [
            (q, count, i, data, settings, key, a) for (q, i, a), key in zip(cut, keys, strict=True)
        ]
        go = one_by_one if spec.slow else ahead(*given[0])
        # The first call compiles; two threads would do so at once, each for itself.
        threads = min(len(parts), len(cores())) if called else 1
        called.append(True)
        with ThreadPoolExecutor(threads) as pool:
            each = pool.map(lambda mine: jax.tree.map(np.asarray, go(*mine)), given)
            return jax.tree.map(lambda *x: np.concatenate(x), *each)

    def advance(state, count, rows, data, settings, keys, active):
        if len(parts) > 1 or spec.slow:
            found = in_threads(state, count, rows, data, settings, keys, active)
        else:
            found = side_by_side(state, count, rows, data, settings, keys[0], active)
        state, (first, last, total, heats) = found
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
