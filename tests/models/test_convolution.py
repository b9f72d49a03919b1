"""Our forms of convolution and norm give what XLA's and JAX's own give, values and gradients."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pxsgmcmc.models import _convolution as convolution
from pxsgmcmc.models import build
from pxsgmcmc.models._convolution import by_xla, convolve
from pxsgmcmc.models._layers import filter_response_norm, swish
from pxsgmcmc.network_checks import primitives
from tests.helpers.quick_jit import quick_jit

# batch, height, width, in, out, window, stride
SHAPES = [
    (5, 8, 8, 4, 5, 3, 1),
    (5, 8, 8, 4, 5, 3, 2),
    (5, 7, 9, 4, 5, 3, 2),
    (5, 8, 8, 4, 5, 1, 2),
    (5, 7, 7, 4, 5, 1, 1),
    (2, 5, 6, 3, 2, 2, 1),
    (2, 5, 6, 3, 2, 2, 2),
    (2, 9, 6, 3, 2, 5, 3),
    (2, 1, 1, 3, 2, 3, 1),
    (2, 2, 2, 3, 2, 3, 2),
]


@pytest.fixture(autouse=True)
def traced_anew():
    """Forms are chosen while tracing: forget what another test, or one with patches, has traced."""
    yield
    convolution._forward.clear_cache()
    convolution._pull_back.clear_cache()


def close(ours, theirs, tolerance=1e-5):
    ours, theirs = (np.asarray(a, np.float64) for a in (ours, theirs))
    assert ours.shape == theirs.shape
    assert np.linalg.norm(ours - theirs) <= tolerance * np.linalg.norm(theirs)


def value_and_gradients(function, *arguments):
    @quick_jit  # one program compiles faster than each of its operations
    def both(*arguments):
        y, pull_back = jax.vjp(function, *arguments)
        return y, *pull_back(jnp.cos(jnp.arange(y.size, dtype=y.dtype)).reshape(y.shape))

    return both(*arguments)


def image_and_kernel(shape, dtype=jnp.float32):
    n, height, width, inputs, outputs, window, _ = shape
    rng = np.random.default_rng(sum(shape))  # NumPy has nothing to compile
    shapes = (n, height, width, inputs), (window, window, inputs, outputs)
    return tuple(jnp.asarray(rng.standard_normal(shape), dtype) for shape in shapes)


@functools.cache
def xlas(shape):
    """Value and gradients of XLA's convolution."""
    return value_and_gradients(
        lambda x, kernel: by_xla(x, kernel, shape[-1]), *image_and_kernel(shape)
    )


@pytest.mark.parametrize("form", ["product", "blocks", "xla_forward"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_form_of_convolution_equals_xlas(shape, form, monkeypatch):
    x, kernel = image_and_kernel(shape)
    stride = shape[-1]
    if form == "blocks":  # two blocks; an odd batch leaves one image over
        by_blocks = convolution._sum_over_blocks
        monkeypatch.setattr(
            convolution, "_sum_over_blocks", lambda *given: by_blocks(*given[:-1], len(x) // 2)
        )
    if form == "xla_forward":
        monkeypatch.setattr(convolution, "SMALL_BYTES", 0)
    ours = value_and_gradients(lambda x, kernel: convolve(x, kernel, stride), x, kernel)
    for a, b in zip(ours, xlas(shape), strict=True):
        close(a, b)


# At this size every form is in use: XLA's, rows of blocks, and Winograd's from 32 channels on.
@pytest.mark.parametrize(
    "shape",
    [
        (20, 32, 32, 16, 16, 3, 1),
        (20, 32, 32, 16, 32, 3, 2),
        (20, 16, 16, 32, 32, 3, 1),
        (20, 16, 16, 32, 48, 3, 1),
        (20, 8, 8, 64, 64, 3, 1),
        (20, 9, 8, 64, 64, 3, 1),
    ],
)
def test_convolutions_of_the_size_of_r20_agree(shape):
    x, kernel = image_and_kernel(shape)
    stride = shape[-1]
    ours = value_and_gradients(lambda x, kernel: convolve(x, kernel, stride), x, kernel)
    for a, b in zip(ours, xlas(shape), strict=True):
        close(a, b)


def test_even_images_with_many_channels_take_the_form_of_winograd():
    forms = []
    for shape in [
        (20, 16, 16, 32, 32, 3, 1),
        (20, 9, 16, 32, 32, 3, 1),
        (20, 16, 16, 16, 32, 3, 1),
    ]:
        traced = jax.make_jaxpr(functools.partial(convolve, stride=1))(*image_and_kernel(shape))
        forms.append("conv_general_dilated" in primitives(traced.jaxpr, "cpu"))
    assert forms == [False, True, True]


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_winograds_form_loses_nothing_that_matters(dtype):
    with jax.enable_x64():
        x, kernel = image_and_kernel((20, 16, 16, 32, 32, 3, 1), dtype)
        wide = by_xla(x.astype(jnp.float64), kernel.astype(jnp.float64), 1)
        ours = convolution.winograd.convolve(x, kernel)
        assert ours.dtype == dtype
        close(ours, wide, 1e-6 if dtype == jnp.float32 else 1e-14)


def test_half_precision_is_summed_in_full(monkeypatch):
    shape = (64, 8, 8, 4, 4, 3, 1)
    x, kernel = image_and_kernel(shape, jnp.bfloat16)
    monkeypatch.setattr(convolution, "BLOCK_BYTES", 1)  # sixty-four sums one after the other
    *_, ours = value_and_gradients(lambda x, kernel: convolve(x, kernel, 1), x, kernel)
    wide = (x.astype(jnp.float32), kernel.astype(jnp.float32))
    y, pull_back = jax.vjp(lambda x, kernel: by_xla(x, kernel, 1), *wide)
    dy = jnp.cos(jnp.arange(y.size, dtype=jnp.bfloat16)).reshape(y.shape).astype(jnp.float32)
    assert ours.dtype == jnp.bfloat16
    close(ours, pull_back(dy)[1], 4e-3)  # one rounding to eight bits


def test_the_device_that_a_program_is_for_decides_the_form_and_not_the_default_one():
    x, kernel = image_and_kernel(SHAPES[0])
    traced = jax.jit(jax.grad(lambda k: jnp.sum(convolve(x, k, 1)))).trace(kernel)
    for platform, has, has_not in (("cuda", "convolution", "dot"), ("cpu", "dot", "convolution")):
        program = traced.lower(lowering_platforms=(platform,)).as_text()
        assert f"stablehlo.{has}" in program and f"stablehlo.{has_not}" not in program
    assert "conditional" not in traced.lower().compile().as_text()
    assert "conv_general_dilated" in primitives(traced.jaxpr.jaxpr, "gpu")
    assert "conv_general_dilated" not in primitives(traced.jaxpr.jaxpr, "cpu")


def plain_norm(x, scale, bias, threshold):
    scale, bias, threshold = (a.reshape(1, 1, 1, -1) for a in (scale, bias, threshold))
    mean_square = jnp.mean(x * x, axis=(1, 2), keepdims=True)
    return jnp.maximum(x / jnp.sqrt(mean_square + 1e-6) * scale + bias, threshold)


def test_the_written_gradient_of_swish_is_the_derived_one():
    x = jnp.linspace(-30.0, 30.0, 999)
    ours, theirs = (value_and_gradients(f, x) for f in (swish, lambda x: x * jax.nn.sigmoid(x)))
    for a, b in zip(ours, theirs, strict=True):
        close(a, b)


def test_an_mlp_with_swish_can_be_differentiated_forwards():
    model = build("mlp", widths=(4,), activation="swish", classes=3)
    x = jnp.ones((2, 5))
    params = model.init(jax.random.key(0), x)
    _, forwards = jax.jvp(lambda p: model.apply(p, x), (params,), (params,))
    close(
        forwards, jax.jacrev(lambda t: model.apply(jax.tree.map(lambda p: t * p, params), x))(1.0)
    )


@pytest.mark.parametrize("size", [2, 8, 32])
def test_the_written_gradient_of_the_norm_is_the_derived_one(size):
    keys = jax.random.split(jax.random.key(size), 4)
    x = jax.random.normal(keys[0], (6, size, size, 5))
    vectors = [jax.random.normal(key, (5,)) for key in keys[1:]]
    ours = value_and_gradients(filter_response_norm, x, *vectors)
    theirs = value_and_gradients(plain_norm, x, *vectors)
    for a, b in zip(ours, theirs, strict=True):
        close(a, b)


def test_next_to_nothing_flows_through_the_norm_of_one_pixel():
    x, vectors = jnp.array([2.0, -0.5, 7.0]).reshape(3, 1, 1, 1), [jnp.ones(1)] * 2
    _, dx, *_ = value_and_gradients(filter_response_norm, x, *vectors, jnp.full(1, -9.0))
    assert float(jnp.abs(dx).max()) < 1e-5


def test_a_norm_at_its_threshold_gives_the_gradient_to_the_threshold():
    x = jnp.zeros((1, 2, 2, 1))
    *_, dbias, dthreshold = value_and_gradients(
        filter_response_norm, x, jnp.ones(1), jnp.ones(1), jnp.ones(1)
    )
    assert dbias.tolist() == [0.0] and dthreshold.tolist() != [0.0]
