"""What to do about chains that found their own settings: there is no step size to be changed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pxsgmcmc.chain.divergence import ADVICE
from pxsgmcmc.errors import Diverged
from pxsgmcmc.results import Verdict


class Remedies(NamedTuple):
    """Sentences that name arguments which the caller has."""

    longer: str  # for chains that have not settled, or are off their temperature
    anew: str  # for chains that were set back on the way, which longer ones do not mend
    diverged: str  # for chains that diverged whatever the step size

    def sentence(self, verdict: Verdict, setbacks: int) -> str:
        """The headline of a verdict, and what to do.

        Example:
          >>> verdict = Verdict(healthy=False, headline="not healthy: energy R-hat 2")
          >>> Remedies("Run longer.", "Run again.", "").sentence(verdict, setbacks=0)
          'not healthy: energy R-hat 2. Run longer.'
        """
        return f"{verdict.headline}. {self.anew if setbacks else self.longer}"

    @contextmanager
    def for_divergence(self) -> Iterator[None]:
        """A context in which `Diverged` advises what there is."""
        try:
            yield
        except Diverged as error:
            raise Diverged(str(error).replace(ADVICE, self.diverged)) from error
