"""What to do about chains that found their own settings: there is no step size to be changed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pxsgmcmc.chain.divergence import ADVICE
from pxsgmcmc.errors import Diverged
from pxsgmcmc.health import Evidence
from pxsgmcmc.results import Verdict


class Remedies(NamedTuple):
    """Sentences that name arguments which the caller has."""

    longer: str  # for chains that have not settled
    cut_short: str  # for those that had no time to
    anew: str  # for chains that were set back or are too hot, which longer ones do not mend
    diverged: str  # for chains that diverged whatever the step size

    def sentence(self, verdict: Verdict, evidence: Evidence) -> str:
        """The headline of a verdict, and what to do.

        Example:
          >>> verdict = Verdict(healthy=False, headline="not healthy: energy R-hat 2")
          >>> Remedies("Run longer.", "", "Run again.", "").sentence(verdict, Evidence())
          'not healthy: energy R-hat 2. Run longer.'
        """
        if evidence.setbacks:
            return f"{verdict.headline}. {self.anew}"
        if evidence.cut_short:
            return f"{verdict.headline}. {self.cut_short}"
        return f"{verdict.headline}. {self.anew if evidence.hot else self.longer}"

    @contextmanager
    def for_divergence(self) -> Iterator[None]:
        """A context in which `Diverged` advises what there is."""
        try:
            yield
        except Diverged as error:
            raise Diverged(str(error).replace(ADVICE, self.diverged)) from error
