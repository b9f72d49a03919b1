"""Records of runs that never were."""

from pxsgmcmc.reproduce.record import Record


def record(values, seed=0, **more):
    facts = {
        "scale": "desk",
        "method": "SGHMC",
        "digest": "0123456789ab",
        "outcome": "done",
        "healthy": True,
        "headline": "healthy",
        "curves": {},
        "config": "",
        "command": "pxsgmcmc reproduce table1",
        "revision": "abc",
        "hashes": {},
        "seconds": 1.0,
        "parts": ("evaluate",),
    }
    return Record(values=values, seed=seed, **(facts | more))


def records(measure, values):
    """One a seed."""
    return [record({measure: value}, seed) for seed, value in enumerate(values)]
