"""Yes or no, from one logit: p(1 | x) = 1 / (1 + exp(-z))."""

from pxsgmcmc.likelihoods.categorical import Categorical


def bernoulli() -> Categorical:
    """Two classes from one logit, that of class 1.

    The network gives (batch,) or (batch, 1). What is predicted are the probabilities of both
    classes, and all metrics are those of two classes.

    Example:
      >>> import jax.numpy as jnp
      >>> likelihood = bernoulli()
      >>> logits = likelihood.distribution(jnp.zeros((1, 1)), {}, 2)
      >>> round(float(likelihood.log_prob(logits, jnp.ones(1, int))[0]), 4)
      -0.6931
    """
    return Categorical(one_logit=True)
