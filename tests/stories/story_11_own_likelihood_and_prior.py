import jax
import jax.numpy as jnp
import numpy as np

import pxsgmcmc as px

rng = np.random.default_rng(0)
x = rng.normal(size=(300, 3))
y = x @ [1.0, -2.0, 0.5] + rng.laplace(size=len(x))


def absolute_error(outputs, y):  # Laplace noise of scale 1
    return -jnp.abs(outputs[:, 0] - y) - jnp.log(2.0)


def sparse(params):  # minus a log density, up to a constant
    return sum(jnp.sum(jnp.sqrt(leaf**2 + 1e-4)) for leaf in jax.tree.leaves(params))


problem = px.Problem(
    lambda w, x: x @ w[:, None],
    px.likelihoods.custom(absolute_error, name="laplace"),
    train=(x[:200], y[:200]),
    test=(x[200:], y[200:]),
)
potential = px.potential(problem, prior=sparse)
run = px.sample(px.sghmc(potential, px.cyclical(1e-2, 100), friction=10.0), jnp.zeros(3), problem,
                draws=40, cycle_length=100, burn_in=1000, batch_size=200)  # fmt: skip
weights = np.mean(list(run), axis=0)
results = run.evaluate()
