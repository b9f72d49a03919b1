"""`PXRegressor`: numbers with intervals from the posterior of a network."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, validate_data

from pxsgmcmc.data.standardise import Standardisation
from pxsgmcmc.errors import check_number
from pxsgmcmc.likelihoods import gaussian
from pxsgmcmc.likelihoods._mixture_prediction import MixturePrediction
from pxsgmcmc.metrics._checks import check_levels
from pxsgmcmc.sklearn.estimator import PXEstimator
from pxsgmcmc.sklearn.frames import as_frame
from pxsgmcmc.sklearn.rows import WeightedRows, distinct, standardisation

NOISE_FLOOR = 0.05  # in units of the targets' deviation, if the noise is not known


class PXRegressor(RegressorMixin, PXEstimator):
    """Regression of one or several numbers by draws from the posterior of a network.

    Args:
      network: as in `PXClassifier`; its outputs are one mean for each target, and with
        `noise="network"` one log standard deviation for each after them, in units of the targets'
        standard deviation.
      noise: standard deviation of the noise in units of the targets' own; "learned" samples one
        number for all rows along with the network; "network" lets it depend on the inputs. Noise
        that is not known has a floor of 0.05, so that targets without any can be sampled.
      sampler: as in `PXClassifier`, and so are `expansion`, `prior`, `draws`, `chains`,
        `max_seconds`, `random_state`, `out`, `warm_start` and `verbose`.
      expansion: see there.
      prior: see there.
      draws: see there.
      chains: see there.
      max_seconds: see there.
      random_state: see there.
      out: see there.
      warm_start: see there.
      verbose: see there.

    Attributes:
      run_: the whole run, a `px.Run`.

    Example:
      >>> import numpy as np
      >>> X = np.linspace(-1.0, 1.0, 60)[:, None]
      >>> y = 2.0 * X[:, 0] + 0.1 * np.random.default_rng(0).normal(size=60)
      >>> regressor = PXRegressor((8,), draws=10, chains=2, random_state=0).fit(X, y)
      >>> mean, std = regressor.predict([[0.5]], return_std=True)
      >>> bool(abs(mean[0] - 1.0) < 0.3), std.shape
      (True, (1,))
    """

    def __init__(
        self,
        network: Any = (50,),
        *,
        noise: Any = "learned",
        sampler: str = "sghmc",
        expansion: int = 1,
        prior: Any = None,
        draws: int = 25,
        chains: int = 4,
        max_seconds: float = 60.0,
        random_state: Any = None,
        out: str | Path | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        super().__init__(
            network,
            sampler=sampler,
            expansion=expansion,
            prior=prior,
            draws=draws,
            chains=chains,
            max_seconds=max_seconds,
            random_state=random_state,
            out=out,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.noise = noise

    def __sklearn_tags__(self) -> Any:
        """Several targets are fine."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "PXRegressor":
        """Sample the posterior given rows and their targets.

        Args:
          X: (rows, features) array or data frame of numbers.
          y: (rows,) or (rows, targets) numbers.
          sample_weight: (rows,) weights of the rows' log-likelihoods. They are not scaled: a row of
            weight 2 counts as two rows, so weights that add up to more than the number of rows
            claim more evidence than there is, and make the posterior narrower.

        Warns:
          ConvergenceWarning: if the chains are not healthy, with what to do about it.
        """
        names = tuple(map(str, getattr(y, "columns", ())))
        X, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], multi_output=True, y_numeric=True,
            ensure_min_samples=2, estimator=self,
        )  # fmt: skip
        y = y.astype(np.float64)
        self._one_target = y.ndim == 1
        y = y.reshape(len(y), -1)
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True,
            allow_all_zero_weights=False,
        )  # fmt: skip
        kept = weights > 0.0
        rows = distinct(X[kept], y[kept], weights[kept])
        given = X[kept].astype(np.float32), y[kept].astype(np.float32)
        names = names or tuple(f"y{number}" for number in range(y.shape[1]))
        self._fit(rows, given, bool((weights[kept] != 1.0).any()), names)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of the predictive distribution, (rows,) or (rows, targets).

        Args:
          X: (rows, features).
          return_std: also give its standard deviation, noise and what draws disagree about.
        """
        found = self._predicted(X)
        mean = self._squeezed(found.mean)
        return (mean, self._squeezed(found.std)) if return_std else mean

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Any:
        """Ends of the central interval, (rows, 2) or (rows, targets, 2).

        Args:
          X: (rows, features).
          coverage: probability of the interval.
        """
        check_number("coverage", coverage, above=0.0, below=1.0)
        tail = (1.0 - coverage) / 2.0
        return self.predict_quantiles(X, (tail, 1.0 - tail))

    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> Any:
        """Quantiles of the predictive distribution, (rows, levels) or (rows, targets, levels).

        Args:
          X: (rows, features).
          quantiles: levels between 0 and 1.
        """
        levels = np.atleast_1d(check_levels("quantiles", quantiles))
        found = np.moveaxis(self._predicted(X).quantile(levels), 0, -1)
        if not self._one_target:
            return found
        return as_frame(found[:, 0], [f"{level:g}" for level in levels], X, self._frames)

    def predict_epistemic(self, X: Any) -> np.ndarray:
        """Standard deviation of the draws' means: what they disagree about, noise left out."""
        return self._squeezed(np.sqrt(self._predicted(X).epistemic))

    def _predicted(self, X: Any) -> MixturePrediction:
        rows = self._distributions(X).astype(np.float64)
        units = self._fitted.targets
        assert units is not None
        mean, std = np.array(units.mean), np.array(units.std)
        location, log_scale = np.split(rows, 2, axis=-1)
        rows = np.concatenate([mean + std * location, log_scale + np.log(std)], axis=-1)
        return MixturePrediction(gaussian(noise=1.0).mixture(rows))

    def _squeezed(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] if self._one_target else values

    def _likelihood(self) -> Any:
        return self._gaussian(None)

    def _likelihood_in_units(self) -> Any:
        units = self._fitted.targets
        assert units is not None
        return self._gaussian((units.mean, units.std))

    def _gaussian(self, units: Any) -> Any:
        floor = NOISE_FLOOR if self.noise in ("learned", "network") else 0.0
        return gaussian(noise=self.noise, units=units, noise_floor=floor)

    def _scaled_targets(self, rows: WeightedRows) -> tuple[np.ndarray, Standardisation]:
        scale = standardisation(rows.y, rows.weights)
        return scale.apply(rows.y), scale

    def _known_targets(self, y: np.ndarray) -> np.ndarray:
        y = y.astype(np.float32).reshape(len(y), -1)
        if y.shape[1] != len(self._fitted.names):
            raise ValueError(
                f"Held-out targets must be {len(self._fitted.names)} a row, got {y.shape[1]}."
            )
        return y
