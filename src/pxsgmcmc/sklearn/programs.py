"""Programs of estimators, kept for the next fit of the same shapes."""

import functools
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from pxsgmcmc import priors
from pxsgmcmc.errors import check_number
from pxsgmcmc.likelihoods.likelihood import Likelihood
from pxsgmcmc.problem import Problem
from pxsgmcmc.sklearn.networks import Network, Same
from pxsgmcmc.tuning.engine.programs import Program, Spec, make_program, quick_options

KEPT = 64  # programs


@dataclass(frozen=True)
class EstimatorModel:
    """A network and a likelihood for data of one shape; two fits with equal ones share programs.

    Attributes:
      network: compared by its key.
      likelihood: on the scale of the network.
      features: columns of the inputs.
      targets: classes or targets.
    """

    network: Network
    likelihood: Likelihood
    features: int
    targets: int

    def problem(self) -> Problem:
        """On two rows that nobody looks at: data are arguments of what is compiled."""
        classes = self.likelihood.task == "classification"
        y = np.arange(2) if classes else np.zeros((2, self.targets), np.float32)
        return Problem(
            self.network.apply,
            self.likelihood,
            train=(np.zeros((2, self.features), np.float32), y),
            names=tuple(map(str, range(self.targets))),
        )


@functools.lru_cache(maxsize=KEPT)
def program_for(model: EstimatorModel, spec: Spec, prior: Any) -> Program:
    """The program of a model, made once; `prior` is a key for what was given as `prior=`."""
    return make_program(model.problem(), replace(spec, prior=prior_of(prior)))


@functools.lru_cache(maxsize=KEPT)
def forward_for(model: EstimatorModel) -> Any:
    """(stacked parameters of all draws, inputs) -> (draws, rows, numbers), compiled by size."""
    forward = jax.vmap(model.problem().distribution, (0, None))
    return jax.jit(forward, compiler_options=quick_options())


def prior_of(prior: Any) -> priors.Prior | None:
    """What was given as `prior=`; None for the default one."""
    prior = prior.thing if isinstance(prior, Same) else prior
    if prior is None:
        return None
    if isinstance(prior, int | float) and not isinstance(prior, bool):
        return priors.normal(check_number("prior", prior, above=0.0))
    return priors.as_prior(prior, "prior")
