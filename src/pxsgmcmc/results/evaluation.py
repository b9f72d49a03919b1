"""How good the predictions of a run are: all of `results.json`."""

# pyright: reportGeneralTypeIssues=false
# (It does not know that a struct inherits `frozen`.)

from typing import Literal

import msgspec

from pxsgmcmc.results.classification import (
    Detection,
    Gallery,
    ReliabilityResult,
    RiskCoverageResult,
)
from pxsgmcmc.results.part import Curve, Part, Subject, Verdict
from pxsgmcmc.results.printed import results_in_lines
from pxsgmcmc.results.regression import Regression


class SplitResult(Part):
    """The draws together, and one by one, on labelled data."""

    rows: int
    metrics: dict[str, float]  # as `metrics.METRICS` or `metrics.REGRESSION_METRICS` name them
    # Of each draw alone: "nll", and "err" or "rmse".
    by_draw: dict[str, list[float]] = msgspec.field(default_factory=dict)


class Corruptions(Part):
    """Metrics of every corruption at every severity, and pooled."""

    names: list[str]
    severities: list[int]
    values: dict[str, list[list[float]]]  # metric -> [corruption][severity]
    pooled: dict[str, SplitResult]  # severity as text, and "all"


class Results(Part):
    """All of `results.json`. A part that was not asked for, or cannot be had, is None or empty."""

    subject: Subject
    train: SplitResult
    test: SplitResult
    validation: SplitResult | None = None
    by_draws: Curve | None = None  # test metrics of the first 1, 2, ... draws together
    by_burn_in: Curve | None = None  # "individual_nll", "ensemble_nll", "..._err" or "..._rmse"
    reliability: ReliabilityResult | None = None
    risk_coverage: RiskCoverageResult | None = None
    shifts: dict[str, SplitResult] = msgspec.field(default_factory=dict)
    corruptions: Corruptions | None = None
    out_of_distribution: dict[str, Detection] = msgspec.field(default_factory=dict)
    gallery: Gallery | None = None
    task: str = "classification"  # or "regression", or "custom"
    headline: list[str] = msgspec.field(default_factory=list)  # the metrics to show first
    regression: Regression | None = None
    verdict: Verdict | None = None
    remarks: list[str] = msgspec.field(default_factory=list)  # on what was learned, if little
    format: Literal[1] = 1

    def __repr__(self) -> str:
        """A few lines: the sets with their main metrics, and the verdict."""
        return results_in_lines(self)
