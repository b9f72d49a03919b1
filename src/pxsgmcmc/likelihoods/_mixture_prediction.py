"""What draws predict for a number: the mixture of their distributions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pxsgmcmc import notebook
from pxsgmcmc.errors import check_number


class MixturePrediction:
    """The posterior predictive distribution of numbers: a mixture with one component a draw.

    Attributes:
      mixture: the distribution itself, see `pxsgmcmc.metrics.mixtures`.
      mean: (rows, targets).
      std: (rows, targets), of the whole; its square is the sum of the next two.
      aleatoric: (rows, targets), variance that every draw expects: noise in the data.
      epistemic: (rows, targets), variance of the draws' means: what they do not know.
      draws: how many.
    """

    def __init__(self, mixture: Any):
        self.mixture = mixture
        self.mean, self.std = mixture.mean(), mixture.std()
        self.aleatoric, self.epistemic = mixture.aleatoric(), mixture.epistemic()
        self.draws = mixture.shape[0]

    def quantile(self, q: Any) -> np.ndarray:
        """Exact quantiles, by root finding: (rows, targets), or (levels, rows, targets)."""
        return self.mixture.quantile(q)

    def interval(self, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper end of the central interval with this probability, (rows, targets)."""
        check_number("coverage", coverage, above=0.0, below=1.0)
        tail = (1.0 - coverage) / 2.0
        low, high = self.mixture.quantile(np.array([tail, 1.0 - tail]))
        return low, high

    def log_density(self, y: Any) -> np.ndarray:
        """Log of the averaged density at `y`, (rows, targets)."""
        return self.mixture.log_density(np.asarray(y, np.float64).reshape(self.mean.shape))

    def sample(self, count: int, *, seed: int = 0) -> np.ndarray:
        """Draws from the predictive distribution, (count, rows, targets)."""
        return self.mixture.sample(np.random.default_rng(seed), count)

    def __repr__(self) -> str:
        """A line, not all the numbers."""
        rows, targets = self.mean.shape
        return (
            f"MixturePrediction({rows} rows, {targets} target{'s' * (targets > 1)}, {self.draws} "
            f"draws; mean standard deviation {self.std.mean():.3g})"
        )

    def _repr_html_(self) -> str:
        """For notebooks: mean, spread and a 90 % interval of the first rows and target."""
        rows, targets = self.mean.shape
        first = type(self)(self.mixture.select((slice(None), slice(0, 5), slice(0, 1))))
        low, high = first.interval(0.9)
        head = ("row", "mean", "std", "5 %", "95 %")
        columns = (first.mean, first.std, low, high)
        cells = [(str(i), *(f"{column[i, 0]:.4g}" for column in columns)) for i in range(len(low))]
        text = f"{rows} rows, {targets} target{'s' * (targets > 1)}, {self.draws} draws"
        notes = "... " * (rows > 5) + "of the first target" * (targets > 1)
        return notebook.table("MixturePrediction", text, head, cells, notes)


class MixtureCollector:
    """Keeps the rows of every draw, in float32."""

    def __init__(self, rows: int, finish: Callable[[np.ndarray], MixturePrediction]):
        self._rows, self._finish = rows, finish
        self._kept: list[np.ndarray] = []
        self._filled = rows

    def add(self, rows: slice, distribution: np.ndarray) -> None:
        """Some rows of one draw."""
        if rows.start == 0:
            self._kept.append(np.empty((self._rows, distribution.shape[1]), np.float32))
        self._kept[-1][rows] = distribution

    def finish(self, draws: int) -> MixturePrediction:
        """The mixture of all draws."""
        assert len(self._kept) == draws
        return self._finish(np.stack(self._kept))
