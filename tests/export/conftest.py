"""One small run of classes and one of numbers, made once."""

import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from tests.helpers.small_runs import two_chains

RNG = np.random.default_rng(5)


@pytest.fixture(scope="session")
def classes_folder(tmp_path_factory):
    """Two chains of three draws of a small network on digits, in a run directory."""
    return two_chains(tmp_path_factory.mktemp("export") / "run", 3)


@pytest.fixture(scope="session")
def classes(classes_folder):
    return px.open(classes_folder)


@pytest.fixture(scope="session")
def numbers():
    """A regression whose inputs are prepared and whose targets have units, in memory."""
    x = (100.0 + 10.0 * RNG.normal(size=(60, 3))).astype(np.float32)
    y = 500.0 + 20.0 * x[:, :2] + RNG.normal(size=(60, 2))

    def apply(params, x):
        return jnp.tanh(x @ params["in"]) @ params["out"]

    problem = px.Problem(
        apply,
        px.likelihoods.student_t(0.3, freedom=5.0, units=(y.mean(0), y.std(0))),
        train=(x[:40], y[:40]),
        test=(x[40:], y[40:]),
        transform=lambda x: (x - 100.0) / 10.0,
    )
    params = {"in": RNG.normal(size=(3, 8)), "out": RNG.normal(size=(8, 2)) / 3}
    params = {name: jnp.asarray(value, jnp.float32) for name, value in params.items()}
    sampler = px.sghmc(px.potential(problem), 1e-3, friction=10.0)
    return px.sample(
        sampler, params, problem, draws=6, cycle_length=20, batch_size=20, progress=False
    )
