"""Parameter expansion: rules that find channels, factors, and the map between the two trees."""

from pxsgmcmc.expansion.expand import expand, plan
from pxsgmcmc.expansion.factors import LowRank, as_matrix
from pxsgmcmc.expansion.plan import Plan
from pxsgmcmc.expansion.position import Expanded, LayerFactors, collapse, groups
from pxsgmcmc.expansion.rules import Rule

__all__ = [
    "Expanded",
    "LayerFactors",
    "LowRank",
    "Plan",
    "Rule",
    "as_matrix",
    "collapse",
    "expand",
    "groups",
    "plan",
]
