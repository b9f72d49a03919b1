"""Methods side by side, over seeds."""

# pyright: reportGeneralTypeIssues=false
# (It does not know that a struct inherits `frozen`.)

from typing import Literal

from pxsgmcmc.results.part import Part


class ComparedMethod(Part):
    """Runs that differ in nothing but their seed."""

    name: str  # `method`, with the beginning of `settings` where that alone would not tell it apart
    method: str
    settings: str
    seeds: list[int]
    chains: int
    draws: int
    steps: int
    parameters: int
    sampled: int


class Summary(Part):
    """One metric of one method."""

    values: list[float]  # one for each of the method's seeds
    mean: float
    sd: float | None  # of a sample, with n - 1; None for one seed
    best: bool  # no other method has a better mean; nobody is best where nothing is good or bad


class Row(Part):
    """One metric of all methods."""

    key: str  # "test/nll", "shift mnist/err", "corruptions/ece", "ood photos/auroc"
    title: str
    lower_is_better: bool | None
    methods: list[Summary | None]  # as in `Comparison.methods`; None if not all seeds have it


class Difference(Part):
    """Two methods on one metric, with two-sided p-values."""

    row: str
    first: str  # names of methods
    second: str
    difference: float  # mean of the second minus mean of the first
    paired: bool  # seed by seed
    t: float | None  # Welch's test, or Student's of the pairs; None without spread
    permutation: float  # exact, unless there are too many ways to permute
    t_corrected: float | None  # by Holm's method, over all differences of the comparison
    permutation_corrected: float
    told_apart: bool  # `t_corrected` and `permutation` both below 0.05


class Comparison(Part):
    """Methods side by side, over seeds."""

    data: str
    model: str
    methods: list[ComparedMethod]
    rows: list[Row]
    differences: list[Difference]  # empty where a method has one seed, or there is one method
    notes: list[str]  # sentences that belong below the table
    format: Literal[1] = 1
