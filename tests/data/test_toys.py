"""Toy problems against their formulas."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from pxsgmcmc.data._toys import (
    mixture25_draws,
    mixture25_energy,
    mixture25_log_density,
    mixture25_means,
    sinusoid,
    two_moons,
)
from pxsgmcmc.data.dataset import Dataset
from pxsgmcmc.errors import UserError


def test_the_mixture_is_that_of_25_scipy_normals():
    points = np.random.default_rng(0).uniform(-5, 5, (50, 2))
    parts = [stats.norm.pdf(points, m, 0.03**0.5).prod(axis=1) for m in mixture25_means()]
    density = np.mean(parts, axis=0)
    ours = np.exp(np.asarray(mixture25_log_density(jnp.asarray(points, jnp.float32)), float))
    np.testing.assert_allclose(ours, density, rtol=2e-3, atol=1e-9)  # float32 distances


def test_the_mixture_integrates_to_one():
    line = np.linspace(-6, 6, 601)
    grid = jnp.asarray(np.stack(np.meshgrid(line, line), axis=-1), jnp.float32)
    assert abs(float(jnp.exp(mixture25_log_density(grid)).sum()) * 0.02**2 - 1) < 1e-4


def test_the_barrier_between_neighbours_is_16_nats():
    top, bottom = jnp.array([1.0, 0.0]), jnp.zeros(2)
    barrier = float(mixture25_energy(top) - mixture25_energy(bottom))
    assert abs(barrier - (1 / 0.06 - np.log(2))) < 1e-4


def test_the_gradient_is_finite_far_away_and_under_jit_and_vmap():
    far = jnp.array([[100.0, -100.0], [0.0, 0.0]])
    gradients = jax.jit(jax.vmap(jax.grad(mixture25_energy)))(far)
    np.testing.assert_allclose(gradients, [[96 / 0.03, -96 / 0.03], [0, 0]], rtol=1e-4, atol=1e-3)


def test_draws_have_the_moments_and_occupancies_of_the_mixture(key):
    draws = np.asarray(mixture25_draws(key, 50_000), float)
    z = 5.0  # standard errors: a false alarm in about a million for each of 28 comparisons
    square = draws**2
    error = square.std() / np.sqrt(len(draws))
    assert (np.abs(square.mean(axis=0) - 8.03) < z * error).all()  # 8 from the means, 0.03 within
    gaps = ((draws[:, None] - mixture25_means()) ** 2).sum(axis=-1)
    occupancy = np.bincount(gaps.argmin(axis=1), minlength=25) / len(draws)
    assert (np.abs(occupancy - 0.04) < z * np.sqrt(0.04 * 0.96 / len(draws))).all()
    near = (gaps.min(axis=1) < 0.25**2).mean()
    assert abs(near - (1 - np.exp(-(0.25**2) / 0.06))) < z * np.sqrt(0.65 * 0.35 / len(draws))


def rows_of(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets of all splits together."""
    x, y = zip(*data.splits.values(), strict=True)
    return np.concatenate(x), np.concatenate(y)


def test_two_moons_lie_on_their_circles_up_to_noise():
    data = two_moons(count=2000, noise=0.05, seed=3)
    x, y = rows_of(data)
    assert x.dtype == np.float32 and y.dtype == np.int32
    centre = np.where(y[:, None] == 0, [0.0, 0.0], [1.0, 0.5])
    assert np.abs(np.linalg.norm(x - centre, axis=1) - 1).max() < 6 * 0.05
    assert (np.where(y == 0, x[:, 1], 0.5 - x[:, 1]) > -6 * 0.05).all()
    assert np.bincount(y).tolist() == [1000, 1000]


def test_the_sinusoid_is_a_sine_plus_noise_with_a_gap():
    data = sinusoid(count=5000, noise=0.2, seed=1)
    x, y = rows_of(data)
    noise = y - np.sin(2 * np.pi * x)
    assert abs(noise.std() / 0.2 - 1) < 5 / np.sqrt(2 * len(noise))  # five standard errors
    assert not ((x > -0.4) & (x < 0.2)).any() and x.min() >= -1 and x.max() <= 1


@pytest.mark.parametrize("make", [two_moons, sinusoid])
def test_a_seed_fixes_the_data_and_the_constants_fit_it(make):
    assert make(seed=4).sha256 == make(seed=4).sha256 != make(seed=5).sha256
    large = make(count=100_000)
    x = large.splits["train"].x
    np.testing.assert_allclose(x.mean(axis=0), large.mean, atol=0.01)
    np.testing.assert_allclose(x.std(axis=0), large.std, atol=0.01)


@pytest.mark.parametrize("make", [two_moons, sinusoid])
def test_names_the_bad_argument(make):
    for bad in ({"count": 3}, {"noise": -1.0}, {"seed": -1}):
        with pytest.raises(UserError, match=f"`{next(iter(bad))}`"):
            make(**bad)
