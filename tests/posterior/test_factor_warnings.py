"""Where `on_weights` meets a factor prior that lets factors turn their sign, there is a warning."""

import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.posterior import factor_warnings


def position(width):
    params = {name: {"kernel": jnp.zeros((width, width))} for name in ("a", "b", "c")}
    return px.expand(params, px.plan(params))


def potential(factor_prior, prior=None):
    prior = px.priors.on_weights(px.priors.normal(1.0)) if prior is None else prior
    return px.potential(
        lambda W, x: jnp.zeros(len(x)), prior=prior, factor_prior=factor_prior, data_size=3
    )


def test_half_of_all_factors_of_width_64_and_variance_a_tenth_have_a_negative_determinant():
    noise = np.random.default_rng(0).normal(size=(200, 64, 64))
    signs = np.linalg.slogdet(np.eye(64) + np.sqrt(0.1) * noise)[0]
    assert np.mean(signs < 0) == pytest.approx(0.5, abs=0.16)  # 4.5 standard errors
    assert np.all(np.linalg.slogdet(np.eye(64) + np.sqrt(0.25 / 64) * noise)[0] > 0)


@pytest.mark.parametrize(
    ("factor_prior", "width", "words"),
    [
        (px.priors.normal(0.1, at="identity"), 64, "of variance 0.1 at width 64"),
        (px.priors.normal(0.5), 8, "around zero"),
        (px.priors.normal(0.1, at="identity"), 8, "at='identity')`, a variance well below 1 / 8"),
    ],
)
def test_the_warning_names_the_argument_and_a_variance_that_will_do(factor_prior, width, words):
    (warning,) = factor_warnings(potential(factor_prior), position(width))
    assert warning.startswith("`factor_prior` ") and words in warning


def test_what_is_fine_is_not_warned_of():
    narrow = px.priors.normal(0.25 / 64, at="identity")
    assert factor_warnings(potential(narrow), position(64)) == []
    wide = px.priors.normal(0.5)
    assert factor_warnings(potential(wide, px.priors.normal(1.0)), position(64)) == []
    assert factor_warnings(potential(wide), {"w": jnp.zeros(3)}) == []
    assert factor_warnings(lambda q, batch: 0.0, position(8)) == []


def test_sampling_warns_before_the_first_step():
    sampler = px.sgld(potential(px.priors.normal(0.5)), 1e-4)
    with pytest.warns(px.ChainWarning, match="`factor_prior` around zero"):
        px.sample(
            sampler,
            position(4),
            jnp.zeros(3),
            draws=1,
            cycle_length=1,
            batch_size=3,
            progress=False,
        )
