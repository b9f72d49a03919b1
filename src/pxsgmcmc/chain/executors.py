"""Many steps on the device: one jitted step in a Python loop, or a loop inside one jitted call.

XLA on CPU runs a convolution inside a device loop 4 to 8 times slower than outside, so networks
with convolutions take the Python loop there; everything else takes the device loop. Results are the
same bit for bit for any chunk size within one executor, not across the two.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.rng import Streams
from pxsgmcmc.types import Array, Batch, Key, Sampler

Executor = Literal["loop", "scan"]
Prepare = Callable[[Key, Batch], Batch]  # (key, batch as stored) -> batch as the sampler sees it
MOST_STEPS = 8192  # that one call can be asked for


class Tally(NamedTuple):
    """What the steps of a chunk had to say, added up on the device."""

    energy: Array  # () sum
    last_energy: Array  # ()
    step_size: Array  # () of the last step
    acceptance: Array  # () sum over tests
    tests: Array  # () int32


def empty_tally() -> Tally:
    """Nothing said yet; on the host, where it costs nothing to make."""
    zero: Any = np.zeros((), jax.dtypes.canonicalize_dtype(float))
    return Tally(zero, zero, zero, zero, zero.astype(np.int32))


def add_to_tally(tally: Tally, infos: Any, count: Any) -> Tally:
    """`count` steps more; what each had to say stands in `infos`, one after the other."""
    kind = tally.energy.dtype
    infos = jax.tree.map(lambda x: x.astype(kind), infos)
    taken = jnp.arange(len(infos.energy)) < count
    tally = tally._replace(
        energy=tally.energy + jnp.sum(jnp.where(taken, infos.energy, 0.0)),
        last_energy=infos.energy[count - 1],
        step_size=infos.step_size[count - 1],
    )
    if not hasattr(infos, "acceptance"):
        return tally
    tested = taken & jnp.isfinite(infos.acceptance)
    return tally._replace(
        acceptance=tally.acceptance + jnp.sum(jnp.where(tested, infos.acceptance, 0.0)),
        tests=tally.tests + jnp.sum(tested, dtype=jnp.int32),
    )


class Advance:
    """Takes steps on a data set; call it with (state, first, rows).

    Args:
      sampler: what to run.
      data: a pytree of arrays with one leading axis; on the device, or NumPy arrays (perhaps
        memory-mapped) that stay on the host and are gathered batch by batch.
      keys: the streams of the chain.
      executor: "loop" or "scan".
      prepare: applied to each batch on the device, with a key that depends on the step.
      batch_size: rows a step sees.
    """

    def __init__(
        self,
        sampler: Sampler,
        data: Batch,
        keys: Streams,
        executor: Executor,
        prepare: Prepare | None,
        batch_size: int,
    ):
        self.data, self.keys, self.executor = data, keys, executor
        self.on_host = isinstance(jax.tree.leaves(data)[0], np.ndarray)
        # The row table has one size, so that chunks of any length use the same compiled code.
        self.most = max(1, min(MOST_STEPS, (1 << 22) // batch_size))

        def transition(state: Any, batch: Batch, keys: Streams) -> Any:
            if prepare is not None:
                batch = prepare(jax.random.fold_in(keys.augment, state.step), batch)
            key = jax.random.fold_in(keys.noise, state.step)
            state, info = sampler.step(key, state, batch)
            return state, jax.tree.map(jnp.asarray, info)

        def take(data: Batch, rows: Array) -> Batch:
            return jax.tree.map(lambda x: x[rows], data)

        @partial(jax.jit, donate_argnums=0)
        def given(state, tally, batch, keys):
            state, info = transition(state, batch, keys)
            return state, add_to_tally(tally, jax.tree.map(lambda x: x[None], info), 1)

        @partial(jax.jit, donate_argnums=0)
        def one(state, tally, rows, first, data, keys):
            return given(state, tally, take(data, rows[state.step - first]), keys)

        @partial(jax.jit, donate_argnums=0)
        def many(state, tally, rows, count, data, keys):
            def step(i, state):
                return transition(state, take(data, rows[i]), keys)

            def body(i, carry):
                state, infos = carry
                state, info = step(i, state)
                # Written down, and added up at the end: sums in the loop slow small networks.
                return state, jax.tree.map(lambda all, this: all.at[i].set(this), infos, info)

            _, info = jax.eval_shape(step, 0, state)
            infos = jax.tree.map(lambda x: jnp.zeros((len(rows), *x.shape), x.dtype), info)
            state, infos = jax.lax.fori_loop(0, count, body, (state, infos))
            return state, add_to_tally(tally, infos, count)

        self._one, self._many, self._given = one, many, given

    def __call__(self, state: Any, first: int, rows: np.ndarray) -> tuple[Any, Tally]:
        """State and tally after a step on each row of `rows`; `first` is the step they begin at."""
        tally = empty_tally()
        if self.on_host:
            for row in rows:
                batch = jax.tree.map(lambda x: jnp.asarray(x[row]), self.data)  # noqa: B023
                state, tally = self._given(state, tally, batch, self.keys)
            return state, tally
        table = np.empty((self.most, rows.shape[1]), np.int32)  # what follows the rows is not read
        table[: len(rows)] = rows
        table = jax.device_put(table)
        if self.executor == "scan":
            return self._many(state, tally, table, np.int32(len(rows)), self.data, self.keys)
        for _ in rows:
            state, tally = self._one(state, tally, table, np.int32(first), self.data, self.keys)
        return state, tally


def choose_executor(sampler: Sampler, state: Any, batch: Batch) -> Executor:
    """The faster executor for this backend and model."""
    if jax.default_backend() != "cpu":
        return "scan"
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), (state, batch))
    jaxpr = jax.make_jaxpr(sampler.step)(jax.random.key(0), *shapes)
    return "loop" if "conv_general_dilated" in _primitives(jaxpr.jaxpr) else "scan"


def _primitives(jaxpr: Any) -> set[str]:
    names = set()
    for equation in jaxpr.eqns:
        names.add(equation.primitive.name)
        for inner in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda x: hasattr(x, "jaxpr")
        ):
            if hasattr(inner, "jaxpr") or hasattr(inner, "eqns"):
                names |= _primitives(getattr(inner, "jaxpr", inner))
    return names
