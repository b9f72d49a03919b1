"""`sample`: check what was asked for, wire one chain, run it."""

import functools
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Literal, cast

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.chain.collect import Collection
from pxsgmcmc.chain.executors import Advance, Executor, Prepare, choose_executor
from pxsgmcmc.chain.health import Health
from pxsgmcmc.chain.origin import origin_of, versions
from pxsgmcmc.chain.progress import reporter_for
from pxsgmcmc.chain.record import Memory, Samples
from pxsgmcmc.chain.runner import Pace, Runner
from pxsgmcmc.chain.tensorboard import EventWriter
from pxsgmcmc.errors import UserError, check_count, check_number
from pxsgmcmc.expansion.position import collapse
from pxsgmcmc.rng import streams
from pxsgmcmc.store import Run, create_run, open_run
from pxsgmcmc.tree import check_float_leaves, size
from pxsgmcmc.types import Array, Batch, Sampler, Tree

MOST_BYTES = 4 << 30  # of data copied to a device that does not say how much it holds


def sample(
    sampler: Sampler | Callable[[float], Sampler],
    position: Tree,
    data: Batch,
    *,
    draws: int,
    steps: int,
    batch_size: int,
    seed: int = 0,
    chain: int = 0,
    burn_in: int = 0,
    draws_per_cycle: int = 1,
    every: int | None = None,
    prepare: Prepare | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    executor: Executor | Literal["auto"] = "auto",
    chunk_seconds: float = 1.0,
    checkpoint_seconds: float = 10.0,
    on_divergence: Literal["stop", "retry"] = "stop",
    retries: int = 3,
    keep_data: Literal["auto", "device", "host"] = "auto",
    progress: bool | Literal["plain"] = True,
    label: str = "sampling",
    tensorboard: str | Path | None = None,
    config: str | None = None,
    facts: dict[str, Any] | None = None,
    apply: Callable[[Tree, Array], Array] | None = None,
) -> Samples:
    """Run one chain and keep its draws.

    What happens at step t depends on (seed, chain, t) and the state alone, so a run that was
    stopped and resumed gives the same draws, bit for bit, as one that was not, whatever the chunks.
    On a CPU the last bits also depend on the number of XLA's threads, that of the cores unless the
    variable PJRT_NPROC is set before JAX starts; the manifest has it.

    Args:
      sampler: from `sghmc` and its like; or, for `on_divergence="retry"`, a function from a factor
        on the step size to a sampler.
      position: where to start, expanded or not.
      data: a pytree of arrays with one leading axis, such as (inputs, labels), as stored.
      draws: how many to keep.
      steps: of a cycle; with one draw per cycle, steps between draws.
      batch_size: rows a step sees; the number of data for full-batch samplers.
      seed: of everything random.
      chain: number of the chain; chains of one seed have independent randomness.
      burn_in: steps before the first cycle.
      draws_per_cycle: draws from each cycle, the last at its end.
      every: steps between draws of one cycle; by default they spread evenly over it.
      prepare: (key, batch) -> batch, on the device: normalisation, augmentation.
      out: run directory to write; None keeps the draws in memory.
      resume: go on with the run in `out` if there is one.
      executor: "loop", "scan", or "auto" for the faster one.
      chunk_seconds: how long the device works between looks at it.
      checkpoint_seconds: how long between saved states; at most this much is done again.
      on_divergence: "stop", or "retry" from the last saved state with half the step size.
      retries: how often.
      keep_data: on the "device", or the "host" when they do not fit there.
      progress: show it, on standard error; "plain" for lines even on a terminal.
      label: what to call the chain there.
      tensorboard: folder for TensorBoard event files.
      config: text to keep as config.toml in the run directory.
      facts: more to write into the manifest, such as hashes of the data.
      apply: (parameters, inputs) -> logits, for `Samples.predict`.

    Returns:
      The draws, collapsed to the model's own parameters.

    Raises:
      Diverged: if the chain diverged; what was kept before stays in `out`.

    Example:
      >>> import pxsgmcmc as px
      >>> U = px.posterior(lambda q, x: -0.5 * (x - q) ** 2, data_size=8)
      >>> sampler = px.sghmc(U, 0.05, friction=2.0)
      >>> run = sample(sampler, jnp.zeros(()), jnp.arange(8.0), draws=3, steps=10, batch_size=4,
      ...              progress=False)
      >>> len(run)
      3
    """
    check_count("steps", steps, at_least=1)
    check_count("draws_per_cycle", draws_per_cycle, at_least=1)
    every = max(steps // draws_per_cycle, 1) if every is None else every
    collection = Collection(draws, steps, burn_in, draws_per_cycle, every).checked()
    check_count("seed", seed)
    check_count("chain", chain)
    check_count("retries", retries)
    check_number("chunk_seconds", chunk_seconds, above=0.0)
    check_number("checkpoint_seconds", checkpoint_seconds, at_least=0.0)
    _check_choice("executor", executor, ("auto", "loop", "scan"))
    _check_choice("on_divergence", on_divergence, ("stop", "retry"))
    _check_choice("keep_data", keep_data, ("auto", "device", "host"))
    if out is not None and tensorboard is not None:
        if Path(tensorboard).absolute().is_relative_to(Path(out).absolute()):
            raise UserError("`tensorboard` must be a folder outside the run directory.")
    check_float_leaves("position", position)
    if isinstance(sampler, Sampler) and on_divergence == "retry":
        raise UserError(
            "`sampler` must be a function from a factor on the step size to a sampler when "
            "`on_divergence` is 'retry'."
        )
    build = _compiled(_always(sampler) if isinstance(sampler, Sampler) else sampler)
    keys = streams(seed, chain)
    batches = Batches(keys.batches, data_size=_data_size(data), batch_size=batch_size)
    data, on_host = _place(data, keep_data)
    state = build(1.0).init(position)
    text = config if config is not None else _as_text(collection, batch_size, seed, chain)

    with ExitStack() as stack:
        record, notes = Memory(), []
        if out is not None and resume and (Path(out) / "manifest.json").exists():
            record = stack.enter_context(open_run(out, writable=True))
            notes = _check_same(record, text, executor)
            executor = cast(Executor, record.manifest["origin"]["executor"])
        elif executor == "auto":
            batch = jax.eval_shape(lambda: _example_batch(data, batch_size, prepare, keys.augment))
            executor = "loop" if on_host else choose_executor(build(1.0), state, batch)
        used: Executor = executor
        if on_host and used == "scan":
            raise UserError("`executor` must be 'loop' for data kept on the host, got 'scan'.")
        if out is not None and isinstance(record, Memory):
            origin = origin_of(seed=seed, chain=chain, executor=used, facts=facts or {})
            record = stack.enter_context(create_run(out, text, origin))
        reporter = stack.enter_context(closing(reporter_for(label, progress)))
        for note in notes:
            reporter.say(note)
        events = None
        if tensorboard is not None:
            events = stack.enter_context(closing(EventWriter(tensorboard)))
        runner = Runner(
            lambda scale: Advance(build(scale), data, keys, used, prepare, batch_size),
            state,
            batches,
            collection,
            record,
            Health(size(position)),
            Pace(chunk_seconds, checkpoint_seconds, retries if on_divergence == "retry" else 0),
            reporter,
            events,
        )
        if not runner.resume():
            runner.save()
        if record.status != "done":
            record.update("running")
            runner.run()
        like = jax.eval_shape(collapse, position)
        return Samples(record, like, runner.state, runner.stopped_by, apply)


def _always(sampler: Sampler) -> Callable[[float], Sampler]:
    return lambda scale: sampler


def _compiled(build: Callable[[float], Sampler]) -> Callable[[float], Sampler]:
    """The same samplers, jitted.

    So choosing an executor and running trace the step once; `init` is not compiled leaf by leaf.
    """

    @functools.cache
    def compiled(scale: float) -> Sampler:
        sampler = build(scale)
        return Sampler(jax.jit(sampler.init), jax.jit(sampler.step))

    return compiled


def _check_choice(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UserError(f"`{name}` must be one of {', '.join(known)}, got {value!r}.")


def _data_size(data: Batch) -> int:
    leaves = jax.tree.leaves(data)
    sizes = {int(leaf.shape[0]) if getattr(leaf, "ndim", 0) else -1 for leaf in leaves}
    if len(sizes) != 1 or -1 in sizes:
        raise UserError(
            "`data` must hold arrays with the same number of rows, got shapes "
            f"{', '.join(str(getattr(leaf, 'shape', leaf)) for leaf in leaves) or 'none'}."
        )
    return sizes.pop()


def _place(data: Batch, keep_data: str) -> tuple[Batch, bool]:
    """The data where the steps will read them, and whether that is the host."""
    total = sum(leaf.nbytes for leaf in jax.tree.leaves(data))
    if keep_data == "host" or (keep_data == "auto" and total > _room_on_device()):
        return jax.tree.map(np.asanyarray, data), True
    return jax.tree.map(jnp.asarray, data), False


def _room_on_device() -> int:
    """Half of what the device holds; the rest is for the network's activations."""
    stats = jax.devices()[0].memory_stats() or {}
    return stats["bytes_limit"] // 2 if "bytes_limit" in stats else MOST_BYTES


def _example_batch(data: Batch, batch_size: int, prepare: Prepare | None, key: Any) -> Batch:
    batch = jax.tree.map(lambda x: jnp.zeros((batch_size, *x.shape[1:]), x.dtype), data)
    return batch if prepare is None else prepare(key, batch)


def _check_same(record: Run, text: str, executor: str) -> list[str]:
    """Refuse to go on with other settings; returns what the user should know of the run."""
    origin = record.manifest["origin"]
    if record.config != text:
        raise UserError(
            f"`{record.path}` holds a run with other settings: choose another directory."
        )
    if executor not in ("auto", origin["executor"]):
        raise UserError(
            f"`executor` must be {origin['executor']!r}, as the run in `{record.path}` began, got "
            f"{executor!r}: another would change its draws."
        )
    changed = {k: v for k, v in versions().items() if origin["versions"].get(k) != v}
    notes = list(record.notes)
    if changed:
        then = ", ".join(f"{k} {origin['versions'].get(k, 'unknown')}" for k in changed)
        now = ", ".join(f"{k} {v}" for k, v in changed.items())
        what = "draws" if "pxsgmcmc" in changed else "last bits"  # its streams are its own
        notes.append(f"The run began with {then}, this is {now}: the {what} may differ.")
    return notes


def _as_text(collection: Collection, batch_size: int, seed: int, chain: int) -> str:
    """The settings of a chain that was started from Python, as TOML."""
    settings = {**collection._asdict(), "batch_size": batch_size, "seed": seed, "chain": chain}
    return "".join(f"{name} = {value}\n" for name, value in settings.items())
