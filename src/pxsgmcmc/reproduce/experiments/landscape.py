"""The figure of landscapes: the error on the lines and on a plane between draws of Table 5."""

from pxsgmcmc.reproduce.experiment import ClaimPart, Experiment, FigureSpec, TableSpec
from pxsgmcmc.reproduce.experiments import chains_from_hmc as chains
from pxsgmcmc.reproduce.experiments.chains_from_hmc import HMC, PX, SGHMC
from pxsgmcmc.reproduce.scale import Scale

_BARRIER = "lines/barrier"
_THREE = (HMC, SGHMC, PX)


def _figures(scale: Scale) -> list[FigureSpec]:
    lines = FigureSpec(
        "On the way between draws",
        "lines/error",
        "share of the way from one draw to the next",
        "error on training rows",
        "Error on the straight line from a draw to the next, averaged over the draws of a chain; "
        "thin lines are seeds.",
        _THREE,
        percent=True,
    )
    planes = [
        FigureSpec(
            f"The plane through three draws: {arm}",
            "plane",
            "",
            "error on training rows",
            "Error on the plane through the first, a middle and the last draw of seed 0, distances "
            "as in weight space: the stronger the shade, the larger the error.",
            (arm,),
            kind="plane",
        )
        for arm in _THREE
    ]
    return [lines, *planes]


EXPERIMENT = Experiment(
    name="landscape",
    title="Landscapes between draws",
    about="Training error on straight lines between consecutive draws, and on the plane through "
    "three draws, of the chains of Table 5.",
    arms=chains.arms,
    tables=lambda scale: [
        TableSpec(
            "Barriers between consecutive draws",
            (_BARRIER, "draws/d_bar"),
            "The largest excess of the training error over the straight line between its ends.",
        )
    ],
    claims=lambda scale: {
        "C12": [ClaimPart(_BARRIER, SGHMC, "below", PX), ClaimPart(_BARRIER, PX, "below", HMC)]
    },
    figures=_figures,
    diagnosed=True,
    remarks=chains.REMARKS,
)
