"""What was found out about a run, as `results.json` and `eval/diagnostics.json` hold it.

Plain structs of numbers and lists, without JAX or NumPy: the evaluation writes them, comparisons
and reports read them. Curves and tables only; per-draw logits stay elsewhere.
"""

# pyright: reportGeneralTypeIssues=false
# (It does not know that a struct inherits `frozen`.)

from typing import Literal

import msgspec


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What all parts have in common: nothing changes, nothing is misspelt."""


class Subject(Part):
    """Which run this is about."""

    method: str  # "SGHMC", "PX-SGHMC (c=1, d=1)": runs with the same are repetitions of each other
    settings: str  # digest of the configuration without seed: what `method` leaves unsaid
    data: str
    model: str  # as a reader would name it: "resnet_frn, depth 8, width 8"
    seed: int
    chains: int
    draws: int  # of all chains together
    steps: int  # taken by each chain
    parameters: int  # of the network
    sampled: int  # coordinates the sampler moves, factors included
    version: str


class Curve(Part):
    """A metric against the number of draws, or against the draws left out."""

    at: list[int]
    values: dict[str, list[float]]  # metric -> one value for each of `at`


class Split(Part):
    """The draws together, and one by one, on labelled data."""

    rows: int
    metrics: dict[str, float]  # as `pxsgmcmc.metrics.METRICS` names them
    by_draw: dict[str, list[float]] = {}  # "err" and "nll" of each draw alone


class Reliability(Part):
    """Confidence and accuracy by bin; empty bins have count 0 and null."""

    edges: list[float]
    count: list[int]
    confidence: list[float | None]
    accuracy: list[float | None]


class RiskCoverage(Part):
    """Error among the most certain share of the data, thinned to at most 200 points."""

    coverage: list[float]
    risk: list[float]
    area: float


class Corruptions(Part):
    """Metrics of every corruption at every severity, and pooled."""

    names: list[str]
    severities: list[int]
    values: dict[str, list[list[float]]]  # metric -> [corruption][severity]
    pooled: dict[str, Split]  # severity as text, and "all"


class Detection(Part):
    """How well entropy tells one out-of-distribution set from the test set."""

    rows_inside: int
    rows_outside: int
    metrics: dict[str, float]  # as `pxsgmcmc.metrics.detection` names them, averaged over subsets
    spread: dict[str, float]  # standard deviation of each over the seeded subsets; 0 with only one
    subsets: int
    edges: list[float]  # of the histograms of entropy, in nats
    inside: list[int]
    outside: list[int]
    false_alarms: list[float]  # the ROC curve, at most 200 points
    detections: list[float]


class Picture(Part):
    """One test image with what was predicted for it."""

    row: int
    label: int
    probabilities: list[float]
    entropy: float
    epistemic: float
    pixels: bytes  # uint8, in C order of `Gallery.shape`; base64 in JSON


class Gallery(Part):
    """The test images the draws are most and least certain of."""

    shape: tuple[int, int, int]  # height, width, channels
    classes: list[str]
    most_certain: list[Picture]
    least_certain: list[Picture]


class Results(Part):
    """All of `results.json`. A part that was not asked for, or cannot be had, is None or empty."""

    subject: Subject
    train: Split
    test: Split
    validation: Split | None = None
    by_draws: Curve | None = None  # test metrics of the first 1, 2, ... draws together
    by_burn_in: Curve | None = None  # "individual_nll", "ensemble_nll", "..._err" on test windows
    reliability: Reliability | None = None
    risk_coverage: RiskCoverage | None = None
    shifts: dict[str, Split] = {}
    corruptions: Corruptions | None = None
    out_of_distribution: dict[str, Detection] = {}
    gallery: Gallery | None = None
    format: Literal[1] = 1


class Skipped(Part, tag="skipped"):
    """A diagnostic that could not be had, with the reason in one sentence."""

    reason: str


class Distances(Part, tag="distances"):
    """Between consecutive draws of each chain, one list a chain."""

    d: list[list[float]]
    d_bar: list[list[float | None]]


class Extremes(Part):
    """Extreme singular values of one layer or factor, one value a draw, chain after chain."""

    largest: list[float]
    smallest: list[float]
    condition: list[float | None]


class Spectra(Part, tag="spectra"):
    """Singular values by layer."""

    layers: dict[str, Extremes]


class Connection(Part):
    """Error along the straight line between two consecutive draws."""

    first: int  # draw, from 1
    second: int
    at: list[float]  # share of the way
    error: list[float]
    barrier: float  # largest excess over the straight line between the ends


class Connectivity(Part, tag="connectivity"):
    """Lines between draws of the first chain, on training images."""

    rows: int
    lines: list[Connection]


class Plane(Part, tag="plane"):
    """Error on the plane through three draws of the first chain, on training images."""

    draws: tuple[int, int, int]
    points: list[tuple[float, float]]
    x: list[float]
    y: list[float]
    error: list[list[float]]  # [y][x]


class Convergence(Part, tag="convergence"):
    """R-hat and effective sample sizes: of the energy, and of predictive probabilities.

    None stands for what is infinite, or not defined because nothing changes.
    """

    chains: int
    draws: int  # a chain
    energy: dict[str, float | None]  # "r_hat", "ess_bulk", "ess_tail"; empty without energies
    worst: dict[str, float | None]  # over predictive probabilities
    median: dict[str, float | None]
    quantities: int


class GroupTemperature(Part):
    """Temperature of one group of coordinates, with the band it should lie in."""

    value: float
    expected: float
    low: float
    high: float


class Temperatures(Part, tag="temperatures"):
    """At the last state, by group; empty where a sampler has no such temperature."""

    kinetic: dict[str, GroupTemperature]
    configurational: dict[str, GroupTemperature]


class Diagnostics(Part):
    """All of `eval/diagnostics.json`."""

    subject: Subject
    distances: Distances | Skipped
    spectra: Spectra | Skipped  # of the collapsed convolutions and dense layers
    factors: Spectra | Skipped  # of the factors, at the last state: one value a chain
    connectivity: Connectivity | Skipped
    plane: Plane | Skipped
    convergence: Convergence | Skipped
    temperatures: Temperatures | Skipped
    worries: list[str] = []  # sentences; empty if nothing looks wrong
    format: Literal[1] = 1


class Method(Part):
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
    methods: list[Method]
    rows: list[Row]
    differences: list[Difference]  # empty where a method has one seed, or there is one method
    notes: list[str]  # sentences that belong below the table
    format: Literal[1] = 1


def write(found: Results | Diagnostics | Comparison) -> bytes:
    """As JSON, indented, so that a person can read it."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"
