"""Whether to believe a run: all of `eval/diagnostics.json`."""

# pyright: reportGeneralTypeIssues=false
# (It does not know that a struct inherits `frozen`.)

import math
from typing import Literal

from pxsgmcmc.results.part import Part, Subject, Verdict
from pxsgmcmc.results.printed import diagnostics_in_lines

# JSON knows neither infinity nor NaN, which are two things: "infinite" where chains stand still in
# different places, None where nothing changes and the number is not defined.
Number = float | Literal["infinite"] | None


def to_number(value: float) -> Number:
    """A number as results have it.

    Example:
      >>> to_number(1.5), to_number(math.inf), to_number(math.nan)
      (1.5, 'infinite', None)
    """
    if math.isnan(value):
        return None
    return "infinite" if math.isinf(value) else float(value)


def from_number(number: Number) -> float:
    """The number as computations have it.

    Example:
      >>> from_number("infinite"), from_number(None)
      (inf, nan)
    """
    if number is None:
        return math.nan
    return math.inf if number == "infinite" else float(number)


class Skipped(Part, tag="skipped"):
    """A diagnostic that could not be had, with the reason in one sentence."""

    reason: str


class DistancesResult(Part, tag="distances"):
    """Between consecutive draws of each chain, one list a chain."""

    d: list[list[float]]
    d_bar: list[list[float | None]]


class Extremes(Part):
    """Extreme singular values of one layer or factor, one value a draw, chain after chain."""

    largest: list[float]
    smallest: list[float]
    condition: list[float | None]


class SpectraResult(Part, tag="spectra"):
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


class PlaneResult(Part, tag="plane"):
    """Error on the plane through three draws of the first chain, on training images."""

    draws: tuple[int, int, int]
    points: list[tuple[float, float]]
    x: list[float]
    y: list[float]
    error: list[list[float]]  # [y][x]


class ConvergenceResult(Part, tag="convergence"):
    """R-hat and effective sample sizes: of the energy, and of predictive probabilities.

    Of what does not change neither is defined; where chains stand still in different places, R-hat
    is infinite.
    """

    chains: int
    draws: int  # a chain
    energy: dict[str, Number]  # "r_hat", "ess_bulk", "ess_tail"; empty without energies
    worst: dict[str, Number]  # over predictive probabilities
    median: dict[str, Number]
    quantities: int


class GroupTemperature(Part):
    """Temperature of one group of coordinates, with the band it should lie in."""

    value: float
    expected: float
    low: float
    high: float


class TemperaturesResult(Part, tag="temperatures"):
    """At the last state, by group; empty where a sampler has no such temperature."""

    kinetic: dict[str, GroupTemperature]
    configurational: dict[str, GroupTemperature]


class Diagnostics(Part):
    """All of `eval/diagnostics.json`."""

    subject: Subject
    distances: DistancesResult | Skipped
    spectra: SpectraResult | Skipped  # of the collapsed convolutions and dense layers
    factors: SpectraResult | Skipped  # of the factors, at the last state: one value a chain
    connectivity: Connectivity | Skipped
    plane: PlaneResult | Skipped
    convergence: ConvergenceResult | Skipped
    temperatures: TemperaturesResult | Skipped
    verdict: Verdict | None = None
    format: Literal[1] = 1

    def __repr__(self) -> str:
        """A few lines: what there is, what could not be had, and the verdict."""
        return diagnostics_in_lines(self)
