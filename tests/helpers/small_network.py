"""A small network, its data, and a position away from the start, in NumPy's float64."""

import jax
import jax.numpy as jnp
import numpy as np

import pxsgmcmc as px

SIZES = {"a": (4, 6), "b": (6, 3)}
RNG = np.random.default_rng(11)
PARAMS = {
    name: {"kernel": RNG.normal(size=shape), "bias": RNG.normal(size=shape[1])}
    for name, shape in SIZES.items()
}
X = RNG.normal(size=(24, 4))
LABELS = RNG.integers(0, 3, 24)
TARGETS = RNG.normal(size=(24, 3))


def apply(params, x):
    hidden = jnp.tanh(x @ params["a"]["kernel"] + params["a"]["bias"][None])
    return hidden @ params["b"]["kernel"] + params["b"]["bias"][None]


def random_position(params=None, *, seed=0, dtype=None, **settings):
    """An expanded position with everything drawn at random."""
    params = PARAMS if params is None else params
    start = px.expand(params, px.plan(params, **settings), jax.random.key(seed))
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda x: rng.normal(size=x.shape).astype(dtype or x.dtype), start)


def on_weights(variance, *, temperature=1.0):
    """A normal prior on the collapsed weights."""
    return px.priors.on_weights(px.priors.normal(variance), temperature=temperature)
