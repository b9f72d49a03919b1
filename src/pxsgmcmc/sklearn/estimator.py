"""What `PXClassifier` and `PXRegressor` have in common: settings, fitting, draws, dumps."""

import os
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import jax
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from pxsgmcmc.chain.graceful_stop import kept_ctrl_c
from pxsgmcmc.errors import UserError, check_count, check_number, one_line
from pxsgmcmc.problem import Problem
from pxsgmcmc.progress import progress_for
from pxsgmcmc.rng import streams
from pxsgmcmc.run import Run
from pxsgmcmc.sklearn.described import described, facts_of
from pxsgmcmc.sklearn.fitted import Fitted, stacked_draws, tree_of
from pxsgmcmc.sklearn.frames import FrameOutput
from pxsgmcmc.sklearn.networks import hashable, network_of
from pxsgmcmc.sklearn.page import judged_on, write_page
from pxsgmcmc.sklearn.programs import EstimatorModel, forward_for, prior_of, program_for
from pxsgmcmc.sklearn.rows import WeightedRows, filled, round_size, standardisation
from pxsgmcmc.sklearn.verdict import REMEDIES, warn_if_unhealthy
from pxsgmcmc.store import open_run
from pxsgmcmc.store.layout import chain_folder
from pxsgmcmc.tuning.default_prior import LAST
from pxsgmcmc.tuning.engine.chains import run_chains
from pxsgmcmc.tuning.engine.programs import SAMPLERS, Program, Spec, batch_for, executor_for
from pxsgmcmc.tuning.engine.records import Request, begun_records, check_free, check_same
from pxsgmcmc.tuning.engine.whole_run import whole_run
from pxsgmcmc.types import Array, Tree

PREDICTED_TOGETHER = 1024  # rows


class PXEstimator(FrameOutput, BaseEstimator):
    """Settings, fitting and draws; see `PXClassifier` and `PXRegressor`."""

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

    @property
    def run_(self) -> Run:
        """The whole run: verdict, energies, `diagnose`, `evaluate`; inputs in their own units."""
        check_is_fitted(self)
        fitted = self._fitted
        records, out = fitted.records, None if fitted.out is None else Path(fitted.out)
        if records is None:
            assert out is not None
            several = fitted.chains > 1
            folders = [chain_folder(out, n) for n in range(fitted.chains)] if several else [out]
            records = [open_run(folder) for folder in folders]
        return whole_run(
            records,
            self._program(len(fitted.x)),
            self._problem(),
            self._like(),
            made_by="estimator",
            out=out,
            weighted=fitted.weighted,
        )

    def run_on(self, X: Any, y: Any) -> Run:
        """The run with rows to judge it on: `run_on(X, y).evaluate()`, `.plot.reliability()`.

        Args:
          X: (rows, features), held out from the fit.
          y: their labels or targets.
        """
        return judged_on(self, X, y)

    def report(
        self, path: str | Path, *, held_out: tuple[Any, Any] | None = None, title: str | None = None
    ) -> Path:
        """Write one HTML page on the fit: how good its predictions are, chains, verdict.

        Args:
          path: of the file to write.
          held_out: (X, y) to judge predictions on; the training rows unless given.
          title: of the page.
        """
        return write_page(self, path, held_out, title)

    @kept_ctrl_c()
    def _fit(
        self,
        rows: WeightedRows,
        given: tuple[np.ndarray, np.ndarray],
        weighted: bool,
        names: tuple[str, ...],
    ) -> None:
        """Sample the posterior given distinct rows; `given` are the rows as they came."""
        self._check_settings()
        ends = time.monotonic() + self.max_seconds
        inputs = standardisation(rows.x, rows.weights)
        y, targets = self._scaled_targets(rows)
        self._model = self._make_model(rows.x.shape[1], len(names))
        program, size = self._program(len(rows.x)), round_size(len(rows.x))
        weights = rows.weights * (len(rows.x) / (program.spec.batch or len(rows.x)))
        data = (
            filled(inputs.apply(rows.x), size),
            filled(y, size),
            filled(weights.astype(np.float32), size),
        )
        seed = self._seed()
        request = Request(
            program=program,
            scout=self._program(len(rows.x), "sghmc"),
            starts=[self._start(seed, chain) for chain in range(int(self.chains))],
            data=data,
            rows=len(rows.x),
            facts=facts_of(self._model, data, names)
            | {
                "prior_asked": getattr(prior_of(self.prior), "name", "default"),
                "method_asked": f"{self.sampler}, {self.expansion} factors",
            }
            | described(self._model, names, self._feature_names(), inputs, targets),
            made_by="estimator",
            last_layer=LAST[self._model.likelihood.task],
            draws=int(self.draws),
            seed=seed,
            ends=ends,
            out=None if self.out is None else Path(self.out),
        )
        shown = progress_for(type(self).__name__, bool(self.verbose))
        with closing(shown), REMEDIES.for_divergence():
            records = run_chains(request, self._begun(request, shown), shown)
        self._keep(records, request, given, weighted, inputs, targets, names)
        warn_if_unhealthy(self.run_, stacklevel=4)  # at who calls `fit`

    def _begun(self, request: Request, shown: Any) -> list[Any] | None:
        """Records to go on with, if `warm_start` asks for it and there are any."""
        if not self.warm_start:
            return check_free(request.out, "set `warm_start=True`")
        records: list[Any] | None = None
        if request.out is not None:
            records = begun_records(request.out, request.program.spec.chains, shown)
        elif hasattr(self, "_fitted"):
            records = self._fitted.records
        if records is not None:
            check_same(records, request, "warm_start")
        return records

    def _keep(self, records: list[Any], request: Request, given: Any, weighted: bool,
              inputs: Any, targets: Any, names: tuple[str, ...]) -> None:  # fmt: skip
        in_memory = request.out is None
        self._fitted = Fitted(
            draws=stacked_draws(records),
            records=records if in_memory else None,
            out=None if in_memory else str(request.out),
            chains=request.program.spec.chains,
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
            prior_of(self.prior)
        if not isinstance(self.out, str | os.PathLike | None):
            raise UserError(f"`out` must be a path or None, got {one_line(self.out)}.")

    def _feature_names(self) -> tuple[str, ...]:
        return tuple(map(str, getattr(self, "feature_names_in_", ())))

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return check_count("random_state", self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _make_model(self, features: int, targets: int) -> EstimatorModel:
        likelihood = self._likelihood()
        network = network_of(self.network, features, likelihood.outputs(targets))
        return EstimatorModel(network, likelihood, features, targets)

    def _program(self, rows: int, sampler: str | None = None) -> Program:
        """The program for so many distinct rows, of the sampler that was asked for or another."""
        executor = executor_for(self._like())
        spec = Spec(
            prior=None,
            factors=int(self.expansion),
            sampler=sampler or self.sampler,
            chains=int(self.chains),
            batch=batch_for(executor, rows),
            executor=executor,
        )
        return program_for(self._model, spec, hashable(self.prior))

    def _start(self, seed: int, chain: int) -> Tree:
        """Parameters from which a chain starts, the likelihood's own included."""
        key = jax.random.fold_in(streams(seed, chain).init, 0)
        return self._model.problem().start(self._model.network.start(key))

    def _problem(self) -> Problem:
        """The problem in the units of the inputs as they came."""
        fitted, model = self._fitted, self._model
        mean, std = (np.array(part, np.float32) for part in (fitted.inputs.mean, fitted.inputs.std))

        def transform(x: Array) -> Array:
            return (x - mean[None]) / std[None]

        return Problem(
            model.network.apply,
            self._likelihood_in_units(),
            train=(fitted.x, fitted.y),
            names=fitted.names,
            transform=transform,
            init=model.network.start(jax.random.key(0)),
            model=model.network.name,
        )

    def _like(self) -> Tree:
        """Parameters of the shapes of a draw."""
        return self._model.problem().start(self._model.network.start(jax.random.key(0)))

    def _distributions(self, X: Any) -> np.ndarray:
        """What each draw says of inputs, on the scale of the network: (draws, rows, numbers)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        x, forward = self._fitted.inputs.apply(X), forward_for(self._model)
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
        state.pop("_model", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Find again what was left out."""
        super().__setstate__(state)
        if hasattr(self, "_fitted"):
            fitted = self._fitted
            self._model = self._make_model(fitted.x.shape[1], len(fitted.names))

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there are draws."""
        return hasattr(self, "_fitted")

    def _likelihood(self) -> Any:
        raise NotImplementedError

    def _likelihood_in_units(self) -> Any:
        raise NotImplementedError

    def _scaled_targets(self, rows: WeightedRows) -> tuple[np.ndarray, Any]:
        raise NotImplementedError
