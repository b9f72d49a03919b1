"""The chains that Table 4 and the figure of singular values share, and those from scratch."""

from itertools import pairwise
from typing import Any

from pxsgmcmc.reproduce.experiment import Arm, ClaimPart, Relation
from pxsgmcmc.reproduce.scale import Scale

PLAIN, OUT, INTO, ONE, TWO = "c=0, d=0", "c=1, d=0", "c=0, d=1", "c=1, d=1", "c=2, d=2"
DEPTHS = (PLAIN, OUT, ONE, TWO)  # e = 1, 2, 3, 5 factors, as in the paper's figures
REMARK = (
    "All depths above zero have the settings that were searched for c = d = 1; the paper does not "
    "say which ones its ablation had."
)


def arms(scale: Scale) -> list[Arm]:
    """Depths of expansion; the first and the fourth are chains of Table 1."""

    def expanded(label: str, out: int, into: int) -> Arm:
        return Arm(label, "PX-SGHMC", {"expansion.out": out, "expansion.into": into})

    return [
        Arm(PLAIN, "SGHMC"),
        expanded(OUT, 1, 0),
        expanded(INTO, 0, 1),
        expanded(ONE, 1, 1),
        expanded(TWO, 2, 2),
    ]


def from_scratch(scale: Scale) -> dict[str, Any]:
    """Settings of chains that begin as networks do, with no burn-in; so all do at the paper's size.

    As many steps as the draws and the burn-in of the others; at the desk, where steps cost little,
    one and a third times as many.
    """
    if scale.name == "paper":
        return {}
    draws = {"desk": 40, "laptop": 25}[scale.name]
    return {"chain.start": "random", "chain.burn_in": 0, "chain.draws": draws}


def monotone(measure: str, relation: Relation) -> list[ClaimPart]:
    """Each depth above, or below, the one before."""
    return [ClaimPart(measure, deeper, relation, flatter) for flatter, deeper in pairwise(DEPTHS)]
