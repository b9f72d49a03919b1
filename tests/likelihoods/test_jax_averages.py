"""What a frozen predictor computes in float32 is what predictions have in float64."""

import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from tests.helpers.closeness import assert_close
from tests.helpers.quick_jit import long_jit

DRAWS, ROWS = 12, 40
LEVELS = (0.001, 0.05, 0.5, 0.9, 0.999)
RNG = np.random.default_rng(3)
# The location is far from zero, as targets in their own units are.
LOCATIONS = np.concatenate(
    [RNG.normal(50.0, 3.0, (DRAWS, ROWS, 2)), RNG.normal(0.5, 0.2, (DRAWS, ROWS, 2))], axis=2
).astype(np.float32)


def both(likelihood, distributions):
    collector = likelihood.collector(distributions.shape[1])
    for draw in distributions:
        collector.add(slice(0, len(draw)), draw)
    found = long_jit(lambda d: likelihood.average(d, LEVELS))(jnp.asarray(distributions))
    return found, collector.finish(len(distributions))


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])  # draws that agree, that differ, that are sure
def test_classes(scale):
    logits = (scale * RNG.normal(size=(DRAWS, ROWS, 5))).astype(np.float32)
    found, expected = both(px.likelihoods.categorical(), logits)
    for name in ("probabilities", "entropy", "aleatoric", "epistemic"):
        # A logit of size z is rounded by z eps before it is an exponent.
        assert_close(found[name], getattr(expected, name), terms=16, scale=max(1.0, scale))


@pytest.mark.parametrize("freedom", [None, 3.0, 30.0])
def test_numbers(freedom):
    make = px.likelihoods.gaussian if freedom is None else px.likelihoods.student_t
    likelihood = make("network", **({} if freedom is None else {"freedom": freedom}))
    found, expected = both(likelihood, LOCATIONS)
    for name in ("mean", "std", "aleatoric", "epistemic"):
        assert_close(found[name], getattr(expected, name), terms=4 * DRAWS)
    assert found["quantiles"].shape == (ROWS, len(LEVELS), 2)
    # Rounding of the probability of the nearer tail, over the density there: a few units of size.
    exact = expected.quantile(np.array(LEVELS)).swapaxes(0, 1)
    assert_close(found["quantiles"], exact, terms=40, scale=np.abs(exact).max(axis=(0, 1)))


@pytest.mark.parametrize("freedom", [1.0, 2.0])
def test_moments_that_do_not_exist_are_not_invented(freedom):
    likelihood = px.likelihoods.student_t("network", freedom=freedom)
    found, expected = both(likelihood, LOCATIONS)
    np.testing.assert_array_equal(np.isnan(found["mean"]), np.isnan(expected.mean))
    assert not np.isfinite(found["std"]).any()
    exact = expected.quantile(np.array(LEVELS)).swapaxes(0, 1)
    np.testing.assert_allclose(found["quantiles"], exact, rtol=2e-5, atol=2e-4)


def test_counts():
    log_rates = RNG.normal(1.0, 2.0, (DRAWS, ROWS, 2)).astype(np.float32)
    found, expected = both(px.likelihoods.poisson(), log_rates)
    for name in ("mean", "std", "aleatoric", "epistemic"):
        assert_close(found[name], getattr(expected, name), terms=4 * DRAWS)
    exact = expected.quantile(np.array(LEVELS)).swapaxes(0, 1)
    np.testing.assert_array_equal(found["quantiles"], exact)


def test_outputs_of_a_likelihood_of_ones_own():
    likelihood = px.likelihoods.custom(lambda z, y: -jnp.abs(z - y)[:, 0])
    found, expected = both(likelihood, LOCATIONS)
    for name in ("mean", "std"):
        assert_close(found[name], getattr(expected, name), terms=4 * DRAWS, scale=60.0)
