"""Expand and sample an Equinox module: a fully connected network for digits.

    python examples/expand_equinox.py

Needs the extras `equinox` and `data`.
"""

import equinox as eqx
import jax
import numpy as np

import pxsgmcmc as px
from pxsgmcmc.data import load

digits = load("digits")
train, test = (digits.splits[name] for name in ("train", "test"))
x, x_test = (np.float32(split.x.reshape(-1, 64)) / 127.5 - 1 for split in (train, test))

key = jax.random.key(0, impl="rbg")  # keys of this kind compile faster
network = eqx.nn.MLP(64, 10, width_size=32, depth=2, activation=jax.nn.swish, key=key)

# Arrays to one side, everything else (the activation, the widths) to the other.
params, rest = eqx.partition(network, eqx.is_inexact_array)


def apply(params, x):
    """Parameters and images to logits; an Equinox module takes one image at a time."""
    return jax.vmap(eqx.combine(params, rest))(x)


plan = px.plan(params)
print(plan)

problem = px.Problem(apply, px.likelihoods.categorical(), train=(x, train.y))
potential = px.potential(problem, prior=px.priors.normal(0.1))
friction = plan.groups(base=100.0, factors=1.0)
sampler = px.sghmc(potential, px.cyclical(2e-3, 150), friction=friction)

# The loop in your own hands: a draw at the end of every cycle of the step size.
step = jax.jit(sampler.step)
predict = jax.jit(lambda position: jax.nn.softmax(apply(px.collapse(position), x_test)))
key, state, draws = jax.random.key(1), sampler.init(px.expand(params, plan)), []
rng = np.random.default_rng(0)
for t in range(600):
    rows = rng.integers(len(x), size=100)
    state, info = step(jax.random.fold_in(key, t), state, (x[rows], train.y[rows]))
    if (t + 1) % 150 == 0:
        draws.append(np.asarray(predict(state.position)))

for name, p in {"a draw": draws[-1], "the mean of all": np.mean(draws, axis=0)}.items():
    print(f"test error of {name}: {np.mean(p.argmax(axis=1) != test.y):.3f}")
