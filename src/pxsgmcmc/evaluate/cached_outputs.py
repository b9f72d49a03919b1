"""What all draws of a run say of one set after the other, in files that are mapped."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import jax
import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.predict import Forward, OutputCache, keep_outputs
from pxsgmcmc.problem import Problem
from pxsgmcmc.progress import Progress
from pxsgmcmc.run import Run


class CachedOutputs:
    """Evaluates every draw on a set, or reads what was kept of it.

    Args:
      run: the draws.
      problem: the network.
      folder: to keep the files in; None removes each as soon as it has been used.
      batch_size: inputs at a time.
      rows: of all sets to come, for the progress.
      progress: where that is shown.
    """

    def __init__(
        self,
        run: Run,
        problem: Problem,
        folder: str | Path | None,
        batch_size: int,
        rows: int,
        progress: Progress,
    ):
        self._problem, self._draws = problem, run.stored()
        self._owner = str(run.origin.get("step_sha256", "")) + str(run.origin.get("seed", ""))
        self._folder, self._progress = folder, progress
        self._forward = Forward(problem.distribution, batch_size)
        example = jax.ShapeDtypeStruct((1, *problem.train.x.shape[1:]), problem.train.x.dtype)
        self._numbers = jax.eval_shape(problem.distribution, run.like, example).shape[1]
        self._rows, self._done = rows, 0

    @contextmanager
    def on(self, name: str, x: np.ndarray) -> Iterator[np.ndarray]:
        """What every draw says of the inputs `x` of one set, (draws, rows, numbers)."""
        draws = self._draws

        def report(done: int) -> None:
            share = (self._done + len(x) * done / len(draws)) / self._rows
            self._progress.tell(share, f"{name}, draw {done}/{len(draws)}")

        with ExitStack() as stack:
            folder = self._folder
            if folder is None:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pxsgmcmc-"))
            file = Path(folder) / f"{name}.outputs"
            try:
                kept = OutputCache(file, x, self._numbers, of=self._owner)
                (outputs,) = keep_outputs(self._forward, draws, [(x, kept)], report=report)
            except UserError as error:
                raise UserError(f"On {name!r}: {error}") from error
            yield outputs
        self._done += len(x)
