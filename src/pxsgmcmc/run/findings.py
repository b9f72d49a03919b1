"""What diagnostics add to the evidence on a run."""

import dataclasses
from statistics import fmean, median

from pxsgmcmc.health import CONDITION, Evidence, Heat
from pxsgmcmc.results import (
    ConvergenceResult,
    Diagnostics,
    DistancesResult,
    Number,
    SpectraResult,
    TemperaturesResult,
    from_number,
)


def with_findings(evidence: Evidence, diagnosis: Diagnostics) -> Evidence:
    """The same evidence with all that was found; what was skipped is not judged."""
    if isinstance(diagnosis.temperatures, TemperaturesResult):
        heats = {
            group: Heat(t.value, t.expected, max(t.high - t.expected, 0.0) / t.expected)
            for group, t in diagnosis.temperatures.configurational.items()
        }
        evidence = dataclasses.replace(evidence, configurational=heats)
    if isinstance(diagnosis.convergence, ConvergenceResult):
        evidence = dataclasses.replace(
            evidence,
            prediction_r_hat=_if_defined(diagnosis.convergence.median["r_hat"]),
            effective_draws=_if_defined(diagnosis.convergence.median["ess_bulk"]),
        )
    if isinstance(diagnosis.distances, DistancesResult):
        shares = [d for chain in diagnosis.distances.d_bar for d in chain if d is not None]
        evidence = dataclasses.replace(
            evidence,
            moved=median(d for chain in diagnosis.distances.d for d in chain),
            d_bar=fmean(shares) if shares else None,
        )
    if isinstance(diagnosis.factors, SpectraResult):
        layers = diagnosis.factors.layers
        bad = [n for n, e in layers.items() if any(c is None or c > CONDITION for c in e.condition)]
        evidence = dataclasses.replace(evidence, singular_factors=tuple(bad), factors=len(layers))
    return evidence


def _if_defined(number: Number) -> float | None:
    """None where nothing changes: that the chain does not move is said by its distances."""
    return None if number is None else from_number(number)
