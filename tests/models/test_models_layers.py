import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pxsgmcmc.models._layers import convolve, filter_response_norm
from tests.helpers.closeness import assert_close
from tests.models.plain_networks import frn, same_convolution


@pytest.mark.parametrize("side", [7, 8])
@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2])
def test_convolution_equals_the_sum_written_out(side, window, stride):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, side, 5, 3)).astype(np.float32)
    kernel = rng.normal(size=(window, window, 3, 4)).astype(np.float32)
    assert_close(
        convolve(jnp.asarray(x), jnp.asarray(kernel), stride),
        same_convolution(x, kernel, stride),
        terms=window * window * 3,
        scale=same_convolution(abs(x), abs(kernel), stride),
    )


def test_stride_two_pads_an_even_side_after_the_image_only():
    # The first window starts at pixel 0; with a zero before the image it would see pixels 0 and 1.
    x = jnp.arange(1.0, 5.0).reshape(1, 1, 4, 1)
    kernel = jnp.array([1.0, 10.0, 100.0]).reshape(1, 3, 1, 1)
    assert convolve(x, kernel, 2).ravel().tolist() == [321.0, 43.0]


def test_stride_two_pads_an_odd_side_on_both_ends():
    x = jnp.arange(1.0, 4.0).reshape(1, 1, 3, 1)
    kernel = jnp.array([1.0, 10.0, 100.0]).reshape(1, 3, 1, 1)
    assert convolve(x, kernel, 2).ravel().tolist() == [210.0, 32.0]


def test_filter_response_norm_equals_the_formula():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 3, 4, 5)).astype(np.float32)
    scale, bias, threshold = rng.normal(size=(3, 5)).astype(np.float32)
    ours = filter_response_norm(*map(jnp.asarray, (x, scale, bias, threshold)))
    # A mean of 12 squares, a root, a quotient, a product and a sum.
    assert_close(ours, frn(x, scale, bias, threshold), terms=12 + 4)


def test_filter_response_norm_of_a_worked_example():
    # mean of squares (9 + 16) / 2 = 12.5; 2 * 3 / sqrt(12.5) - 1 = 0.697, 2 * -4 / .. - 1 = -3.263
    x = jnp.array([3.0, -4.0]).reshape(1, 2, 1, 1)
    y = filter_response_norm(x, jnp.full(1, 2.0), jnp.full(1, -1.0), jnp.full(1, -2.0))
    assert_close(y.ravel(), [2 * 3 / 12.5**0.5 - 1, -2.0], terms=2 + 4)


def test_filter_response_norm_of_a_black_image_is_finite_and_has_a_finite_gradient():
    def total(x):
        return jnp.sum(filter_response_norm(x, jnp.ones(2), jnp.ones(2), jnp.zeros(2)))

    value, grad = jax.value_and_grad(total)(jnp.zeros((1, 4, 4, 2)))
    assert value == 32.0
    np.testing.assert_allclose(grad, 1000.0, rtol=1e-5)  # 1 / sqrt(1e-6): the epsilon in use
