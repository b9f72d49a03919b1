"""What `PXClassifier` and `PXRegressor` have in common: settings, fitting, draws, dumps."""

import dataclasses
import hashlib
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from pxsgmcmc.errors import UserError, check_count, check_number, one_line
from pxsgmcmc.problem import LIKELIHOOD, NETWORK, Problem
from pxsgmcmc.progress import progress_for
from pxsgmcmc.run import Run
from pxsgmcmc.sklearn.chains import run_chains
from pxsgmcmc.sklearn.described import described
from pxsgmcmc.sklearn.fitted import Fitted, stacked_draws, tree_of
from pxsgmcmc.sklearn.frames import check_kind
from pxsgmcmc.sklearn.networks import hashable, network_of
from pxsgmcmc.sklearn.programs import SAMPLERS, Spec, forward_for, prior_of
from pxsgmcmc.sklearn.records import Request, begun_records, check_free, check_same
from pxsgmcmc.sklearn.rows import (
    ALL_ROWS,
    BATCH_SIZE,
    WeightedRows,
    filled,
    round_size,
    standardisation,
)
from pxsgmcmc.sklearn.whole_run import whole_run
from pxsgmcmc.types import Array, Tree

PREDICTED_TOGETHER = 1024  # rows
REMEDY = "Ask for more `draws` or a larger `max_seconds`, or a smaller `network`; see `run_`."


class PXEstimator(BaseEstimator):
    """Settings, fitting and draws; see `PXClassifier` and `PXRegressor`."""

    LAST = 2.0  # of the default prior on the last layer, times 1 / fan-in

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
        random_state: Any = None,
        out: str | Path | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        self.network = network
        self.sampler = sampler
        self.expansion = expansion
        self.prior = prior
        self.draws = draws
        self.chains = chains
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.out = out
        self.warm_start = warm_start
        self.verbose = verbose

    def set_output(self, *, transform: str | None = None) -> "PXEstimator":
        """Give predictions of several columns as "pandas" or "polars" frames; "default" as arrays.

        Args:
          transform: the kind; None leaves it as it is. The name is scikit-learn's.
        """
        if transform is not None:
            self._sklearn_output_config = {"transform": check_kind(transform)}
        return self

    @property
    def _frames(self) -> str:
        return getattr(self, "_sklearn_output_config", {}).get("transform", "default")

    @property
    def run_(self) -> Run:
        """The whole run: verdict, energies, `diagnose`, `evaluate`; inputs in their own units."""
        check_is_fitted(self)
        return whole_run(self._fitted, self._spec, self._problem(), self._like())

    def report(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write one HTML page on the fit: predictions on the training rows, chains, verdict.

        Args:
          path: of the file to write.
          title: of the page.
        """
        run = self.run_[:]  # what is found out about a part of a run is not kept with it
        run.problem = dataclasses.replace(run.problem, test=tuple(run.problem.train))
        title = title or f"{type(self).__name__}, judged on the rows it was fitted to"
        return run.report(path, title=title)

    def _fit(
        self,
        rows: WeightedRows,
        given: tuple[np.ndarray, np.ndarray],
        weighted: bool,
        names: tuple[str, ...],
    ) -> None:
        """Sample the posterior given distinct rows; `given` are the rows as they came."""
        self._check_settings()
        inputs = standardisation(rows.x, rows.weights)
        y, targets = self._scaled_targets(rows)
        spec = self._make_spec(rows, len(names))
        weights = rows.weights * (len(rows.x) / spec.batch if spec.batch else 1.0)
        data = (
            filled(inputs.apply(rows.x), spec.rows),
            filled(y, spec.rows),
            filled(weights.astype(np.float32), spec.rows),
        )
        request = Request(
            spec,
            spec.network,
            data,
            len(rows.x),
            self._facts(spec, data, names)
            | described(spec, names, self._feature_names(), inputs, targets),
            int(self.draws),
            self._seed(),
            float(self.max_seconds),
            None if self.out is None else Path(self.out),
        )
        shown = progress_for(type(self).__name__, bool(self.verbose))
        try:
            records = self._begun(request, shown)
            records = run_chains(request, records, shown)
        finally:
            shown.close()
        self._keep(records, request, given, weighted, inputs, targets, names)
        verdict = self.run_.verdict
        if verdict.healthy is False:
            # Not the verdict's own remedies: an estimator has other settings.
            warnings.warn(f"{verdict.headline}. {REMEDY}", ConvergenceWarning, stacklevel=3)

    def _begun(self, request: Request, shown: Any) -> list[Any] | None:
        """Records to go on with, if `warm_start` asks for it and there are any."""
        if not self.warm_start:
            return check_free(request.out)
        records: list[Any] | None = None
        if request.out is not None:
            records = begun_records(request.out, request.spec.chains, shown)
        elif hasattr(self, "_fitted"):
            records = self._fitted.records
        if records is not None:
            try:
                check_same(records, request)
            except UserError:
                for record in records:
                    record.close()
                raise
        return records

    def _keep(self, records: list[Any], request: Request, given: Any, weighted: bool,
              inputs: Any, targets: Any, names: tuple[str, ...]) -> None:  # fmt: skip
        in_memory = request.out is None
        self._spec = request.spec
        self._fitted = Fitted(
            draws=stacked_draws(records),
            records=records if in_memory else None,
            out=None if in_memory else str(request.out),
            chains=request.spec.chains,
            x=given[0],
            y=given[1],
            weighted=weighted,
            inputs=inputs,
            targets=targets,
            names=names,
        )

    def _check_settings(self) -> None:
        check_count("draws", self.draws, at_least=1)
        check_count("chains", self.chains, at_least=1)
        check_count("expansion", self.expansion)
        check_number("max_seconds", self.max_seconds, above=0.0)
        if self.sampler not in SAMPLERS:
            raise UserError(
                f"`sampler` must be one of {', '.join(SAMPLERS)}, got {one_line(self.sampler)}."
            )
        if self.prior is not None:
            prior_of(self.prior, self.LAST)

    def _feature_names(self) -> tuple[str, ...]:
        return tuple(map(str, getattr(self, "feature_names_in_", ())))

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return check_count("random_state", self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _make_spec(self, rows: WeightedRows, targets: int) -> Spec:
        features, likelihood = rows.x.shape[1], self._likelihood()
        count = len(rows.x)
        return Spec(
            network=network_of(self.network, features, likelihood.outputs(targets)),
            likelihood=likelihood,
            features=features,
            targets=targets,
            prior=hashable(self.prior),
            last=self.LAST,
            factors=int(self.expansion),
            sampler=self.sampler,
            chains=int(self.chains),
            rows=round_size(count),
            batch=0 if count <= ALL_ROWS else BATCH_SIZE,
        )

    def _facts(self, spec: Spec, data: Any, names: tuple[str, ...]) -> dict[str, Any]:
        """Of the problem, for the manifest."""
        digest = hashlib.sha256()
        for array in data:
            digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
        return {
            "data": "data",
            "rows": int(np.count_nonzero(data[2])),
            "data_sha256": digest.hexdigest(),
            "likelihood": spec.likelihood.name,
            "task": spec.likelihood.task,
            "model": spec.network.name,
            "names": list(names[:1000]),
            "prior": prior_of(self.prior, self.LAST).name,
            "method_asked": f"{spec.sampler}, {spec.factors} factors",
        }

    def _problem(self) -> Problem:
        """The problem in the units of the inputs as they came."""
        fitted, spec = self._fitted, self._spec
        mean, std = (np.array(part, np.float32) for part in (fitted.inputs.mean, fitted.inputs.std))

        def transform(x: Array) -> Array:
            return (x - mean[None]) / std[None]

        return Problem(
            spec.network.apply,
            self._likelihood_in_units(),
            train=(fitted.x, fitted.y),
            names=fitted.names,
            transform=transform,
            init=spec.network.start(jax.random.key(0)),
            model=spec.network.name,
        )

    def _like(self) -> Tree:
        """Parameters of the shapes of a draw."""
        params = self._spec.network.start(jax.random.key(0))
        own = self._spec.likelihood.start()
        return {NETWORK: params, LIKELIHOOD: dict(own)} if own else params

    def _distributions(self, X: Any) -> np.ndarray:
        """What each draw says of inputs, on the scale of the network: (draws, rows, numbers)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        x, spec = self._fitted.inputs.apply(X), self._spec
        forward = forward_for(spec.network, spec.likelihood, spec.features, spec.targets)
        draws = tree_of(self._fitted.draws, self._like())
        parts = []
        for start in range(0, len(x), PREDICTED_TOGETHER):
            part = x[start : start + PREDICTED_TOGETHER]
            rows = forward(draws, filled(part, round_size(len(part))))
            parts.append(np.asarray(rows)[:, : len(part)])
        return np.concatenate(parts, axis=1)

    def __getstate__(self) -> dict[str, Any]:
        """Settings, arrays and journals, without programs or anything that was compiled."""
        state: dict[str, Any] = dict(super().__getstate__())  # pyright: ignore
        state.pop("_spec", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Find again what was left out."""
        super().__setstate__(state)
        if hasattr(self, "_fitted"):
            fitted = self._fitted
            empty = WeightedRows(fitted.x, fitted.y.reshape(len(fitted.y), -1), fitted.x[:, 0])
            self._spec = self._make_spec(empty, len(fitted.names))

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there are draws."""
        return hasattr(self, "_fitted")

    def _likelihood(self) -> Any:
        raise NotImplementedError

    def _likelihood_in_units(self) -> Any:
        raise NotImplementedError

    def _scaled_targets(self, rows: WeightedRows) -> tuple[np.ndarray, Any]:
        raise NotImplementedError
