"""The parts of an energy, mini-batches, differences, and all the data in chunks."""

import jax
import numpy as np
import pytest
import scipy.special

import pxsgmcmc as px
from pxsgmcmc.priors import OnWeights
from tests.helpers.closeness import assert_close
from tests.helpers.energies import classification
from tests.helpers.quick_jit import quick_jit
from tests.helpers.small_network import LABELS, PARAMS, X, apply, on_weights, random_position

pytestmark = pytest.mark.usefixtures("in_float64")
DATA = (X, LABELS)


def energy(**settings):
    return classification(apply, data_size=len(X), prior=px.priors.normal(0.3), **settings)


@pytest.mark.parametrize(
    ("prior", "factor_prior"),
    [
        (px.priors.normal(0.3), px.priors.normal(0.5)),
        (px.priors.normal(0.3), None),
        (on_weights(0.3, temperature=0.4), px.priors.normal(0.1, at="identity")),
    ],
)
def test_each_part_is_what_it_is_called_and_they_add_up_to_the_energy(prior, factor_prior):
    U = classification(apply, data_size=100, prior=prior, factor_prior=factor_prior)
    position = random_position(out=2, into=1)
    parts = quick_jit(U.parts)(position, DATA)

    weights = jax.tree.map(np.asarray, px.collapse(position))
    hidden = np.tanh(X @ weights["a"]["kernel"] + weights["a"]["bias"])
    log_p = scipy.special.log_softmax(hidden @ weights["b"]["kernel"] + weights["b"]["bias"], 1)
    fit = -100 * np.mean(log_p[np.arange(len(X)), LABELS])
    assert float(parts.likelihood) == pytest.approx(fit, rel=1e-12)

    stands_on_weights = isinstance(prior, OnWeights)
    tree = weights if stands_on_weights else position.base
    energy = sum(np.sum(np.square(leaf)) for leaf in jax.tree.leaves(tree)) / (2 * 0.3)
    if stands_on_weights:  # a factor counts once for each column that it multiplies
        out, into = position.factors["a"].out, position.factors["b"].into
        columns = [(P, X.shape[1] + 1) for P in out] + [(Q, log_p.shape[1]) for Q in into]
        energy -= 0.4 * sum(count * np.linalg.slogdet(factor)[1] for factor, count in columns)
    assert float(parts.prior) == pytest.approx(energy, rel=1e-12)

    of_factors = 0.0
    if factor_prior is not None:
        for factor in jax.tree.leaves(position.factors):
            centre = np.eye(len(factor)) if factor_prior.at == "identity" else 0.0
            of_factors += np.sum(np.square(factor - centre)) / (2 * factor_prior.variance)
    assert float(parts.factor_prior) == pytest.approx(of_factors, rel=1e-12)

    total = float(quick_jit(U)(position, DATA))
    assert total == pytest.approx(fit + energy + of_factors, rel=1e-12)


def test_a_plain_position_has_no_factor_prior():
    parts = energy().parts(PARAMS, DATA)
    assert float(parts.factor_prior) == 0.0
    squares = sum(np.sum(leaf**2) for leaf in jax.tree.leaves(PARAMS))
    assert float(parts.prior) == pytest.approx(squares / 0.6)


def test_the_average_over_the_batches_of_an_epoch_is_the_energy_on_all_data():
    U, position = energy(), random_position()
    order = np.random.default_rng(0).permutation(len(X))
    on_batch = quick_jit(U)
    batches = [on_batch(position, (X[rows], LABELS[rows])) for rows in order.reshape(6, 4)]
    assert np.ptp(batches) > 0.1  # they do differ
    assert float(np.mean(batches)) == pytest.approx(float(U(position, DATA)), rel=1e-13)


def test_the_average_gradient_over_an_epoch_is_the_gradient_on_all_data():
    U, position = energy(), random_position()
    gradient = quick_jit(jax.grad(U))
    order = np.random.default_rng(0).permutation(len(X)).reshape(3, 8)
    each = [gradient(position, (X[rows], LABELS[rows])) for rows in order]
    mean = jax.tree.map(lambda *g: sum(g) / 3, *each)
    for a, b in zip(jax.tree.leaves(mean), jax.tree.leaves(gradient(position, DATA)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_the_energy_is_in_full_data_units():
    small, large = (
        classification(apply, data_size=n, prior=px.priors.normal(0.3)) for n in (24, 240)
    )
    parts = [U.parts(PARAMS, DATA) for U in (small, large)]
    assert float(parts[1].likelihood) == pytest.approx(10 * float(parts[0].likelihood))
    assert float(parts[1].prior) == float(parts[0].prior)


@pytest.mark.parametrize(
    ("prior", "at", "rank"),
    [
        (px.priors.normal(0.3), "zero", 2),
        (px.priors.normal(0.3), "identity", None),
        (on_weights(0.3), "zero", None),
    ],
)
def test_the_difference_is_that_of_the_totals(prior, at, rank):
    U = classification(apply, data_size=100, prior=prior, factor_prior=px.priors.normal(0.2, at=at))
    new, old = random_position(seed=1, rank=rank), random_position(seed=2, rank=rank)
    total, difference = quick_jit(U), quick_jit(U.difference)
    expected = float(total(new, DATA) - total(old, DATA))
    assert float(difference(new, old, DATA)) == pytest.approx(expected, rel=1e-11)
    assert float(difference(old, old, DATA)) == 0.0


def test_in_float32_the_difference_keeps_digits_that_totals_lose():
    """Two close positions of a large energy: totals near 1e7, their difference near 1."""
    n = 2_000
    rng = np.random.default_rng(3)
    old = rng.normal(size=n).astype(np.float32) * np.float32(10.0)
    new = (old + rng.normal(size=n) * 1e-5).astype(np.float32)
    data = rng.normal(size=(50, 1)).astype(np.float32)

    def log_likelihood(q, batch):
        return -0.5 * (batch[:, 0] - q[0]) ** 2

    with jax.enable_x64(False):
        U = px.potential(log_likelihood, data_size=5_000, prior=px.priors.normal(0.01))
        by_parts = float(U.difference(new, old, data))
        by_totals = float(U(new, data) - U(old, data))
    wide_new, wide_old = new.astype(np.float64), old.astype(np.float64)
    fit = 0.5 * ((data - wide_new[0]) ** 2 - (data - wide_old[0]) ** 2)
    exact = 5_000 * np.mean(fit) + np.sum((wide_new - wide_old) * (wide_new + wide_old)) / 0.02
    assert 0.1 < abs(exact) < 1_000
    assert abs(by_parts - exact) < 1e-4 * abs(exact)
    assert abs(by_totals - exact) > 100 * abs(by_parts - exact)


@pytest.mark.parametrize("chunk_size", [1, 5, None])
def test_all_data_in_chunks_is_all_data_at_once_and_so_is_its_gradient(chunk_size):
    U, position = energy(), random_position()
    in_chunks = U.on_all(DATA, chunk_size=chunk_size)
    value, gradient = quick_jit(jax.value_and_grad(in_chunks))(position)
    expected, expected_gradient = quick_jit(jax.value_and_grad(U))(position, DATA)
    assert float(value) == pytest.approx(float(expected), rel=1e-13)
    for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(expected_gradient), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("chunk_size", [5, None])
def test_the_difference_on_all_data_in_chunks_is_that_of_the_totals(chunk_size):
    U = classification(apply, data_size=240, prior=px.priors.normal(0.3))
    in_chunks = U.on_all(DATA, chunk_size=chunk_size)
    new, old = random_position(seed=1), random_position(seed=2)
    expected = float(in_chunks(new) - in_chunks(old))
    assert abs(expected) > 1.0
    assert float(quick_jit(in_chunks.difference)(new, old)) == pytest.approx(expected, rel=1e-11)
    assert float(in_chunks.difference(old, old)) == 0.0


def test_all_data_may_be_fewer_than_the_data_size():
    U = classification(apply, data_size=240, prior=px.priors.normal(0.3))
    assert float(U.on_all(DATA, chunk_size=7)(PARAMS)) == pytest.approx(float(U(PARAMS, DATA)))


def test_frozen_factors_have_the_same_energy_and_no_gradient():
    U, position = energy(), random_position()
    frozen = px.freeze_factors(U)
    assert float(frozen(position, DATA)) == float(U(position, DATA))
    gradient, full = (quick_jit(jax.grad(f))(position, DATA) for f in (frozen, U))
    assert all(np.all(np.asarray(g) == 0.0) for g in jax.tree.leaves(gradient.factors))
    for a, b in zip(jax.tree.leaves(gradient.base), jax.tree.leaves(full.base), strict=True):
        assert_close(a, b, terms=24 * 8, scale=24.0, dtype=float)  # 24 rows, 8 products each
    assert float(frozen(PARAMS, DATA)) == float(U(PARAMS, DATA))
