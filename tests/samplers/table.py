"""All samplers. A new one joins the tests of the contract by one line in `SAMPLERS`."""

import functools

import jax.numpy as jnp
from chains import skeleton_builder
from l2e_networks import passing_weights

from pxsgmcmc.samplers import ggmc, hmc, l2e, psgld, sgd, sghmc, sgld, sgnht, sgrhmc

BATCH = jnp.array([0.5, -1.0, 2.0])


def ggmc_on_batch(potential, step_size, **options):
    full = {"full_potential": lambda q: potential(q, BATCH)}
    return ggmc(potential, step_size, **full, friction=2.0, window=2, **options)


SAMPLERS = {
    "sgld": sgld,
    "psgld": psgld,
    "sghmc": functools.partial(sghmc, friction=2.0),
    "sgnht": functools.partial(sgnht, friction=2.0),
    "symmetric sgnht": functools.partial(sgnht, friction=2.0, integrator="symmetric"),
    "sgrhmc": functools.partial(sgrhmc, friction=2.0),
    "hmc": functools.partial(hmc, leapfrog_steps=3),
    "ggmc": ggmc_on_batch,
    "l2e": functools.partial(l2e, data_size=10, weights=passing_weights(1000.0)),
    "sgd": lambda potential, step_size, temperature=0.0: sgd(potential, step_size, momentum=0.9),
    "skeleton": skeleton_builder(),
}
WITHOUT_NOISE = {"sgd"}

WITH_FRICTION = {"sghmc": sghmc, "sgnht": sgnht, "sgrhmc": sgrhmc, "ggmc": ggmc}
WITH_FRICTION["l2e"] = SAMPLERS["l2e"]
WITH_NOISE = ["sgld", "psgld", "sghmc", "sgnht", "sgrhmc"]
WITH_MASS = ["sgld", "psgld", "sghmc", "sgnht", "symmetric sgnht", "sgrhmc", "hmc", "ggmc"]
GROUPED = {"base": {"w": jnp.ones(3), "b": jnp.ones(2)}, "factors": jnp.ones(4)}
