import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pxsgmcmc import models
from tests.helpers.closeness import assert_close


class FilterResponseNorm(nn.Module):
    @nn.compact
    def __call__(self, x):
        width = x.shape[-1]
        scale = self.param("scale", nn.initializers.ones, (width,))
        bias, threshold = (
            self.param(name, nn.initializers.zeros, (width,)) for name in ("bias", "threshold")
        )
        x = x / jnp.sqrt(jnp.mean(x**2, axis=(1, 2), keepdims=True) + 1e-6)
        return jnp.maximum(x * scale + bias, threshold)


class LinenR20(nn.Module):
    """R20-FRN-Swish in Linen, with the names Linen gives by itself."""

    @nn.compact
    def __call__(self, x):
        def conv_norm(x, width, window, stride=1):
            x = nn.Conv(
                width,
                (window, window),
                (stride, stride),
                kernel_init=nn.initializers.he_normal(),
            )(x)
            return FilterResponseNorm()(x)

        x = nn.swish(conv_norm(x, 16, 3))
        for stage, width in enumerate((16, 32, 64)):
            for number in range(3):
                stride = 2 if stage and not number else 1
                y = nn.swish(conv_norm(x, width, 3, stride))
                y = conv_norm(y, width, 3)
                if stride == 2:
                    x = conv_norm(x, width, 1, 2)
                x = nn.swish(x + y)
        return nn.Dense(10)(jnp.mean(x, axis=(1, 2)))


def in_our_names(linen):
    """Linen numbers its layers in the order they are called: conv1, conv2, shortcut."""
    numbers = iter(range(21))

    def pair(names):
        number = next(numbers)
        layers = linen[f"Conv_{number}"], linen[f"FilterResponseNorm_{number}"]
        return dict(zip(names, layers, strict=True))

    params = {"stem": pair(("conv", "norm")), "head": linen["Dense_0"]}
    for stage in (1, 2, 3):
        blocks = params[f"stage{stage}"] = {}
        for number in (1, 2, 3):
            block = blocks[f"block{number}"] = pair(("conv1", "norm1")) | pair(("conv2", "norm2"))
            if stage > 1 and number == 1:
                block["shortcut"] = pair(("conv", "norm"))
    return params


@pytest.mark.slow
def test_r20_from_the_reference_start_has_its_norm_and_gives_the_logits_of_linen():
    x = np.random.default_rng(4).normal(size=(2, 32, 32, 3)).astype(np.float32)
    with jax.numpy_rank_promotion("allow"):
        linen = LinenR20().init(jax.random.PRNGKey(42), x)["params"]
        expected = jax.jit(LinenR20().apply)({"params": linen}, x)
    params = in_our_names(linen)
    norm = np.sqrt(sum(np.sum(np.square(p)) for p in jax.tree.leaves(params)))
    assert norm == pytest.approx(48.5327, abs=1e-4)  # the reference run logs 4.853e+01
    logits = jax.jit(models.build("resnet_frn").apply)(params, x)
    assert_close(logits, expected, terms=20 * 9 * 64)  # layers, and terms of their longest sums
