"""Small sampling problems that compile in a moment, and how to run them."""

import jax
import jax.numpy as jnp
import numpy as np

import pxsgmcmc as px
from tests.helpers.energies import regression

DATA_SIZE = 48
rows = np.random.default_rng(0)
INPUTS = rows.normal(size=(DATA_SIZE, 3)).astype(np.float32)
TARGETS = (INPUTS @ np.array([1.0, -2.0, 0.5]) + rows.normal(size=DATA_SIZE)).astype(np.float32)
DATA = (INPUTS, TARGETS)
PARAMS = {"a": {"kernel": jnp.eye(3, 4)}, "b": {"kernel": jnp.ones((4, 1))}}
PLAN = px.plan(PARAMS)
POSITION = px.expand(PARAMS, PLAN)


def apply(params, x):
    return (jnp.tanh(x @ params["a"]["kernel"]) @ params["b"]["kernel"])[:, 0]


U = regression(apply, noise=1.0, data_size=DATA_SIZE)


def scaled(scale, step_size):
    return lambda step: scale * px.cyclical(step_size, 10)(step)


SAMPLERS = {
    "sgld": lambda s: px.sgld(U, scaled(s, 1e-3)),
    "psgld": lambda s: px.psgld(U, scaled(s, 1e-3)),
    "sghmc": lambda s: px.sghmc(U, scaled(s, 1e-2), friction=10.0),
    "px_sghmc": lambda s: px.sghmc(
        U, scaled(s, 1e-2), friction=PLAN.groups(base=10.0, factors=1.0)
    ),
    "sgnht": lambda s: px.sgnht(U, scaled(s, 1e-2), friction=PLAN.groups(base=10.0, factors=1.0)),
    "sgrhmc": lambda s: px.sgrhmc(U, scaled(s, 1e-2), friction=10.0),
    "ggmc": lambda s: px.ggmc(
        U,
        scaled(s, 1e-2),
        full_potential=U.on_all((jnp.asarray(INPUTS), jnp.asarray(TARGETS))),
        friction=10.0,
        window=5,
    ),
    "sgd": lambda s: px.sgd(U, scaled(s, 1e-4), momentum=0.9),
}


def start_of(name):
    return POSITION if name in ("px_sghmc", "sgnht") else PARAMS


PROBLEM = px.Problem(apply, px.likelihoods.gaussian(1.0), train=DATA)


def diverges(scale):
    return px.sghmc(U, lambda step: scale * px.constant(5.0)(step), friction=0.0)


SETTINGS = {"draws": 3, "cycle_length": 10, "batch_size": 7, "seed": 5, "progress": False}
EXECUTION = set(px.Execution._fields)


def settings(**changes):
    """The settings of `sample`, those of its execution where they belong."""
    execution = {name: changes.pop(name) for name in set(changes) & EXECUTION}
    return SETTINGS | changes | {"execution": px.Execution(**execution)}


def run(name="px_sghmc", data=DATA, **changes):
    return px.sample(SAMPLERS[name], start_of(name), data, **settings(**changes))


def same(a, b):
    """Whether two chains have the same draws, bit for bit."""
    return len(a) == len(b) and all(
        np.array_equal(x, y)
        for p, q in zip(a, b, strict=True)
        for x, y in zip(jax.tree.leaves(p), jax.tree.leaves(q), strict=True)
    )
