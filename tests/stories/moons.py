"""What several stories begin with: two moons, a network for them, where it starts."""

import jax
import jax.numpy as jnp

import pxsgmcmc as px

moons = px.data.load("two-moons")


def init(key):
    first, last = jax.random.split(key)
    return {
        "hidden": {"kernel": jax.random.normal(first, (2, 16)), "bias": jnp.zeros(16)},
        "logits": {"kernel": jax.random.normal(last, (16, 2)) / 4, "bias": jnp.zeros(2)},
    }


def apply(params, x):
    hidden = jnp.tanh(x @ params["hidden"]["kernel"] + params["hidden"]["bias"])
    return hidden @ params["logits"]["kernel"] + params["logits"]["bias"]


def make_problem():
    likelihood = px.likelihoods.categorical()
    return px.Problem(
        apply, likelihood, moons.splits["train"], test=moons.splits["test"], init=init
    )
