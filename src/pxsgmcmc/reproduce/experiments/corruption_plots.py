"""Figure A: box plots over corruptions, by severity."""

from pxsgmcmc.reproduce.experiment import Experiment, FigureSpec, TableSpec
from pxsgmcmc.reproduce.experiments import chains_of_table1 as chains

_METRICS = {"err": "error", "nll": "NLL", "ece": "ECE"}

EXPERIMENT = Experiment(
    name="corruption-plots",
    title="Corruptions by severity, as boxes",
    about="The spread over nineteen corruptions of error, likelihood and calibration at each "
    "severity, on the chains of Table 1.",
    arms=chains.arms,
    tables=lambda scale: [
        TableSpec("Over all severities", [f"corruptions/{metric}" for metric in _METRICS])
    ],
    figures=lambda scale: [
        FigureSpec(
            f"{name} by severity",
            metric,
            "severity",
            name,
            "A box for each method: quartiles and median over corruptions, averaged over seeds.",
            kind="boxes",
        )
        for metric, name in _METRICS.items()
    ],
    stressed=True,
)
