"""Singular values of convolutions and of factors."""

import numpy as np
import pytest

from pxsgmcmc.diagnostics import (
    condition_number,
    conv_singular_values,
    matrix_singular_values,
    track_spectra,
)
from pxsgmcmc.errors import UserError


def as_matrix(kernel, height, width):
    """The convolution with wrap-around as one dense matrix, entry by entry."""
    kh, kw, n_in, n_out = kernel.shape
    matrix = np.zeros((height, width, n_out, height, width, n_in))
    for y in range(height):
        for x in range(width):
            for a in range(kh):
                for b in range(kw):
                    matrix[y, x, :, (y + a) % height, (x + b) % width, :] += kernel[a, b].T
    return matrix.reshape(height * width * n_out, height * width * n_in)


def test_a_filter_on_a_line_has_its_worked_values():
    found = conv_singular_values(np.array([2.0, 7.0, -1.0]).reshape(3, 1, 1, 1), (4, 1))
    assert found == pytest.approx([8.0, 7.6157731, 7.6157731, 6.0], abs=5e-8)


def test_a_kernel_with_a_single_tap_scales_every_frequency():
    kernel = np.zeros((3, 3, 1, 1))
    kernel[0, 2] = 2.0
    assert conv_singular_values(kernel, 5) == pytest.approx(np.full(25, 2.0))


def test_a_kernel_of_ones_has_its_worked_extremes():
    ones = np.ones((3, 3, 1, 1))
    six, eight = conv_singular_values(ones, 6), conv_singular_values(ones, 8)
    assert (six[0], six[-1]) == pytest.approx((9.0, 0.0), abs=1e-12)
    assert (eight[0], eight[-1]) == pytest.approx((9.0, 0.1715729), abs=5e-8)
    assert condition_number(six) == np.inf


def test_a_pointwise_kernel_has_its_worked_values_at_every_frequency():
    found = conv_singular_values(np.array([[3.0, 0.0], [4.0, 5.0]])[None, None], 3)
    assert found == pytest.approx(np.repeat([6.7082039, 2.2360680], 9), abs=5e-8)


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ((3, 3, 2, 3), (5, 4)),
        ((3, 3, 3, 2), (4, 5)),
        ((1, 1, 2, 2), (1, 1)),
        ((2, 3, 1, 2), (6, 3)),
        ((3, 3, 2, 2), (2, 2)),  # the kernel is larger than the image: taps wrap and add up
        ((5, 3, 1, 1), (1, 2)),
    ],
)
def test_values_are_those_of_the_dense_operator(shape, size):
    kernel = np.random.default_rng(0).normal(size=shape)
    dense = np.linalg.svd(as_matrix(kernel, *size), compute_uv=False)
    found = conv_singular_values(kernel, size)
    assert len(found) == size[0] * size[1] * min(shape[2:])
    assert found == pytest.approx(dense, abs=1e-10)
    assert conv_singular_values(kernel.transpose(3, 2, 0, 1), size, "OIHW") == pytest.approx(found)


def test_factors_multiply_the_norm_of_a_convolution_at_most_by_their_own():
    rng = np.random.default_rng(1)
    kernel, P, Q = rng.normal(size=(3, 3, 4, 4)), rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    collapsed = np.einsum("ou,ablu,li->abio", P, kernel, Q)
    bound = matrix_singular_values(P)[0] * matrix_singular_values(Q)[0]
    assert conv_singular_values(collapsed, 6)[0] <= bound * conv_singular_values(kernel, 6)[0]


def test_factors_have_the_spectrum_they_were_built_with():
    rng = np.random.default_rng(2)
    left, right = (np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(2))
    values = matrix_singular_values(left @ np.diag([4.0, 3.0, 2.0, 0.5]) @ right)
    assert values == pytest.approx([4.0, 3.0, 2.0, 0.5])
    assert condition_number(values) == pytest.approx(8.0)
    assert condition_number(matrix_singular_values(np.eye(16))) == pytest.approx(1.0)


def test_extremes_are_kept_by_draw_and_layer():
    draws = [
        {"stem": np.ones((3, 3, 1, 1)), "point": scale * np.diag([3.0, 1.0])[None, None]}
        for scale in (1.0, 2.0, 5.0)
    ]
    sizes = {"stem": 8, "point": 4}
    found = track_spectra(iter(draws), lambda name, k: conv_singular_values(k, sizes[name]))
    assert found.layers == ("stem", "point")
    assert found.largest == pytest.approx(np.array([[9.0, 3.0], [9.0, 6.0], [9.0, 15.0]]))
    assert found.smallest[:, 1] == pytest.approx([1.0, 2.0, 5.0])
    assert found.condition[:, 1] == pytest.approx([3.0, 3.0, 3.0])
    factors = track_spectra(draws[:1] * 2, lambda name, k: matrix_singular_values(k[0, 0]))
    assert factors.largest.shape == (2, 2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: conv_singular_values(np.ones((3, 3)), 4), "4 axes"),
        (lambda: conv_singular_values(np.ones((3, 3, 1, 1)), 0), "`size`"),
        (lambda: conv_singular_values(np.ones((3, 3, 1, 1)), 4, "HWOI"), "'HWIO' or 'OIHW'"),
        (lambda: conv_singular_values(np.full((1, 1, 1, 1), np.nan), 4), "finite, got nan"),
        (lambda: matrix_singular_values(np.ones(3)), "2 axes"),
        (lambda: track_spectra([], lambda n, k: k), "at least one draw"),
        (lambda: track_spectra([{"a": np.eye(2)}, {"b": np.eye(2)}], lambda n, k: k), "draw 1 has"),
    ],
)
def test_bad_input_is_answered_with_one_sentence(call, words):
    with pytest.raises(UserError) as caught:
        call()
    message = str(caught.value)
    assert words in message
    assert message.endswith(".") and "\n" not in message
