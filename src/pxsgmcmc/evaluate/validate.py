"""Measure a run on its validation rows and on nothing else, for searches over settings."""

import math

from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluate.cached_outputs import CachedOutputs
from pxsgmcmc.evaluate.parts import finite
from pxsgmcmc.evaluate.subject import subject_of
from pxsgmcmc.health import WARM, Evidence, highest_r_hat, judge
from pxsgmcmc.progress import Progress, Show, progress_for
from pxsgmcmc.results import Validation, write
from pxsgmcmc.run import VALIDATION, Run
from pxsgmcmc.run.health import evidence_on

BATCH_SIZE = 500  # inputs at a time


def validate(run: Run, *, progress: Show | Progress = False) -> Validation:
    """Metrics of all draws on the validation rows, and whether the chain is fit to be chosen.

    Args:
      run: its draws; a problem opened with `blind` has no test rows to look at.
      progress: show it; or who is told.
    """
    problem = run.need_problem("validate")
    if problem.validation is None:
        raise UserError("`validation` must be given to the problem: settings are chosen on it.")
    run.check_writable()
    x, y = problem.validation
    shown = progress_for("validate", progress)
    try:
        cached = CachedOutputs(run, problem, None, BATCH_SIZE, len(x), shown)
        with cached.on("validation", x) as outputs:
            metrics = finite(problem.likelihood.sums(outputs, y).metrics())
    finally:
        shown.close()
    evidence = evidence_on(run)
    validation = Validation(
        subject=subject_of(run),
        rows=len(x),
        metrics=metrics,
        verdict=judge(evidence),
        too_hot=_too_hot(evidence),
        unsettled=_unsettled(evidence),
    )
    run.write_artifact(VALIDATION, write(validation))
    return validation


def _too_hot(evidence: Evidence) -> float | None:
    """How far the worst temperature is beyond its limit; one that is too cold counts as well.

    Momentum that has not warmed up belongs to a chain that has hardly left its start: from a warm
    start it scores well with few draws, and would be preferred for not sampling.
    """
    shares = [
        abs(heat.value / heat.expected - 1.0) / max(WARM, heat.chance) - 1.0
        for heat in evidence.kinetic.values()
    ]
    return max(shares, default=None)


def _unsettled(evidence: Evidence) -> float | None:
    if evidence.energy_r_hat is None:
        return None
    share = evidence.energy_r_hat / highest_r_hat(evidence.chains, evidence.draws) - 1.0
    return share if math.isfinite(share) else 1e6  # the energy never changes, or only between parts
