"""Expand and sample a Flax NNX module: attention between the rows of an image.

    python examples/expand_nnx.py

Needs the extras `flax` and `data`.
"""

import jax
import numpy as np
from flax import nnx

import pxsgmcmc as px
from pxsgmcmc.data import load

digits = load("digits")
train, test = (digits.splits[name] for name in ("train", "test"))
x, x_test = (np.float32(split.x[..., 0]) / 127.5 - 1 for split in (train, test))


class Network(nnx.Module):
    """The rows of the image, one round of attention between them, a dense layer over all."""

    def __init__(self, rngs):
        self.rows = nnx.Linear(8, 16, rngs=rngs)
        self.norm = nnx.LayerNorm(16, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(4, 16, decode=False, rngs=rngs)
        self.head = nnx.Linear(8 * 16, 10, rngs=rngs)

    def __call__(self, x):
        """(batch, 8, 8) -> (batch, 10)."""
        x = self.rows(x)  # (batch, rows, width)
        x = nnx.swish(x + self.attention(self.norm(x)))
        return self.head(x.reshape(len(x), 8 * 16))


# A module holds its parameters; `split` takes them out, `merge` puts others in their place.
# (Keys of the kind "rbg" do as well here and compile faster.)
graph, params = nnx.split(Network(nnx.Rngs(jax.random.key(0, impl="rbg"))))


def apply(params, x):
    """Parameters and images to logits."""
    return nnx.merge(graph, params)(x)


plan = px.plan(params, input_layer="rows", logits_layer="head")
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
