"""Which run this is, in words: what tables and reports call it."""

import hashlib

import msgspec

from pxsgmcmc.chain.fingerprint import tree_fingerprint
from pxsgmcmc.problem import Problem
from pxsgmcmc.results import Subject
from pxsgmcmc.run import Run

# What a run's origin says that decides the law of its draws, its seed aside.
_LAW = (
    "method",
    "sampler",
    "data_sha256",
    "likelihood",
    "prior",
    "model",
    "batch_size",
    "collection",
    "step_sha256",
    "settings",
)


def subject_of(run: Run) -> Subject:
    """What results say they are about."""
    origin = run.origin
    test = None if run.problem is None else run.problem.test
    steps = [draw.step for chain in range(run.chains) for draw in run.index(chain)[-1:]]
    return Subject(
        method=origin.get("method", "sampler"),
        settings=settings_digest(run),
        data=origin.get("data", "data"),
        model=origin.get("model", "network"),
        seed=origin.get("seed", 0),
        chains=run.chains,
        draws=len(run),
        skipped=run.skipped,
        steps=max(steps, default=0),
        parameters=origin.get("parameters", 0),
        sampled=origin.get("sampled", 0),
        version=origin.get("versions", {}).get("pxsgmcmc", ""),
        train_sha256=origin.get("data_sha256") or "",
        test_sha256="" if test is None else tree_fingerprint(test),
        sets_sha256={} if run.problem is None else _other_sets(run.problem),
    )


def _other_sets(problem: Problem) -> dict[str, str]:
    """Hashes of the sets that only an evaluation sees."""
    sets = {f"shift {name}": rows for name, rows in problem.shifts.items()}
    sets |= {f"ood {name}": rows for name, rows in problem.out_of_distribution.items()}
    return {name: tree_fingerprint(rows) for name, rows in sets.items()}


def settings_digest(run: Run) -> str:
    """Eight digits that two runs share if they differ in their seed alone, or in nothing."""
    law = {key: run.origin[key] for key in _LAW if key in run.origin}
    # A run made longer is the run that was asked for so many draws: what counts are those it has.
    law["collection"] = {**law.get("collection", {}), "draws": len(run)}
    law["skipped"], law["chains"] = run.skipped, run.chains
    return hashlib.sha256(msgspec.json.encode(law, order="deterministic")).hexdigest()[:8]
