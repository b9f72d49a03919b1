"""`PXClassifier`: class probabilities from the posterior of a network."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from pxsgmcmc.likelihoods import categorical
from pxsgmcmc.likelihoods.categorical import ClassPrediction
from pxsgmcmc.sklearn.estimator import PXEstimator
from pxsgmcmc.sklearn.frames import as_frame
from pxsgmcmc.sklearn.page import known_labels
from pxsgmcmc.sklearn.rows import WeightedRows, distinct


class PXClassifier(ClassifierMixin, PXEstimator):
    """Classification by draws from the posterior of a network.

    Args:
      network: widths of hidden layers, a module of Flax (NNX or Linen) or Equinox, or a pair (init,
        apply) of functions key -> parameters and (parameters, inputs) -> logits. An NNX or Equinox
        module is also where all chains start.
      sampler: "sghmc", "sgnht" or "sgld"; its step size and friction are found by measurement.
      expansion: factors on each side of every layer; 0 samples the plain network.
      prior: on the weights: a variance, a prior from `px.priors`, or None for variances that fall
        with the fan-in.
      draws: how many to keep of each chain.
      chains: how many chains, which judge each other.
      max_seconds: about how long `fit` may take; chains are cut short for it, and the warning says
        so if they were not long enough.
      class_weight: "balanced", or class -> weight, multiplied into the weights of rows. Balanced,
        all classes have the same total weight, and together the one that they had.
      random_state: seed of everything random.
      out: run directory to write the draws to; None keeps them in memory.
      warm_start: go on with the last fit, or with the run in `out`, up to `draws` draws; data and
        model must be the same.
      verbose: show progress.

    Attributes:
      classes_: labels, in the order of the probabilities.
      run_: the whole run, a `px.Run`.

    Example:
      >>> import numpy as np
      >>> X = np.random.default_rng(0).normal(size=(60, 2))
      >>> y = np.where(X[:, 0] > 0, "right", "left")
      >>> classifier = PXClassifier((8,), draws=10, chains=2, random_state=0).fit(X, y)
      >>> classifier.predict([[2.0, 0.0], [-2.0, 0.0]]).tolist()
      ['right', 'left']
    """

    def __init__(
        self,
        network: Any = (50,),
        *,
        sampler: str = "sghmc",
        expansion: int = 1,
        prior: Any = None,
        draws: int = 25,
        chains: int = 4,
        max_seconds: float = 60.0,
        class_weight: Any = None,
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
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "PXClassifier":
        """Sample the posterior given rows and their labels.

        Args:
          X: (rows, features) array or data frame of numbers.
          y: (rows,) labels: numbers, strings or categories.
          sample_weight: (rows,) weights of the rows' log-likelihoods. They are not scaled: a row of
            weight 2 counts as two rows, so weights that add up to more than the number of rows
            claim more evidence than there is, and make the posterior narrower.

        Warns:
          ConvergenceWarning: if the chains are not healthy, with what to do about it.
        """
        X, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], ensure_min_samples=2, estimator=self
        )
        check_classification_targets(y)
        y = y.reshape(-1)
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True,
            allow_all_zero_weights=False,
        )  # fmt: skip
        if self.class_weight is not None:
            weights = weights * self._weights_by_class(y, weights)
        self.classes_, labels = np.unique(y[weights > 0.0], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "`y` must have at least two classes among the rows of positive weight, got "
                f"{len(self.classes_)} class."
            )
        kept = weights > 0.0
        rows = distinct(X[kept], labels[:, None], weights[kept])
        given = X[kept].astype(np.float32), labels.astype(np.int32)
        names = tuple(map(str, self.classes_))
        self._fit(rows, given, bool((weights[kept] != 1.0).any()), names)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, averaged over all draws, (rows, classes)."""
        found = self._predicted(X)
        return as_frame(found.probabilities, [str(c) for c in self.classes_], X, self._frames)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of `predict_proba`."""
        values = np.log(np.maximum(self._predicted(X).probabilities, 1e-300))
        return as_frame(values, [str(c) for c in self.classes_], X, self._frames)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class, (rows,)."""
        found = self._predicted(X)  # says so if there was no fit, before anything else does
        return self.classes_[found.probabilities.argmax(axis=1)]

    def predict_epistemic(self, X: Any) -> np.ndarray:
        """What the draws disagree about: mutual information of label and draw in nats, (rows,)."""
        return self._predicted(X).epistemic

    def _predicted(self, X: Any) -> ClassPrediction:
        logits = self._distributions(X)
        collector = categorical().collector(logits.shape[1])
        for draw in logits:
            collector.add(slice(0, logits.shape[1]), draw)
        return collector.finish(len(logits))

    def _weights_by_class(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """What `class_weight` says of each row, (rows,)."""
        if not isinstance(self.class_weight, str) or self.class_weight != "balanced":
            return compute_sample_weight(self.class_weight, y)
        # scikit-learn counts rows; here one of weight 2 counts as two, and one of weight 0 as none.
        _, labels = np.unique(y, return_inverse=True)
        totals = np.bincount(labels, weights)
        each = weights.sum() / np.count_nonzero(totals) / np.where(totals > 0.0, totals, 1.0)
        return each[labels]

    def _likelihood(self) -> Any:
        return categorical()

    def _likelihood_in_units(self) -> Any:
        return categorical()

    def _scaled_targets(self, rows: WeightedRows) -> tuple[np.ndarray, None]:
        return rows.y[:, 0].astype(np.int32), None

    def _known_targets(self, y: np.ndarray) -> np.ndarray:
        return known_labels(y, self.classes_)
