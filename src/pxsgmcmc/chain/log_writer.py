"""Lines of the log and of the progress: how it goes, every so often."""

import time
from collections.abc import Sequence
from typing import Any

from pxsgmcmc.chain.averages import Averages
from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.log_line import in_words
from pxsgmcmc.chain.under_way import ChainUnderWay
from pxsgmcmc.progress import Progress

SHARE_OF_A_LINE = 0.01  # of all steps, after which the log gets a line however fast the chain is


class LogWriter:
    """Writes a line now and then: draws cut chunks short, and a line covers all since the last.

    Args:
      collection: which steps are kept.
      seconds: after half of them another line is due.
      progress: who is told.
    """

    def __init__(self, collection: Collection, seconds: float, progress: Progress):
        self._collection, self._seconds, self._progress = collection, seconds, progress
        self._told, self._told_step = time.monotonic(), 0

    def tell(
        self, chains: Sequence[ChainUnderWay], moving: Sequence[int], speed: float, *, done: bool
    ) -> None:
        """Log and show how it goes, if that is due.

        Args:
          chains: all of them.
          moving: places of those that took steps.
          speed: steps a second; 0 before it is known.
          done: that these were the last steps.
        """
        now, total = time.monotonic(), self._collection.total_steps
        step = max(chains[place].step for place in moving)
        due = speed and now - self._told > 0.5 * self._seconds
        due = due or step - self._told_step >= total * SHARE_OF_A_LINE
        if not (due or done):
            return
        self._told, self._told_step = now, step
        line: dict[str, Any] = {}
        for place in reversed(moving):
            chain = chains[place]
            line = {
                "step": chain.step,
                "total_steps": total,
                "draws": chain.drawn,
                "all_draws": self._collection.draws,
                "steps_per_second": speed,
                **chain.since_log.log_facts(),
                "time": time.time(),
            }
            chain.record.append_log(line)
            chain.since_log = Averages()
        several = f" of {len(chains)} chains" if len(chains) > 1 else ""
        left = (total - line["step"]) / speed if speed else None
        self._progress.tell(line["step"] / total, in_words(line) + several, left)
