"""What differs between tasks: how likely targets are, how draws are averaged, what is measured."""

from pxsgmcmc.likelihoods.bernoulli import bernoulli
from pxsgmcmc.likelihoods.categorical import categorical
from pxsgmcmc.likelihoods.custom import custom
from pxsgmcmc.likelihoods.gaussian import gaussian
from pxsgmcmc.likelihoods.likelihood import Likelihood
from pxsgmcmc.likelihoods.poisson import poisson
from pxsgmcmc.likelihoods.student_t import student_t

__all__ = [
    "Likelihood",
    "bernoulli",
    "categorical",
    "custom",
    "gaussian",
    "poisson",
    "student_t",
]
