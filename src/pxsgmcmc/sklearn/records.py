"""Where the chains of an estimator keep their draws, and whether they may go on."""

from pathlib import Path
from typing import Any, NamedTuple

from pxsgmcmc.chain import provenance
from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.record import MemoryRecord
from pxsgmcmc.chain.under_way import Record
from pxsgmcmc.errors import UserError
from pxsgmcmc.progress import Progress
from pxsgmcmc.sklearn.networks import Network
from pxsgmcmc.sklearn.programs import Program, Spec
from pxsgmcmc.store import create_chains, create_run, open_run
from pxsgmcmc.store.layout import MANIFEST, chain_folder
from pxsgmcmc.types import Batch, Tree

# What must be as it was when a run began, and what a person calls it.
DECIDES = {
    "data_sha256": "training data or weights",
    "likelihood": "likelihood",
    "prior": "prior",
    "model": "network",
    "method_asked": "sampler or expansion",
}


class Request(NamedTuple):
    """What an estimator asks for.

    Attributes:
      spec: of the program.
      network: with its start.
      data: (x, y, weights), filled up.
      rows: how many are not filling.
      facts: of the problem, for the manifest; what going on must find unchanged.
      draws: of each chain.
      seed: of everything random.
      max_seconds: about how long it may take.
      out: run directory, or None.
    """

    spec: Spec
    network: Network
    data: Batch
    rows: int
    facts: dict[str, Any]
    draws: int
    seed: int
    max_seconds: float
    out: Path | None


def begin_records(
    request: Request,
    program: Program,
    first: Tree,
    collection: Collection,
    facts: dict[str, Any],
    progress: Progress,
) -> list[Record]:
    """Empty records, in memory or in a run directory."""
    spec, count = request.spec, request.spec.chains
    sampler = program.sampler(facts["step_size"], facts["friction"], facts["masses"], first)
    origin = provenance.origin_of(
        seed=request.seed,
        chain=0,
        executor="scan",
        sampler=sampler,
        position=first,
        collection=collection,
        facts={
            **request.facts,
            "batch_size": spec.batch or request.rows,
            "estimator": facts,
        },
    )
    settings = {**collection._asdict(), "batch_size": spec.batch or request.rows}
    records: list[Record] = []
    if request.out is not None and count > 1:
        create_chains(request.out, count)
    for chain in range(count):
        own = {**origin, "chain": chain}
        text = "".join(
            f"{name} = {value}\n"
            for name, value in {**settings, "seed": request.seed, "chain": chain}.items()
        )
        if request.out is None:
            records.append(MemoryRecord(text, own))
        else:
            folder = chain_folder(request.out, chain) if count > 1 else request.out
            records.append(create_run(folder, text, own, say=progress.say))
    return records


def check_free(out: Path | None) -> None:
    """Refuse a folder that holds a run, of one chain or of several."""
    if out is None:
        return
    if (out / MANIFEST).exists() or (chain_folder(out, 0) / MANIFEST).exists():
        raise UserError(
            f"`out` holds a run already, got `{out}`: set `warm_start=True` to go on with it, or "
            "choose another folder."
        )


def begun_records(out: Path, chains: int, progress: Progress) -> list[Record] | None:
    """The records of a run directory, open for writing; None if there is no run."""
    folders = [chain_folder(out, n) for n in range(chains)] if chains > 1 else [out]
    if not (folders[0] / MANIFEST).exists():
        return None
    return [open_run(folder, writable=True, say=progress.say) for folder in folders]


def check_same(records: list[Record], request: Request) -> None:
    """Refuse to go on with other data or another model."""
    origin = records[0].manifest["origin"]
    now = {**request.facts, "seed": request.seed}
    for name, what in {**DECIDES, "seed": "`random_state`"}.items():
        if origin.get(name) != now[name]:
            raise UserError(
                f"`warm_start` must go on with what the run began with, got other {what}; "
                "fit with `warm_start=False`, and with another `out` if there is one."
            )
    if len(records) != request.spec.chains:
        raise UserError(
            f"`chains` must be {len(records)}, as the run began, got {request.spec.chains}."
        )
    if request.draws < len(records[0].draws):
        raise UserError(
            f"`draws` must be at least {len(records[0].draws)}, which the run has already, got "
            f"{request.draws}."
        )
