"""What was found out about a run, as `results.json` and `eval/diagnostics.json` hold it.

Plain structs of numbers and lists, without JAX or NumPy: the evaluation writes them, comparisons
and reports read them. Curves and tables only; per-draw outputs stay elsewhere.
"""

from pxsgmcmc.results.classification import (
    Detection,
    Gallery,
    Picture,
    ReliabilityResult,
    RiskCoverageResult,
)
from pxsgmcmc.results.comparison import ComparedMethod, Comparison, Difference, Row, Summary
from pxsgmcmc.results.diagnostics import (
    Connection,
    Connectivity,
    ConvergenceResult,
    Diagnostics,
    DistancesResult,
    Extremes,
    GroupTemperature,
    Number,
    PlaneResult,
    Skipped,
    SpectraResult,
    TemperaturesResult,
    from_number,
    to_number,
)
from pxsgmcmc.results.evaluation import Corruptions, Results, SplitResult
from pxsgmcmc.results.part import Curve, Part, Subject, Verdict, write
from pxsgmcmc.results.regression import Band, Points, Regression, SpreadResult
from pxsgmcmc.results.tuning import SearchRange, Trial, TrialScore, Tuning
from pxsgmcmc.results.validation import Validation

__all__ = [
    "Band",
    "ComparedMethod",
    "Comparison",
    "Connection",
    "Connectivity",
    "ConvergenceResult",
    "Corruptions",
    "Curve",
    "Detection",
    "Diagnostics",
    "Difference",
    "DistancesResult",
    "Extremes",
    "Gallery",
    "GroupTemperature",
    "Number",
    "Part",
    "Picture",
    "PlaneResult",
    "Points",
    "Regression",
    "ReliabilityResult",
    "Results",
    "RiskCoverageResult",
    "Row",
    "SearchRange",
    "Skipped",
    "SpectraResult",
    "SplitResult",
    "SpreadResult",
    "Subject",
    "Summary",
    "TemperaturesResult",
    "Trial",
    "TrialScore",
    "Tuning",
    "Validation",
    "Verdict",
    "from_number",
    "to_number",
    "write",
]
