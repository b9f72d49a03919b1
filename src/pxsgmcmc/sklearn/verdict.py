"""What an estimator says of chains that are not healthy."""

import warnings

from sklearn.exceptions import ConvergenceWarning

from pxsgmcmc.run import Run
from pxsgmcmc.run.health import evidence_on
from pxsgmcmc.tuning.engine.remedies import Remedies

REMEDIES = Remedies(
    longer="Ask for more `draws`, or a smaller `network`; see `run_`.",
    cut_short="`max_seconds` cut the chains short: give a larger one, or a smaller `network`; see "
    "`run_`.",
    anew="Fit again with another `random_state`, or give a narrower `prior`; see `run_`.",
    diverged="Keep weights of rows (`sample_weight`, `class_weight`) near 1, give a narrower "
    "`prior`, or fit again with another `random_state`.",
)


def warn_if_unhealthy(run: Run, stacklevel: int) -> None:
    """A `ConvergenceWarning` with what to do; none where it cannot be told."""
    verdict = run.verdict
    if verdict.healthy is False:
        message = REMEDIES.sentence(verdict, evidence_on(run))
        warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)
