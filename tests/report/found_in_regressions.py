"""A made-up regression on one input: right predictions of a sine, with more than one draw."""

import msgspec
import numpy as np

from pxsgmcmc.metrics import (
    NormalMixture,
    band_figures,
    measure_regression,
    regression_figures,
)
from pxsgmcmc.metrics._windows import firsts, sliding
from pxsgmcmc.metrics.regression import measure_regression_windows
from pxsgmcmc.report import Reported
from pxsgmcmc.results import Band, Curve, Regression, Results, SplitResult, Verdict
from tests.report.findings import CONFIG, DRAWS, log, subject
from tests.report.found_in_chains import made_up_diagnostics

_FOLLOWED = ("rmse", "nll")


def regression(
    method: str = "PX-SGHMC (c=1, d=1)",
    seed: int = 0,
    *,
    targets: tuple[str, ...] = ("y",),
    input_name: str | None = "x",
    diagnosed: bool = True,
    verdict: Verdict | None = None,
) -> Reported:
    """A whole run; without `input_name` there are several inputs and no bands."""
    rng = np.random.default_rng((seed, len(method)))
    fit = _Fit(rng, len(targets))
    of = subject(method, "sinusoid", seed)
    train, test = fit.rows(rng, 150), fit.rows(rng, 500)
    mixture = fit.predict(test[0])
    found = msgspec.convert(regression_figures(mixture, test[1], targets), Regression)
    if input_name is not None:
        grid = np.linspace(-2.0, 2.0, 80)
        bands = band_figures(fit.predict(grid), grid, *train, targets)
        bands = [msgspec.convert(band, Band) for band in bands]
        found = msgspec.structs.replace(found, bands=bands)
    windows = firsts(np.arange(1, DRAWS + 1))
    by_draws = measure_regression_windows(mixture, test[1], _FOLLOWED, windows)
    results = Results(
        subject=of,
        train=_split(fit, *train),
        test=_split(fit, *test),
        by_draws=Curve(
            at=list(range(1, DRAWS + 1)),
            values={name: values.tolist() for name, values in by_draws.items()},
        ),
        by_burn_in=_by_burn_in(mixture, test[1]),
        shifts={"further out": _split(fit, *fit.rows(rng, 80, shift=1.0))},
        task="regression",
        regression=found,
        verdict=verdict,
    )
    diagnostics = made_up_diagnostics(rng, of, DRAWS) if diagnosed else None
    return Reported(results, diagnostics, [log(rng)], {"status": "done"}, CONFIG, "runs/mine")


class _Fit:
    """Draws of sines whose frequencies differ: the further out, the more they disagree."""

    def __init__(self, rng: np.random.Generator, targets: int):
        self.frequency = 3.0 * (1.0 + 0.05 * rng.normal(size=DRAWS))
        self.offset = 0.05 * rng.normal(size=DRAWS)
        self.units = 10.0 ** np.arange(targets)

    def predict(self, x: np.ndarray) -> NormalMixture:
        mean = np.sin(self.frequency[:, None] * x) + self.offset[:, None]
        scale = 0.1 + 0.1 * np.abs(x)
        return NormalMixture(mean[..., None] * self.units, scale[:, None] * self.units)

    def rows(self, rng: np.random.Generator, many: int, shift: float = 0.0):
        x = rng.uniform(-1.3, 1.3, many) + shift
        y = np.sin(3.0 * x) + (0.1 + 0.1 * np.abs(x)) * rng.normal(size=many)
        return x, y[:, None] * self.units


def _split(fit: _Fit, x: np.ndarray, y: np.ndarray) -> SplitResult:
    mixture = fit.predict(x)
    alone = [
        measure_regression(mixture.select(slice(m, m + 1)), y, ["rmse", "nll"])
        for m in range(DRAWS)
    ]
    return SplitResult(
        rows=len(x),
        metrics=measure_regression(mixture, y),
        by_draw={name: [draw[name] for draw in alone] for name in ("rmse", "nll")},
    )


def _by_burn_in(mixture: NormalMixture, y: np.ndarray) -> Curve:
    half = sliding(DRAWS, DRAWS // 2)
    alone = measure_regression_windows(mixture, y, _FOLLOWED, sliding(DRAWS, 1))
    together = measure_regression_windows(mixture, y, _FOLLOWED, half)
    values = {f"individual_{name}": half.mean(curve).tolist() for name, curve in alone.items()}
    values |= {f"ensemble_{name}": curve.tolist() for name, curve in together.items()}
    return Curve(at=list(range(len(half.sizes))), values=values)


def own_likelihood() -> Reported:
    """A run by a likelihood of the user's own on arrays: NLL and IND are all that is known."""
    run = regression()
    of = msgspec.structs.replace(run.results.subject, data="data", model="network")
    test = msgspec.structs.replace(
        run.results.test,
        metrics={"nll": 1.75, "ind": 1.76},
        by_draw={"nll": [1.75, 1.77]},
    )
    results = msgspec.structs.replace(
        run.results,
        subject=of,
        task="custom",
        train=test,
        test=test,
        shifts={},
        by_draws=Curve(at=[1, 2], values={"nll": [1.76, 1.75]}),
        by_burn_in=Curve(at=[0], values={"individual_nll": [1.76], "ensemble_nll": [1.75]}),
        regression=None,
    )
    return run._replace(results=results)
