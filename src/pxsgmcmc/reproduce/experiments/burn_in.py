"""Figure E: how many draws to leave out."""

from pxsgmcmc.reproduce.experiment import Arm, ClaimPart, Experiment, FigureSpec, TableSpec
from pxsgmcmc.reproduce.experiments.chains_of_table4 import from_scratch
from pxsgmcmc.reproduce.scale import Scale


def _arms(scale: Scale) -> list[Arm]:
    return [Arm(method, method, from_scratch(scale)) for method in ("SGHMC", "PX-SGHMC")]


def _figure(kind: str, name: str, metric: str) -> FigureSpec:
    return FigureSpec(
        f"{name}, {metric.upper()}",
        f"burn_in/{kind}_{metric}",
        "draws left out",
        metric.upper(),
        "A window of half the draws, moved along the chain; thin lines are seeds.",
    )


EXPERIMENT = Experiment(
    name="burn-in",
    title="Burn-in",
    about="Chains from a random start without burn-in: a window of half of the draws, judged draw "
    "by draw and averaged, against how many were left out before it.",
    arms=_arms,
    tables=lambda scale: [
        TableSpec(
            "Burn-in, test rows",
            ("burn_in/needed", "test/err", "test/nll"),
            "Draws to leave out until the average is within 2 % of its best NLL; ERR and NLL are "
            "those of all draws, none left out.",
        )
    ],
    claims=lambda scale: {"C16": [ClaimPart("burn_in/needed", "PX-SGHMC", "below", "SGHMC")]},
    figures=lambda scale: [
        _figure("individual", "Single draws", "nll"),
        _figure("ensemble", "Averaged draws", "nll"),
        _figure("individual", "Single draws", "err"),
        _figure("ensemble", "Averaged draws", "err"),
    ],
)
