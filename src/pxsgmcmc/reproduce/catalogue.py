"""The experiments by name, in the order in which they are listed and run."""

import importlib
from functools import cache

from pxsgmcmc.errors import UserError, did_you_mean
from pxsgmcmc.reproduce.experiment import Experiment

MODULES = {
    "toy": "toy",
    "lemma": "lemma",
    "table7": "table7",
    "table1": "table1",
    "table2": "table2",
    "ood-plots": "ood_plots",
    "table6": "table6",
    "corruption-plots": "corruption_plots",
    "table4": "table4",
    "traces": "traces",
    "singular-values": "singular_values",
    "table8": "table8",
    "table9": "table9",
    "cold-posterior": "cold_posterior",
    "burn-in": "burn_in",
    "friction": "friction",
    "ggmc": "ggmc",
    "table3": "table3",
    "l2e": "l2e",
    "table5": "table5",
    "landscape": "landscape",
    "samplers": "samplers",
    "widths": "widths",
}


@cache
def experiment_named(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in MODULES:
        hint = did_you_mean(name, [*MODULES, "all"])
        raise UserError(f"There is no experiment {name!r}; {hint}")
    module = importlib.import_module(f"pxsgmcmc.reproduce.experiments.{MODULES[name]}")
    return module.EXPERIMENT


def all_experiments(scale: str | None = None) -> list[Experiment]:
    """All of them, or those that can be made at a scale."""
    every = [experiment_named(name) for name in MODULES]
    return [one for one in every if scale is None or scale in one.scales]
