"""Figure 3: training and validation error of each draw, by depth of expansion."""

from pxsgmcmc.reproduce.experiment import Arm, Experiment, FigureSpec, TableSpec
from pxsgmcmc.reproduce.experiments import chains_of_table4
from pxsgmcmc.reproduce.experiments.chains_of_table4 import monotone
from pxsgmcmc.reproduce.measures import EARLY
from pxsgmcmc.reproduce.scale import Scale

_SETS = ("train", "validation")


def _arms(scale: Scale) -> list[Arm]:
    scratch = chains_of_table4.from_scratch(scale)
    return [arm._replace(over={**arm.over, **scratch}) for arm in chains_of_table4.arms(scale)]


EXPERIMENT = Experiment(
    name="traces",
    title="Error of each draw, by depth",
    about="How fast single draws become good, from a random start and with no burn-in.",
    arms=_arms,
    tables=lambda scale: [
        TableSpec(
            f"Error of single draws, {name} rows",
            [*(f"{name}/err_{draw}" for draw in EARLY), f"{name}/settling"],
            "ERR 1 is the error of the first draw alone; a chain has settled at the draw from "
            "which on its error stays within 5 % of that of its last quarter.",
        )
        for name in _SETS
    ],
    claims=lambda scale: {
        "C8": [
            part
            for name in _SETS
            for metric in (*(f"err_{draw}" for draw in EARLY), "settling")
            for part in monotone(f"{name}/{metric}", "below")
        ]
    },
    figures=lambda scale: [
        FigureSpec(
            f"Error of each draw, {name} rows",
            f"trace/{name}",
            "draw",
            "error",
            "Thin lines are seeds, bold ones their mean.",
            percent=True,
        )
        for name in _SETS
    ],
    remarks=(chains_of_table4.REMARK,),
)
