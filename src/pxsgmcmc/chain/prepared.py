"""What chains that run together share: the compiled sampler, the data, their records."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp

from pxsgmcmc.chain import provenance
from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.chain.callbacks import watched
from pxsgmcmc.chain.data_placement import data_size
from pxsgmcmc.chain.divergence import DivergenceWatch
from pxsgmcmc.chain.executors import Advance, Executor, faster_executor
from pxsgmcmc.chain.fingerprint import traced_fingerprint, tree_fingerprint
from pxsgmcmc.chain.layout import DeviceLayout
from pxsgmcmc.chain.process_group import is_first
from pxsgmcmc.chain.record import MemoryRecord
from pxsgmcmc.chain.resume_checks import check_same, check_same_everywhere, draws_wanted
from pxsgmcmc.chain.runner import Runner
from pxsgmcmc.chain.sampling import Sampling
from pxsgmcmc.chain.shared_record import FollowingRecord, SharedRecord
from pxsgmcmc.chain.under_way import ChainUnderWay, Pace, Record
from pxsgmcmc.errors import UserError
from pxsgmcmc.posterior import PosteriorPotential
from pxsgmcmc.progress import Progress
from pxsgmcmc.rng import Streams, streams
from pxsgmcmc.store import StoredRun, create_run, open_run
from pxsgmcmc.store.layout import MANIFEST, chain_folder
from pxsgmcmc.tree import size
from pxsgmcmc.types import Batch, Sampler, Tree


class Prepared:
    """What all chains share: the compiled sampler, the data, what they are told apart by."""

    def __init__(
        self,
        sampling: Sampling,
        positions: list[Tree],
        data: Batch,
        on_host: bool,
        layout: DeviceLayout,
    ):
        self.sampling, self.positions = sampling, positions
        self.layout = layout
        self.data = data if on_host else self.layout.place(data)
        self.build = _compiled(sampling.build, self.layout)
        self._advances: dict[float, Advance] = {}  # of one chain, by the factor on its step size
        self.sampler = self.build(1.0)
        _check_data_size(self.sampler, data)
        _check_adaptation(self.sampler, sampling.collection.burn_in)
        self.keys = [streams(sampling.seed, chain) for chain in sampling.chains]
        self.batches = [
            Batches(keys.batches, data_size=data_size(data), batch_size=sampling.batch_size)
            for keys in self.keys
        ]
        augments = sampling.problem is not None and sampling.problem.augment is not None
        self.transform = sampling.problem.transform_batch if augments else None  # pyright: ignore
        period = getattr(getattr(self.sampler.facts, "step_size", None), "period", None)
        self.offset = sampling.collection.schedule_offset(period)
        self.state = self.sampler.init(positions[0])
        batch = jax.eval_shape(self._example_batch)
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), self.state)
        traced = jax.make_jaxpr(self.sampler.step)(jax.random.key(0), shapes, batch)
        self.faster: Executor = "loop" if on_host else faster_executor(traced, self.layout.platform)
        self.executor: Executor = self._choose(on_host)
        self.step_sha256 = traced_fingerprint(traced)
        if self.transform is not None:
            raw = jax.eval_shape(self._raw_batch)
            augmenting = jax.make_jaxpr(self.transform)(self.keys[0].augment, raw)
            self.step_sha256 += traced_fingerprint(augmenting)

    def _choose(self, on_host: bool) -> Executor:
        wanted, several = self.sampling.execution.executor, len(self.positions) > 1
        if wanted in ("scan", "vmap") and on_host:
            raise UserError(f"`executor` must be 'loop' for data kept on the host, got {wanted!r}.")
        if wanted == "vmap" and not (several and self.layout.devices == 1):
            raise UserError(
                f"`executor` can be 'vmap' for several `chains` on one of `devices`, got "
                f"{len(self.positions)} on {self.layout.devices}."
            )
        if wanted != "auto":
            return wanted
        side_by_side = several and self.faster == "scan" and self.layout.devices == 1
        return "vmap" if side_by_side else self.faster

    def _raw_batch(self) -> Batch:
        size = self.sampling.batch_size
        return jax.tree.map(lambda x: jnp.zeros((size, *x.shape[1:]), x.dtype), self.data)

    def _example_batch(self) -> Batch:
        batch = self._raw_batch()
        return batch if self.transform is None else self.transform(self.keys[0].augment, batch)

    def origin(self, place: int) -> dict[str, Any]:
        """What the manifest of one chain says of how it was made."""
        sampling = self.sampling
        facts = sampling.problem.facts() if sampling.problem is not None else {}
        if sampling.problem is None:
            name = "none" if sampling.data is None else "data"
            facts = {"data": name, "data_sha256": tree_fingerprint(sampling.data)}
        potential = getattr(self.sampler.facts, "potential", None)
        if isinstance(potential, PosteriorPotential):
            facts["prior"] = potential.prior.name
        return provenance.origin_of(
            seed=sampling.seed,
            chain=sampling.chains[place],
            executor=self.executor,
            sampler=self.sampler,
            position=self.positions[place],
            collection=sampling.collection,
            facts={
                **facts,
                "batch_size": sampling.batch_size,
                "devices": self.layout.devices,
                "processes": 1 if self.layout.together is None else jax.process_count(),
                "side_by_side": len(self.positions) if self.executor == "vmap" else 1,
                "step_sha256": self.step_sha256,
                "start_sha256": tree_fingerprint(self.positions[place]),
                **sampling.facts,
            },
        )

    def record(
        self, place: int, out: str | Path | None, resume: bool, progress: Progress
    ) -> Record:
        """Where one chain keeps its draws: made, or opened to go on."""
        sampling, origin = self.sampling, self.origin(place)
        text = sampling.settings_text(place)
        together = self.layout.together
        if together is not None:
            check_same_everywhere(together, origin)
        if out is None:
            return MemoryRecord(text, origin)
        if together is not None and not is_first():
            return FollowingRecord(text, origin)
        record = self._stored(place, Path(out), resume, origin, progress)
        return record if together is None else cast(Record, SharedRecord(record))

    def _stored(
        self, place: int, folder: Path, resume: bool, origin: dict[str, Any], progress: Progress
    ) -> StoredRun:
        sampling, text = self.sampling, self.sampling.settings_text(place)
        if len(sampling.chains) > 1:
            folder = chain_folder(folder, sampling.chains[place])
        if not (resume and (folder / MANIFEST).exists()):
            return create_run(folder, text, origin, say=progress.say)
        record = open_run(folder, writable=True, say=progress.say)
        try:
            for note in check_same(record, origin, accept=sampling.execution.accept_changes):
                progress.say(note)
            then = record.manifest
            begun = then["progress"].get("draws", then["origin"]["collection"]["draws"])
            if (draws := draws_wanted(record, sampling.collection.draws)) != begun:
                record.update(draws=draws)
        except BaseException:
            record.close()
            raise
        return record

    def runner(self, records: list[Record], group: list[int], progress: Progress) -> Runner:
        """The loop of the chains at these places, which run in one program."""
        sampling, execution = self.sampling, self.sampling.execution
        states = [self.sampler.init(self.positions[place]) for place in group]
        state = states[0]
        if len(group) > 1:
            state = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
        numbers = [sampling.chains[place] for place in group]
        records = watched(records, numbers, execution.callbacks, progress.say)
        chains = [
            ChainUnderWay(record, self.batches[place], DivergenceWatch(size(self.positions[place])))
            for record, place in zip(records, group, strict=True)
        ]
        retries = execution.retries if execution.on_divergence == "retry" else 0
        return Runner(
            lambda factor: self._advance(factor, [self.keys[place] for place in group]),
            state,
            chains,
            sampling.collection,
            Pace(execution.chunk_seconds, execution.checkpoint_seconds, retries),
            progress,
            self.layout.together,
        )

    def _advance(self, factor: float, keys: list[Streams]) -> Advance:
        """What takes the steps; chains one after the other share what is compiled."""
        if len(keys) == 1 and factor in self._advances:
            return self._advances[factor].of(keys[0])
        made = Advance(
            self.build(factor),
            self.data,
            keys,
            self.executor,
            self.transform,
            self.sampling.batch_size,
            self.offset,
            self.layout,
        )
        if len(keys) == 1:
            self._advances[factor] = made
        return made


def _check_data_size(sampler: Sampler, data: Batch) -> None:
    """An energy in units of other data than there are would have another temperature."""
    potential = getattr(sampler.facts, "potential", None)
    if not isinstance(potential, PosteriorPotential):
        return
    if data is None:
        raise UserError("`problem` must be given: the potential has a likelihood and needs data.")
    if potential.data_size != data_size(data):
        raise UserError(
            f"`data_size` of the potential must be the number of rows, {data_size(data)}, got "
            f"{potential.data_size}."
        )


def _check_adaptation(sampler: Sampler, burn_in: int) -> None:
    """Draws of a sampler that still changes itself would have no law."""
    steps = getattr(sampler.facts, "adaptation_steps", 0)
    if burn_in < steps:
        raise UserError(
            f"`burn_in` must be at least the {steps} steps in which the sampler adapts, got "
            f"{burn_in}."
        )


def _compiled(
    build: Callable[[float], Sampler], layout: DeviceLayout
) -> Callable[[float], Sampler]:
    """The same samplers, jitted, on the devices of the chain.

    So choosing an executor and running trace the step once; `init` is not compiled leaf by leaf.
    """

    @functools.cache
    def compiled(factor: float) -> Sampler:
        sampler = layout.split(build(factor))
        return Sampler(jax.jit(sampler.init), jax.jit(sampler.step), sampler.facts)

    return compiled
