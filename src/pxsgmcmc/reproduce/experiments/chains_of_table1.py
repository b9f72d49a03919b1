"""The chains that Tables 1, 2 and 6 and two figures share, and their published values."""

from collections.abc import Sequence

from pxsgmcmc.reproduce.experiment import Arm, ClaimPart, Published, Relation
from pxsgmcmc.reproduce.methods import BASELINES, PUBLISHED_FIVE
from pxsgmcmc.reproduce.scale import Scale

PX = "PX-SGHMC"


def arms(scale: Scale) -> list[Arm]:
    """The published five; at a reduced size also what the paper dropped, and deep ensembles."""
    more = () if scale.name == "paper" else ("SGRHMC", "Deep ensemble")
    return [Arm(method, method) for method in (*PUBLISHED_FIVE, *more)]


def five(scale: Scale) -> list[Arm]:
    """The published five."""
    return [Arm(method, method) for method in PUBLISHED_FIVE]


def against_baselines(measures: Sequence[str], relation: Relation) -> list[ClaimPart]:
    """PX-SGHMC below or above each of the four, on each measure."""
    return [ClaimPart(m, PX, relation, other) for m in measures for other in BASELINES]


def published(rows: dict[str, str], measures: Sequence[str]) -> Published:
    """Values from lines such as ".152±.003 .258±.007", one line an arm, one value a measure."""
    values = {}
    for label, line in rows.items():
        for measure, text in zip(measures, line.split(), strict=True):
            mean, _, sd = text.partition("±")
            values[label, measure] = (float(mean), float(sd) if sd else None)
    return values
