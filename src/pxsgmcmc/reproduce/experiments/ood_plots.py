"""Figure B: entropy of test rows and of inputs of another kind, and how they are told apart."""

from pxsgmcmc.reproduce.experiment import Arm, Experiment, FigureSpec, TableSpec
from pxsgmcmc.reproduce.experiments.table2 import METRICS, outside_sets
from pxsgmcmc.reproduce.scale import Scale


def _figures(scale: Scale) -> list[FigureSpec]:
    figures = []
    for name in outside_sets(scale):
        figures += [
            FigureSpec(
                f"Entropy on the test set and on {name}",
                f"ood {name}",
                "entropy, nats",
                "share of rows",
                "Solid: test rows, dashed: the other set; the further apart, the better.",
                kind="histograms",
            ),
            FigureSpec(
                f"{name} told from the test set",
                f"ood {name}",
                "false alarms",
                "detected",
                "ROC curves; up and to the left is better.",
                percent=True,
                kind="roc",
            ),
        ]
    return figures


EXPERIMENT = Experiment(
    name="ood-plots",
    title="Entropy inside and outside",
    about="Histograms of predictive entropy and ROC curves of SGHMC and PX-SGHMC, on the chains of "
    "Table 1.",
    arms=lambda scale: [Arm(method, method) for method in ("SGHMC", "PX-SGHMC")],
    tables=lambda scale: [
        TableSpec(f"{name} told from the test set", [f"ood {name}/{m}" for m in METRICS])
        for name in outside_sets(scale)
    ],
    figures=_figures,
    stressed=True,
)
