"""Expand and sample a network written in plain JAX: a list of (weights, bias) pairs.

    python examples/expand_plain.py

Needs the extra `data` for its images.
"""

import jax
import jax.numpy as jnp
import numpy as np

import pxsgmcmc as px
from pxsgmcmc.data import load

digits = load("digits")
train, test = (digits.splits[name] for name in ("train", "test"))
x, x_test = (np.float32(split.x.reshape(-1, 64)) / 127.5 - 1 for split in (train, test))

# The model: parameters, and a function from them and inputs to logits.
rng = np.random.default_rng(0)
params = [
    (jnp.asarray(rng.normal(0, inputs**-0.5, (inputs, outputs)), float), jnp.zeros(outputs))
    for inputs, outputs in ((64, 32), (32, 32), (32, 10))
]


def apply(params, x):
    """(batch, 64) -> (batch, 10)."""
    *hidden, (weights, bias) = params
    for inner_weights, inner_bias in hidden:
        x = jax.nn.relu(x @ inner_weights + inner_bias)
    return x @ weights + bias


# Parameters are called after their place, "0/0" and "0/1" the first weights and bias. No preset
# knows such names, so two rules say which of their axes are input and output channels.
plan = px.plan(params, rules=[px.Rule("*/0", into=0, out=1), px.Rule("*/1", out=0)])
print(plan)

problem = px.Problem(apply, px.likelihoods.categorical(), train=(x, train.y))
potential = px.potential(problem, prior=px.priors.normal(0.1))
friction = plan.groups(base=100.0, factors=1.0)
sampler = px.sghmc(potential, px.cyclical(2e-3, 150), friction=friction)

# The loop in your own hands: a draw at the end of every cycle of the step size.
step = jax.jit(sampler.step)
predict = jax.jit(lambda position: jax.nn.softmax(apply(px.collapse(position), x_test)))
key, state, draws = jax.random.key(1), sampler.init(px.expand(params, plan)), []
for t in range(600):
    rows = rng.integers(len(x), size=100)
    state, info = step(jax.random.fold_in(key, t), state, (x[rows], train.y[rows]))
    if (t + 1) % 150 == 0:
        draws.append(np.asarray(predict(state.position)))

for name, p in {"a draw": draws[-1], "the mean of all": np.mean(draws, axis=0)}.items():
    print(f"test error of {name}: {np.mean(p.argmax(axis=1) != test.y):.3f}")
