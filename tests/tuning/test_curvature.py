"""Curvatures against exact Hessians of small networks, whatever their gradient is made of."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import pxsgmcmc as px
from pxsgmcmc.chain.groups import by_group
from pxsgmcmc.tuning import measure
from pxsgmcmc.tuning.curvature import lanczos
from pxsgmcmc.tuning.gradient_noise import gradient_noise
from pxsgmcmc.tuning.pilot import pilot
from tests.helpers.small_network import LABELS, PARAMS, X, apply

FLOATS = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), PARAMS)
ROWS = (X.astype(np.float32), LABELS)


@jax.custom_vjp
def hand_written_tanh(x):
    return jnp.tanh(x)


hand_written_tanh.defvjp(
    lambda x: (jnp.tanh(x), jnp.tanh(x)), lambda y, given: (given * (1.0 - y**2),)
)


def hand_written_apply(params, x):
    hidden = hand_written_tanh(x @ params["a"]["kernel"] + params["a"]["bias"][None])
    return hidden @ params["b"]["kernel"] + params["b"]["bias"][None]


def energy_of(network):
    problem = px.Problem(network, px.likelihoods.categorical(), train=ROWS)
    return px.potential(problem, prior=px.priors.normal(0.2))


@functools.cache
def exact_hessian(kind):
    """Of the energy on all rows, by forward over reverse, with plain tanh, and the group sizes."""
    U, position = energy_of(apply), positions()[kind]
    flat, tree = ravel_pytree(position)
    batch = jax.tree.map(jnp.asarray, ROWS)
    H = jax.jit(jax.hessian(lambda q: U(tree(q), batch)))(flat)
    sizes = {k: sum(x.size for x in jax.tree.leaves(v)) for k, v in by_group(position).items()}
    return np.asarray(H, float), sizes


def positions():
    plan = px.plan(FLOATS, out=1, into=1, logits_layer="b", expand_logits=True)
    rng = np.random.default_rng(3)
    expanded = jax.tree.map(
        lambda x: x + 0.1 * rng.normal(size=x.shape).astype(np.float32), px.expand(FLOATS, plan)
    )
    return {"plain": FLOATS, "expanded": expanded}


@pytest.mark.parametrize("network", [apply, hand_written_apply], ids=["plain", "by hand"])
@pytest.mark.parametrize("kind", ["plain", "expanded"])
@pytest.mark.parametrize("small", [0, 64], ids=["by Lanczos", "whole"])
def test_largest_curvatures_are_those_of_the_exact_hessian_to_a_percent(
    kind, network, small, monkeypatch
):
    monkeypatch.setattr(measure, "SMALL", small)
    position = positions()[kind]
    H, sizes = exact_hessian(kind)
    found = pilot(energy_of(network), position, batch_size=8, settle=0, per_layer=True).measurement
    assert found.largest == pytest.approx(np.linalg.eigvalsh(H)[-1], rel=0.01)
    assert found.error < 0.05
    start = 0
    for name, size in sizes.items():
        block = H[start : start + size, start : start + size]
        assert found.terrain[name].size == size
        assert found.terrain[name].stiffest == pytest.approx(
            np.linalg.eigvalsh(block)[-1], rel=0.01
        )
        start += size
    if kind == "plain":  # "a" has 30 coordinates and comes first
        tops = {"a": np.linalg.eigvalsh(H[:30, :30])[-1], "b": np.linalg.eigvalsh(H[30:, 30:])[-1]}
        assert found.layers == pytest.approx(tops, rel=0.01)


def test_the_spectrum_of_a_vector_has_the_exact_means_of_polynomials():
    rng = np.random.default_rng(0)
    H = rng.normal(size=(80, 80))
    H = H @ H.T / 80
    v = rng.normal(size=80)
    found = lanczos(lambda x: H @ x, v, steps=6).spectrum
    u = v / np.linalg.norm(v)
    for power in range(1, 12):
        exact = u @ np.linalg.matrix_power(H, power) @ u
        assert found.mean(found.curvatures**power) == pytest.approx(exact, rel=1e-9)


def test_lanczos_stops_when_nothing_is_left():
    found = lanczos(lambda v: 3.0 * v, np.ones(10), steps=5)
    assert found.largest == pytest.approx(3.0)
    assert len(found.spectrum.curvatures) == 1
    assert lanczos(lambda v: 0.0 * v, np.ones(4), steps=3).largest == 0.0


def test_a_prior_shows_its_curvature_and_is_the_softest_of_a_flat_likelihood():
    found = pilot(energy_of(apply), FLOATS, batch_size=8, settle=0).measurement
    assert found.scales["base"].prior == pytest.approx(5.0, rel=1e-3)
    assert found.terrain["base"].softest >= 4.99


@pytest.mark.parametrize(("rows", "batch"), [(12, 3), (12, 6), (12, 8), (10, 4)])
def test_gradient_noise_has_the_variance_of_batches_without_replacement(rows, batch):
    values = np.random.default_rng(1).normal(size=(rows, 400))
    exact = rows**2 * values.var(axis=0, ddof=1).mean() / batch * (1 - batch / rows)
    found = gradient_noise(
        lambda index: rows * values[index].mean(axis=0),
        data_size=rows,
        batch_size=batch,
        count=300,
        rng=np.random.default_rng(2),
    )
    # 400 coordinates share the rows of 300 batches or so: the standard error is below 1 percent.
    assert found.variance(slice(None)) == pytest.approx(exact, rel=0.05)
    whole = gradient_noise(
        lambda index: values[index].sum(axis=0),
        data_size=rows,
        batch_size=rows,
        count=3,
        rng=np.random.default_rng(2),
    )
    assert whole.variance(slice(None)) == 0.0
