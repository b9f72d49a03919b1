"""Many steps on the device: one jitted step in a Python loop, or a loop inside one jitted call.

XLA on CPU runs a convolution inside a device loop 4 to 8 times slower than outside, so networks
with convolutions take the Python loop there; everything else takes the device loop. Results are the
same bit for bit for any chunk size within one executor, not across the two.

Under "vmap", several chains run side by side in the device loop, each with its own randomness.
Their last bits depend on how many there are: XLA lays out their products in another way.
"""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.chain.groups import kinetic_temperature
from pxsgmcmc.chain.layout import DeviceLayout
from pxsgmcmc.chain.row_table import RowTable
from pxsgmcmc.network_checks import primitives
from pxsgmcmc.rng import Streams
from pxsgmcmc.types import Array, Batch, Key, Sampler

Executor = Literal["loop", "scan", "vmap"]
TransformBatch = Callable[[Key, Batch], Batch]  # (key, batch as stored) -> as the sampler sees it
MOST_STEPS = 8192  # that one call can be asked for


def faster_executor(traced: Any, platform: str) -> Executor:
    """Which executor suits a step, as `jax.make_jaxpr` traced it, on devices of a platform."""
    if platform != "cpu":
        return "scan"
    return "loop" if "conv_general_dilated" in primitives(traced.jaxpr, platform) else "scan"


class StepReport(NamedTuple):
    """What is noted of every step; scalars, NaN where there is nothing to say."""

    energy: Array
    step_size: Array
    acceptance: Array
    temperature: dict[str, Array]  # kinetic, by group


class StepSums(NamedTuple):
    """What the steps of a chunk reported, added up on the device; a chain axis where several."""

    energy: Array  # sum
    first_energy: Array
    last_energy: Array
    step_size: Array  # sum
    last_step_size: Array
    largest_step_size: Array
    acceptance: Array  # sum over tests
    tests: Array
    temperature: dict[str, Array]  # sums


def _add_up(reports: StepReport, count: Any) -> StepSums:
    """Sums over the first `count` of the steps that were written down."""
    taken = jnp.arange(len(reports.energy), dtype=jnp.int32) < count
    tested = taken & jnp.isfinite(reports.acceptance)

    def total(values: Array, chosen: Array = taken) -> Array:
        return jnp.sum(jnp.where(chosen, values, 0.0))

    return StepSums(
        energy=total(reports.energy),
        first_energy=reports.energy[0],
        last_energy=reports.energy[count - 1],
        step_size=total(reports.step_size),
        last_step_size=reports.step_size[count - 1],
        largest_step_size=jnp.max(jnp.where(taken, reports.step_size, -jnp.inf)),
        acceptance=total(reports.acceptance, tested),
        tests=jnp.sum(tested).astype(reports.energy.dtype),
        temperature={group: total(values) for group, values in reports.temperature.items()},
    )


class Advance:
    """Takes steps on a data set; call it with (state, first, rows).

    Args:
      sampler: what to run.
      data: a pytree of arrays with one leading axis; on the device, or NumPy arrays (perhaps
        memory-mapped) that stay on the host and are gathered batch by batch.
      keys: the streams of the chain; for several chains, one list of them.
      executor: "loop" or "scan"; "vmap" for several chains.
      transform_batch: applied to each batch on the device, with a key that depends on the step.
      batch_size: rows a step sees.
      schedule_offset: steps by which the sampler's schedule is ahead of the chain.
      layout: the devices that hold the state.
    """

    def __init__(
        self,
        sampler: Sampler,
        data: Batch,
        keys: list[Streams],
        executor: Executor,
        transform_batch: TransformBatch | None,
        batch_size: int,
        schedule_offset: int = 0,
        layout: DeviceLayout | None = None,
    ):
        self.data, self.executor, self.batch_size = data, executor, batch_size
        self.layout = DeviceLayout(None) if layout is None else layout
        self.several = len(keys) > 1
        self.keys = self.layout.place(_stacked(keys) if self.several else keys[0])
        leaves = jax.tree.leaves(data)
        self.on_host = bool(leaves) and isinstance(leaves[0], np.ndarray)
        self.most = max(1, min(MOST_STEPS, (1 << 22) // (batch_size * len(keys))))
        chains = (len(keys),) if self.several else ()
        self._rows = RowTable((*chains, self.most, batch_size), self.layout)

        def transition(state: Any, batch: Batch, keys: Streams) -> tuple[Any, StepReport]:
            if transform_batch is not None:
                batch = transform_batch(jax.random.fold_in(keys.augment, state.step), batch)
            key = jax.random.fold_in(keys.noise, state.step)
            if schedule_offset:
                ahead = state._replace(step=state.step + schedule_offset)
                after, info = sampler.step(key, ahead, batch)
                after = after._replace(step=state.step + 1)
            else:
                after, info = sampler.step(key, state, batch)
            return after, _report(sampler, after, info)

        def take(data: Batch, rows: Array) -> Batch:
            return jax.tree.map(lambda x: x[rows], data)

        @partial(jax.jit, donate_argnums=(0, 1))
        def given(state, written, place, batch, keys):
            state, report = transition(state, batch, keys)
            return state, jax.tree.map(lambda all, this: all.at[place].set(this), written, report)

        @partial(jax.jit, donate_argnums=(0, 1))
        def one(state, written, rows, first, data, keys):
            place = state.step - first
            return given(state, written, place, take(data, rows[place]), keys)

        @partial(jax.jit, donate_argnums=0)
        def many(state, rows, count, data, keys):
            def step(i, state):
                return transition(state, take(data, rows[i]), keys)

            def body(i, carry):
                state, written = carry
                state, report = step(i, state)
                # Written down, and added up at the end: sums in the loop slow small networks.
                return state, jax.tree.map(lambda all, this: all.at[i].set(this), written, report)

            _, report = jax.eval_shape(step, 0, state)
            written = jax.tree.map(lambda x: jnp.zeros((len(rows), *x.shape), x.dtype), report)
            state, written = jax.lax.fori_loop(0, count, body, (state, written))
            return state, _add_up(written, count)

        @partial(jax.jit, donate_argnums=0)
        def side_by_side(state, rows, count, data, keys, active):
            def chains(i, state):
                batches = take(data, rows[:, i])
                after, report = jax.vmap(transition)(state, batches, keys)
                return _where(active, after, state), report

            def body(i, carry):
                state, written = carry
                state, report = chains(i, state)
                return state, jax.tree.map(
                    lambda all, this: all.at[:, i].set(this), written, report
                )

            _, report = jax.eval_shape(chains, 0, state)
            shape = (len(active), rows.shape[1])
            written = jax.tree.map(lambda x: jnp.zeros((*shape, *x.shape[1:]), x.dtype), report)
            state, written = jax.lax.fori_loop(0, count, body, (state, written))
            return state, jax.vmap(_add_up, (0, None))(written, count)

        self._one, self._many, self._given, self._side_by_side = one, many, given, side_by_side
        self._transition, self._sum = transition, jax.jit(_add_up)

    def of(self, keys: Streams) -> "Advance":
        """The same for one other chain, with what was compiled for the first."""
        other = copy.copy(self)
        other.keys = self.layout.place(keys)
        return other

    def __call__(
        self, state: Any, first: int, rows: np.ndarray, active: np.ndarray | None = None
    ) -> tuple[Any, StepSums]:
        """State and sums after a step on each row of `rows`; `first` is the step they begin at.

        Args:
          state: of the chain, or of all chains stacked.
          first: step number.
          rows: (steps, batch), or (chains, steps, batch).
          active: (chains,) which chains move; the others stay where they are.
        """
        count = rows.shape[-2]
        state = self.layout.place(state)
        if self.on_host:
            written = self._empty(state, jax.eval_shape(self._first_batch, self.data))
            for place, row in enumerate(rows):
                batch = self.layout.place(jax.tree.map(lambda x: x[row], self.data))  # noqa: B023
                state, written = self._given(state, written, np.int32(place), batch, self.keys)
            return state, self._sum(written, np.int32(count))
        table = self._rows.write(rows)
        if self.several:
            return self._side_by_side(
                state, table, np.int32(count), self.data, self.keys, jnp.asarray(active)
            )
        if self.executor == "scan":
            return self._many(state, table, np.int32(count), self.data, self.keys)
        written = self._empty(state, jax.eval_shape(self._first_batch, self.data))
        for _ in range(count):
            state, written = self._one(state, written, table, np.int32(first), self.data, self.keys)
        return state, self._sum(written, np.int32(count))

    def _first_batch(self, data: Batch) -> Batch:
        return jax.tree.map(lambda x: x[np.zeros(self.batch_size, np.int32)], data)

    def _empty(self, state: Any, batch: Batch) -> StepReport:
        """Room for what each step reports."""
        if not hasattr(self, "_shapes"):
            _, self._shapes = jax.eval_shape(self._transition, state, batch, self.keys)
        return jax.tree.map(lambda x: np.zeros((self.most, *x.shape), x.dtype), self._shapes)


def _report(sampler: Sampler, state: Any, info: Any) -> StepReport:
    kind = jnp.result_type(float)
    acceptance = getattr(info, "acceptance", jnp.asarray(jnp.nan, kind))
    temperature = {}
    if sampler.facts is not None and sampler.facts.thermal_momentum:
        temperature = kinetic_temperature(state.momentum, sampler.facts.mass)
    report = StepReport(info.energy, info.step_size, acceptance, temperature)
    return jax.tree.map(lambda x: jnp.asarray(x).astype(kind), report)


def _stacked(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _where(active: Array, new: Any, old: Any) -> Any:
    def choose(a: Array, b: Array) -> Array:
        return jnp.where(active.reshape(-1, *[1] * (a.ndim - 1)), a, b)

    return jax.tree.map(choose, new, old)
