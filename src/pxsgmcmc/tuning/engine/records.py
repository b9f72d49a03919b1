"""Where chains keep their draws, and whether they may go on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pxsgmcmc.chain import provenance
from pxsgmcmc.chain.callbacks import Callback
from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.record import MemoryRecord
from pxsgmcmc.chain.under_way import Record
from pxsgmcmc.errors import UserError
from pxsgmcmc.progress import Progress
from pxsgmcmc.store import create_chains, create_run, open_run
from pxsgmcmc.store.chains import check_count_of_chains
from pxsgmcmc.store.layout import MANIFEST, chain_folder
from pxsgmcmc.store.targets import check_outside
from pxsgmcmc.tuning.engine.programs import Program
from pxsgmcmc.types import Batch, Sampler, Tree

# What must be as it was when a run began, and what a person calls it.
DECIDES = {
    "data_sha256": "training data or weights",
    "likelihood": "likelihood",
    "prior_asked": "prior",
    "model": "network",
    "method_asked": "sampler or expansion",
}


class Request(NamedTuple):
    """What is asked of chains that find their own settings.

    Attributes:
      program: compiled.
      scout: the same for SGHMC, whose chains lead to the settings.
      starts: parameters from which each chain starts, the likelihood's own included.
      data: (x, y, weights), perhaps filled up with rows of no weight.
      rows: how many are not filling.
      facts: of the problem, for the manifest; what going on must find unchanged.
      made_by: the name under which the manifest has the settings, "fit" or "estimator".
      last_layer: scale of the default prior.
      draws: of each chain.
      seed: of everything random.
      ends: about when to be ready, by the monotonic clock.
      out: run directory, or None.
      from_prior: chains start at draws of the default prior instead, factors included.
      callbacks: told of every chunk and every draw.
    """

    program: Program
    scout: Program
    starts: list[Tree]
    data: Batch
    rows: int
    facts: dict[str, Any]
    made_by: str
    last_layer: float
    draws: int
    seed: int
    ends: float
    out: Path | None
    from_prior: bool = False
    callbacks: Sequence[Callback] = ()


def begin_records(
    request: Request,
    sampler: Sampler,
    first: Tree,
    collection: Collection,
    settings: dict[str, Any],
    progress: Progress,
) -> list[Record]:
    """Empty records, in memory or in a run directory."""
    spec, count = request.program.spec, request.program.spec.chains
    size = spec.batch or request.rows
    origin = provenance.origin_of(
        seed=request.seed,
        chain=0,
        executor="loop" if spec.slow else "vmap" if count > 1 else "scan",
        sampler=sampler,
        position=first,
        collection=collection,
        facts={
            **request.facts,
            "prior": request.program.prior(settings["last_layer"]).name,
            "batch_size": size,
            request.made_by: settings,
        },
    )
    shown = {**collection._asdict(), "batch_size": size, "seed": request.seed}
    records: list[Record] = []
    if request.out is not None and count > 1:
        create_chains(request.out, count)
    for chain in range(count):
        own = {**origin, "chain": chain}
        text = "".join(f"{name} = {value}\n" for name, value in {**shown, "chain": chain}.items())
        if request.out is None:
            records.append(MemoryRecord(text, own))
        else:
            folder = chain_folder(request.out, chain) if count > 1 else request.out
            records.append(create_run(folder, text, own, say=progress.say))
    return records


def check_free(out: Path | None, remedy: str) -> None:
    """Refuse a folder that holds a run, of one chain or of several, lies in one, or is a link."""
    if out is None:
        return
    check_outside(out, "out")
    if not out.exists():
        return
    if (out / MANIFEST).exists() or (chain_folder(out, 0) / MANIFEST).exists():
        raise UserError(
            f"`out` holds a run already, got `{out}`: {remedy} to go on with it, or choose another "
            "folder."
        )
    if not out.is_dir() or any(out.iterdir()):
        raise UserError(
            f"`out` must be a folder that is empty or not there, got `{out}`; choose another."
        )


def begun_records(out: Path, chains: int, progress: Progress) -> list[Record] | None:
    """The records of a run directory, open for writing; None if there is no run."""
    check_count_of_chains(out, chains)
    folders = [chain_folder(out, n) for n in range(chains)] if chains > 1 else [out]
    if not (folders[0] / MANIFEST).exists():
        check_outside(out, "out")  # where one will be made
        return None
    records: list[Record] = []
    try:
        for folder in folders:
            records.append(open_run(folder, writable=True, say=progress.say))
    except BaseException:
        for record in records:  # the others stay locked otherwise
            record.close()
        raise
    return records


def check_same(records: list[Record], request: Request, name: str) -> None:
    """Refuse to go on with other data or another model.

    Args:
      records: of the run that was begun; closed if it is refused.
      request: what is asked for now.
      name: of the setting that asks to go on.
    """
    try:
        _check_same(records, request, name)
    except UserError:
        for record in records:
            record.close()
        raise


def _check_same(records: list[Record], request: Request, name: str) -> None:
    origin, chains = records[0].manifest["origin"], request.program.spec.chains
    now = {**request.facts, "seed": request.seed}
    for fact, what in {**DECIDES, "seed": "seed"}.items():
        if origin.get(fact) != now[fact]:
            raise UserError(
                f"`{name}` must go on with what the run began with, got other {what}; begin a new "
                "run, and with another `out` if there is one."
            )
    if len(records) != chains:
        raise UserError(f"`chains` must be {len(records)}, as the run began, got {chains}.")
    if request.draws < len(records[0].draws):
        raise UserError(
            f"`draws` must be at least {len(records[0].draws)}, which the run has already, got "
            f"{request.draws}."
        )
