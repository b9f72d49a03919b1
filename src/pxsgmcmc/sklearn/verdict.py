"""What an estimator says of chains that are not healthy: it has no step size to be changed."""

import warnings

from sklearn.exceptions import ConvergenceWarning

from pxsgmcmc.results import Verdict
from pxsgmcmc.run import Run
from pxsgmcmc.run.health import evidence_on

LONGER = "Ask for more `draws` or a larger `max_seconds`, or a smaller `network`; see `run_`."
ANEW = "Fit again with another `random_state`, or give a narrower `prior`; see `run_`."


def warn_if_unhealthy(run: Run, stacklevel: int) -> None:
    """A `ConvergenceWarning` with what to do; none where it cannot be told."""
    verdict = run.verdict
    if verdict.healthy is False:
        message = sentence(verdict, evidence_on(run).setbacks)
        warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)


def sentence(verdict: Verdict, setbacks: int) -> str:
    """The headline, and a remedy: longer chains do not mend those that diverged on the way.

    Example:
      >>> sentence(Verdict(healthy=False, headline="not healthy: energy R-hat 2"), 0)[:52]
      'not healthy: energy R-hat 2. Ask for more `draws` or'
    """
    return f"{verdict.headline}. {ANEW if setbacks else LONGER}"
