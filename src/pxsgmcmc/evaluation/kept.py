"""The logits of all draws of a run on one set after the other, in files that are mapped."""

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluation.load import Opened
from pxsgmcmc.evaluation.progress import Work
from pxsgmcmc.predict import LogitFile, keep_logits


class KeptLogits:
    """Evaluates every draw on a set, or reads what was kept of it.

    Args:
      opened: the run.
      folder: to keep the files in; None removes each as soon as it has been used.
      rows: of all sets to come, for the progress.
      work: where that is shown.
    """

    def __init__(self, opened: Opened, folder: str | Path | None, rows: int, work: Work):
        self._experiment, self._draws = opened.experiment, opened.stored()
        self._owner = hashlib.sha256(opened.runs[0].config.encode()).hexdigest()
        self._folder, self._work = folder, work
        self._rows, self._done = rows, 0

    @contextmanager
    def on(self, name: str, x: np.ndarray) -> Iterator[np.ndarray]:
        """Logits of every draw on the inputs `x` of one set, (draws, rows, classes)."""
        with self.on_each({name: x}) as logits:
            yield logits[name]

    @contextmanager
    def on_each(self, inputs: Mapping[str, np.ndarray]) -> Iterator[dict[str, np.ndarray]]:
        """The same for several sets, each draw being read once for all of them."""
        draws, first = self._draws, next(iter(inputs))
        rows = sum(map(len, inputs.values()))

        def report(done: int) -> None:
            share = (self._done + rows * done / len(draws)) / self._rows
            self._work.tell(share, f"{first}, draw {done}/{len(draws)}")

        with ExitStack() as stack:
            folder = self._folder
            if folder is None:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pxsgmcmc-"))
            try:
                logits = keep_logits(
                    self._experiment.apply,
                    draws,
                    [(x, self._file(folder, name, x)) for name, x in inputs.items()],
                    batch_size=self._experiment.config.evaluate.batch_size,
                    report=report,
                )
                yield dict(zip(inputs, logits, strict=True))
            except UserError as error:
                raise UserError(f"On {first!r}: {error}") from error
        self._done += rows

    def _file(self, folder: str | Path, name: str, x: np.ndarray) -> LogitFile:
        classes = len(self._experiment.dataset.classes)
        return LogitFile(Path(folder) / f"{name}.logits", x, classes, of=self._owner)
