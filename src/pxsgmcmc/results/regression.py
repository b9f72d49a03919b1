"""What a regression predicts on the test data."""

# pyright: reportGeneralTypeIssues=false
# (It does not know that a struct inherits `frozen`.)

import msgspec

from pxsgmcmc.results.part import Part


class Points(Part):
    """Predictions of one target for single rows, at most 400 of them."""

    predicted: list[float | None]  # predictive means; None where none exists
    observed: list[float]
    std: list[float | None]  # None where it is infinite


class SpreadResult(Part):
    """Error among rows of like predicted spread, bins of equal count."""

    std: list[float | None]  # root mean square of the predicted ones
    rmse: list[float | None]
    count: list[int]


class Band(Part):
    """The predictive distribution of one target over a single input."""

    target: str
    x: list[float]
    mean: list[float | None]
    quantiles: dict[str, list[float]]  # "0.05", "0.25", "0.75", "0.95" -> one for each of `x`
    train_x: list[float]  # of the training data, at most 400 of them
    train_y: list[float]


class Regression(Part):
    """What a regression predicts on the test data, as `metrics.regression_figures` makes it."""

    targets: list[str]
    points: list[Points]  # one for each target
    pit_edges: list[float]  # of the histogram of F(y), pooled over targets
    pit_counts: list[int]
    nominal: list[float]  # probabilities of central intervals
    coverage: list[float]  # share of the data within them, pooled over targets
    spread: list[SpreadResult]  # one for each target
    bands: list[Band] = msgspec.field(default_factory=list)  # where there is only one input
