import jax
import jax.numpy as jnp
import numpy as np

import pxsgmcmc as px

rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, 80)
x = x[(x < -0.2) | (x > 0.3)][:, None]  # nothing is known in between
y = np.sin(4 * x) + 0.1 * rng.normal(size=x.shape)

keys = jax.random.split(jax.random.key(0))
params = {
    "hidden": {"kernel": jax.random.normal(keys[0], (1, 30)) * 3, "bias": jnp.zeros(30)},
    "out": {"kernel": jax.random.normal(keys[1], (30, 1)) / 6, "bias": jnp.zeros(1)},
}


def apply(params, x):
    hidden = jnp.tanh(x @ params["hidden"]["kernel"] + params["hidden"]["bias"])
    return hidden @ params["out"]["kernel"] + params["out"]["bias"]


problem = px.Problem(apply, px.likelihoods.gaussian(noise=0.1), train=(x, y))
sampler = px.sghmc(px.potential(problem), px.cyclical(4e-3, 250), friction=20.0)
run = px.sample(sampler, params, problem, draws=40, cycle_length=250, burn_in=20000,
                batch_size=len(x))  # fmt: skip
grid = np.linspace(-1, 1, 101)[:, None]
bands = run.predict(grid)
low, high = bands.interval(0.9)
