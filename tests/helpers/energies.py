"""Energies of the usual likelihoods on batches that are given by hand, without a problem's data."""

import pxsgmcmc as px


def classification(apply, **settings):
    """A softmax classifier on batches (inputs, labels)."""
    likelihood = px.likelihoods.categorical()

    def log_likelihood(params, batch):
        x, y = batch
        outputs = apply(params, x)
        return likelihood.log_prob(likelihood.distribution(outputs, {}, outputs.shape[1]), y)

    return px.potential(log_likelihood, **settings)


def regression(apply, *, noise, **settings):
    """Numbers with normal noise of a known standard deviation on batches (inputs, targets)."""
    likelihood = px.likelihoods.gaussian(noise)

    def log_likelihood(params, batch):
        x, y = batch
        outputs = apply(params, x)
        targets = 1 if outputs.ndim == 1 else outputs.shape[1]
        return likelihood.log_prob(likelihood.distribution(outputs, {}, targets), y)

    return px.potential(log_likelihood, **settings)
