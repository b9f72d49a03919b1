"""Sample the posterior of neural networks with parameter-expanded stochastic-gradient MCMC.

Names are imported when first used, so that `import pxsgmcmc` and the command line start at once.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pxsgmcmc.chain import Samples, sample
    from pxsgmcmc.errors import CorruptRun, Diverged, UserError
    from pxsgmcmc.evaluation.evaluate import evaluate
    from pxsgmcmc.evaluation.load import Opened, open_experiment
    from pxsgmcmc.expansion import Expanded, Rule, collapse, expand, groups, plan
    from pxsgmcmc.potential import (
        classification,
        exact,
        freeze_factors,
        normal,
        posterior,
        regression,
        with_noise,
    )
    from pxsgmcmc.samplers import as_optax, ggmc, hmc, psgld, sgd, sghmc, sgld, sgnht, sgrhmc
    from pxsgmcmc.schedules import constant, cyclical
    from pxsgmcmc.store import open_run
    from pxsgmcmc.tree import by_path
    from pxsgmcmc.types import Sampler, StepInfo

__version__ = "0.1.0"

_HOME = {
    "chain": "Samples sample",
    "errors": "CorruptRun Diverged UserError",
    "evaluation.evaluate": "evaluate",
    "evaluation.load": "Opened open_experiment",
    "expansion": "Expanded Rule collapse expand groups plan",
    "potential": "classification exact freeze_factors normal posterior regression with_noise",
    "samplers": "as_optax ggmc hmc psgld sgd sghmc sgld sgnht sgrhmc",
    "schedules": "constant cyclical",
    "store": "open_run",
    "tree": "by_path",
    "types": "Sampler StepInfo",
}
_ROOM_OF = {name: room for room, names in _HOME.items() for name in names.split()}

__all__ = [  # noqa: RUF022 - grouped by room, as above
    "Samples", "sample",
    "CorruptRun", "Diverged", "UserError",
    "evaluate",
    "Opened", "open_experiment",
    "Expanded", "Rule", "collapse", "expand", "groups", "plan",
    "classification", "exact", "freeze_factors", "normal", "posterior", "regression", "with_noise",
    "as_optax", "ggmc", "hmc", "psgld", "sgd", "sghmc", "sgld", "sgnht", "sgrhmc",
    "constant", "cyclical",
    "open_run",
    "by_path",
    "Sampler", "StepInfo",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'pxsgmcmc' has no attribute {name!r}")
    return getattr(importlib.import_module(f"pxsgmcmc.{_ROOM_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
