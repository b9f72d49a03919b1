"""Which parameters of a network are linear maps, read off its trace."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pxsgmcmc.evaluate.kernels import Convolution, Matrix, find_kernels, singular_values
from pxsgmcmc.models import build
from pxsgmcmc.tree import paths


def kernels_of(name, shape, **settings):
    model = build(name, **settings)
    x = jax.ShapeDtypeStruct((3, *shape), jnp.float32)
    params = jax.eval_shape(model.init, jax.random.key(0), x)
    return find_kernels(model.apply, params, x), paths(params)


@pytest.mark.parametrize(
    ("name", "shape", "settings"),
    [
        ("resnet_frn", (8, 8, 1), {"depth": 8, "width": 4}),
        ("resnet_frn", (32, 32, 3), {"depth": 14, "width": 16}),
        ("cnn", (8, 6, 1), {}),
        ("mlp", (5,), {}),
        ("vit", (8, 8, 1), {}),
    ],
)
def test_every_kernel_of_every_network_is_found(name, shape, settings):
    found, names = kernels_of(name, shape, **settings)
    assert set(found) == {name for name in names if name.endswith("kernel")}


def test_a_convolution_knows_the_size_of_its_images():
    found, _ = kernels_of("resnet_frn", (8, 12, 1), depth=8, width=4)
    sizes = {name: use.size for name, use in found.items() if isinstance(use, Convolution)}
    assert sizes == {
        "stem/conv/kernel": (8, 12),
        "stage1/block1/conv1/kernel": (8, 12),
        "stage1/block1/conv2/kernel": (8, 12),
        "stage2/block1/shortcut/conv/kernel": (8, 12),
        "stage2/block1/conv1/kernel": (8, 12),
        "stage2/block1/conv2/kernel": (4, 6),
        "stage3/block1/shortcut/conv/kernel": (4, 6),
        "stage3/block1/conv1/kernel": (4, 6),
        "stage3/block1/conv2/kernel": (2, 3),
    }
    assert found["head/kernel"] == Matrix((0,))


def test_the_axes_that_a_product_sums_over_make_the_rows():
    found, _ = kernels_of("vit", (8, 8, 1), width=8, depth=1, heads=2)
    assert found["block1/attention/query/kernel"] == Matrix((0,))  # width -> heads x 4
    assert found["block1/attention/out/kernel"] == Matrix((0, 1))  # heads x 4 -> width
    kernel = np.random.default_rng(0).normal(size=(2, 4, 8))
    # The map as a matrix, by what it makes of each unit vector.
    rows = [np.tensordot(unit, kernel, 2) for unit in np.eye(8).reshape(8, 2, 4)]
    expected = np.linalg.svd(np.stack(rows), compute_uv=False)
    assert singular_values(kernel, Matrix((0, 1))) == pytest.approx(expected)


def test_a_kernel_is_followed_into_functions_and_through_casts():
    @jax.jit
    def layer(x, w, b):
        return x.astype(jnp.float32) @ w.astype(jnp.float32) + b

    def apply(params, x):
        return layer(x, params["w"], params["b"])

    params = {"w": jnp.ones((4, 3), jnp.bfloat16), "b": jnp.ones((1, 3))}
    assert find_kernels(apply, params, jnp.ones((2, 4))) == {"w": Matrix((0,))}


def test_what_is_not_a_linear_map_of_the_data_is_left_out():
    def apply(params, x):
        images = x.reshape(-1, 2, 2, 2)
        grouped = jax.lax.conv_general_dilated(
            images,
            params["grouped"],
            (1, 1),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=2,
        )
        return jnp.sum(grouped) + jnp.sum(x) * jnp.sum(params["a"] @ params["b"])

    params = {"grouped": jnp.ones((3, 3, 1, 2)), "a": jnp.ones((2, 2)), "b": jnp.ones((2, 2))}
    assert find_kernels(apply, params, jnp.ones((1, 8))) == {}
