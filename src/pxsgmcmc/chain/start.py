"""From what was asked for to chains that run: data in place, records open, one program."""

import os
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import jax

from pxsgmcmc.chain.data_placement import place_data
from pxsgmcmc.chain.layout import DeviceLayout, layout_of
from pxsgmcmc.chain.precision import matmul_precision, repeatability_note
from pxsgmcmc.chain.prepared import Prepared
from pxsgmcmc.chain.process_group import is_first
from pxsgmcmc.chain.sampling import Sampling
from pxsgmcmc.chain.under_way import Record
from pxsgmcmc.errors import ChainWarning
from pxsgmcmc.expansion.position import collapse
from pxsgmcmc.network_checks import check_no_state
from pxsgmcmc.posterior import factor_warnings
from pxsgmcmc.progress import Progress
from pxsgmcmc.run import Run
from pxsgmcmc.store import create_chains
from pxsgmcmc.tree import check_float_leaves
from pxsgmcmc.types import Tree


def run_sampling(
    sampling: Sampling, out: str | Path | None, *, resume: bool, progress: Progress
) -> Run:
    """Run the chains to their end, or until a signal."""
    execution = sampling.execution.checked()
    positions = [sampling.start(chain) for chain in sampling.chains]
    layout = layout_of(execution.devices, sampling.batch_size, positions[0])
    if note := repeatability_note(layout.platform, os.environ.get("XLA_FLAGS", "")):
        progress.say(note)
    with matmul_precision(execution.matmul_precision, layout.platform):
        return _run(sampling, positions, layout, out, resume, progress)


def _run(
    sampling: Sampling,
    positions: list[Tree],
    layout: DeviceLayout,
    out: str | Path | None,
    resume: bool,
    progress: Progress,
) -> Run:
    for position in positions:
        check_no_state(position)
        check_float_leaves("position", position)
    if sampling.problem is not None:
        for warning in sampling.problem.check_network(collapse(positions[0])):
            warnings.warn(warning, ChainWarning, stacklevel=3)
    data, on_host = place_data(sampling.data, sampling.execution.keep_data)
    prepared = Prepared(sampling, positions, data, on_host, layout)
    potential = getattr(prepared.sampler.facts, "potential", None)
    for warning in factor_warnings(potential, positions[0]):
        warnings.warn(warning, ChainWarning, stacklevel=4)
    if out is not None and len(positions) > 1 and (layout.together is None or is_first()):
        create_chains(out, len(positions), sampling.config)
    if prepared.executor == "vmap" and prepared.faster == "loop":
        progress.say(
            "Convolutions on a CPU take several times as long side by side as one after the other: "
            "leave `executor` out."
        )
    groups = [list(range(len(positions)))]
    if prepared.executor != "vmap":
        groups = [[place] for place in groups[0]]
        if len(groups) > 1:
            progress.say(f"{len(groups)} chains, one after the other")
    with ExitStack() as stack:
        records = [
            stack.enter_context(_closing(prepared.record(place, out, resume, progress)))
            for place in range(len(positions))
        ]
        states: list[Any] = []
        stopped_by = None
        for group in groups:
            runner = prepared.runner([records[place] for place in group], group, progress)
            if not runner.resume():
                runner.save()
            if stopped_by is None and runner.unfinished:
                for place in group:
                    records[place].update("running")
                if not states:  # the first steps take long to come
                    step = min(chain.step for chain in runner.chains)
                    progress.tell(step / runner.collection.total_steps, "compiling")
                runner.run()
                stopped_by = runner.stopped_by
            elif not runner.unfinished:  # killed between its last state and the word on its end
                runner.say_how_they_ended()
            states += runner.states()
    like = jax.eval_shape(collapse, positions[0])
    folder = None if out is None else Path(out)
    return Run(
        records,
        sampling.problem,
        like,
        path=folder,
        sampler=prepared.sampler,
        states=states,
        stopped_by=stopped_by,
    )


class _closing:
    """Frees a record's lock, and keeps it readable."""

    def __init__(self, record: Record):
        self._record = record

    def __enter__(self) -> Record:
        return self._record

    def __exit__(self, *_: object) -> None:
        self._record.close()
