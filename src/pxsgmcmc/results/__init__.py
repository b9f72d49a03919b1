"""What was found out about a run, as `results.json` and `eval/diagnostics.json` hold it.

Plain structs of numbers and lists, without JAX or NumPy: the evaluation writes them, comparisons
and reports read them. Curves and tables only; per-draw outputs stay elsewhere.
"""

from pxsgmcmc.results.classification import Detection, Gallery, Picture, Reliability, RiskCoverage
from pxsgmcmc.results.comparison import Comparison, Difference, Method, Row, Summary
from pxsgmcmc.results.diagnostics import (
    Connection,
    Connectivity,
    Convergence,
    Diagnostics,
    Distances,
    Extremes,
    GroupTemperature,
    Number,
    Plane,
    Skipped,
    Spectra,
    Temperatures,
    from_number,
    to_number,
)
from pxsgmcmc.results.evaluation import Corruptions, Results, Split
from pxsgmcmc.results.part import Curve, Part, Subject, Verdict, write
from pxsgmcmc.results.regression import Band, Points, Regression, Spread
from pxsgmcmc.results.tuning import SearchRange, Trial, TrialScore, Tuning
from pxsgmcmc.results.validation import Validation

__all__ = [
    "Band",
    "Comparison",
    "Connection",
    "Connectivity",
    "Convergence",
    "Corruptions",
    "Curve",
    "Detection",
    "Diagnostics",
    "Difference",
    "Distances",
    "Extremes",
    "Gallery",
    "GroupTemperature",
    "Method",
    "Number",
    "Part",
    "Picture",
    "Plane",
    "Points",
    "Regression",
    "Reliability",
    "Results",
    "RiskCoverage",
    "Row",
    "SearchRange",
    "Skipped",
    "Spectra",
    "Split",
    "Spread",
    "Subject",
    "Summary",
    "Temperatures",
    "Trial",
    "TrialScore",
    "Tuning",
    "Validation",
    "Verdict",
    "from_number",
    "to_number",
    "write",
]
