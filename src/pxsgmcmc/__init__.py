"""Sample the posterior of neural networks with parameter-expanded stochastic-gradient MCMC.

Everyday names are here; `px.samplers`, `px.priors`, `px.likelihoods`, `px.metrics`,
`px.diagnostics`, `px.data` and `px.models` hold the rest. Names are imported when first used, so
that `import pxsgmcmc` and the command line start at once.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pxsgmcmc import data, diagnostics, likelihoods, metrics, models, priors, samplers
    from pxsgmcmc.chain import Event, Execution, from_arrays, sample
    from pxsgmcmc.config.opening import open_any as open
    from pxsgmcmc.density import from_log_density
    from pxsgmcmc.errors import ChainWarning, CorruptRun, Diverged, Interrupted, UserError
    from pxsgmcmc.evaluate.learning_coefficient import local_learning_coefficient
    from pxsgmcmc.expansion import Expanded, Rule, collapse, expand, groups, plan
    from pxsgmcmc.export import FrozenPredictor
    from pxsgmcmc.posterior import freeze_factors, potential
    from pxsgmcmc.problem import Problem
    from pxsgmcmc.run import Run
    from pxsgmcmc.samplers import (
        adaptation,
        as_optax,
        ggmc,
        hmc,
        l2e,
        psgld,
        sgd,
        sghmc,
        sgld,
        sgnht,
        sgrhmc,
    )
    from pxsgmcmc.schedules import constant, cyclical
    from pxsgmcmc.tree import by_path
    from pxsgmcmc.tuning.fit import fit
    from pxsgmcmc.tuning.pilot import pilot
    from pxsgmcmc.tuning.tune import TuneOutcome, tune
    from pxsgmcmc.tuning.warm_start import warm_start
    from pxsgmcmc.types import Sampler, SamplerFacts, StepInfo

__version__ = "0.1.0"

_NAMESPACES = ("data", "diagnostics", "likelihoods", "metrics", "models", "priors", "samplers")
_HOME = {
    "chain": "Event Execution from_arrays sample",
    "density": "from_log_density",
    "errors": "ChainWarning CorruptRun Diverged Interrupted UserError",
    "evaluate.learning_coefficient": "local_learning_coefficient",
    "expansion": "Expanded Rule collapse expand groups plan",
    "export": "FrozenPredictor",
    "posterior": "freeze_factors potential",
    "problem": "Problem",
    "run": "Run",
    "samplers": "adaptation as_optax ggmc hmc l2e psgld sgd sghmc sgld sgnht sgrhmc",
    "schedules": "constant cyclical",
    "tree": "by_path",
    "tuning.fit": "fit",
    "tuning.pilot": "pilot",
    "tuning.tune": "TuneOutcome tune",
    "tuning.warm_start": "warm_start",
    "types": "Sampler SamplerFacts StepInfo",
}
_ROOM_OF = {name: room for room, names in _HOME.items() for name in names.split()}

__all__ = [  # noqa: RUF022 - grouped by room, as above
    "data", "diagnostics", "likelihoods", "metrics", "models", "priors", "samplers",
    "Event", "Execution", "from_arrays", "sample",
    "from_log_density",
    "open",
    "ChainWarning", "CorruptRun", "Diverged", "Interrupted", "UserError",
    "local_learning_coefficient",
    "Expanded", "Rule", "collapse", "expand", "groups", "plan",
    "FrozenPredictor",
    "freeze_factors", "potential",
    "Problem",
    "Run",
    "adaptation", "as_optax", "ggmc", "hmc", "psgld", "sgd", "sghmc", "sgld", "sgnht", "sgrhmc",
    "l2e", "constant", "cyclical",
    "by_path",
    "fit",
    "pilot",
    "TuneOutcome", "tune",
    "warm_start",
    "Sampler", "SamplerFacts", "StepInfo",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _NAMESPACES:
        return importlib.import_module(f"pxsgmcmc.{name}")
    if name == "open":  # a builtin's name, so the function itself has another
        return importlib.import_module("pxsgmcmc.config.opening").open_any
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'pxsgmcmc' has no attribute {name!r}")
    return getattr(importlib.import_module(f"pxsgmcmc.{_ROOM_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
