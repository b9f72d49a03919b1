"""Expand and sample a Flax Linen module: a small convolutional network for digits.

    python examples/expand_linen.py

Needs the extras `flax` and `data`.
"""

import flax.linen as nn
import jax
import numpy as np

import pxsgmcmc as px
from pxsgmcmc.data import load

digits = load("digits")
train, test = (digits.splits[name] for name in ("train", "test"))
x, x_test = (np.float32(split.x) / 127.5 - 1 for split in (train, test))


class Network(nn.Module):
    """Two convolutions with a norm between them, a dense layer over all pixels."""

    @nn.compact
    def __call__(self, x):
        """(batch, 8, 8, 1) -> (batch, 10)."""
        x = nn.Conv(8, (3, 3))(x)
        x = nn.swish(nn.GroupNorm(num_groups=4)(x))
        x = nn.swish(nn.Conv(16, (3, 3), strides=2)(x))
        return nn.Dense(10)(x.reshape(len(x), -1))


network = Network()
# Keys of the kind "rbg" do as well here and compile faster.
params = jax.jit(network.init)(jax.random.key(0, impl="rbg"), x[:1])["params"]


def apply(params, x):
    """Parameters and images to logits."""
    return network.apply({"params": params}, x)


# The head takes a flattened image, 4 x 4 x 16 = 256 wide: a full factor there would have 65,536
# numbers, one of rank 4 has 2,304.
plan = px.plan(params, layers={"Dense_0": {"rank": 4}})
print(plan)

problem = px.Problem(apply, px.likelihoods.categorical(), train=(x, train.y))
potential = px.potential(problem, prior=px.priors.normal(0.1))
friction = plan.groups(base=100.0, factors=1.0)
sampler = px.sghmc(potential, px.cyclical(2e-3, 150), friction=friction)

# The loop in your own hands: a draw at the end of every cycle of the step size.
step = jax.jit(sampler.step)
predict = jax.jit(lambda position: jax.nn.softmax(apply(px.collapse(position), x_test)))
key, state, draws = jax.random.key(1), sampler.init(px.expand(params, plan, jax.random.key(2))), []
rng = np.random.default_rng(0)
for t in range(600):
    rows = rng.integers(len(x), size=100)
    state, info = step(jax.random.fold_in(key, t), state, (x[rows], train.y[rows]))
    if (t + 1) % 150 == 0:
        draws.append(np.asarray(predict(state.position)))

for name, p in {"a draw": draws[-1], "the mean of all": np.mean(draws, axis=0)}.items():
    print(f"test error of {name}: {np.mean(p.argmax(axis=1) != test.y):.3f}")
