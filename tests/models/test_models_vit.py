import jax
import jax.numpy as jnp
import numpy as np

import pxsgmcmc as px
from pxsgmcmc import models
from tests.helpers.closeness import assert_close
from tests.models import plain_networks


def test_forward_pass_equals_a_plain_one_in_numpy():
    model = models.build("vit", patch=2, width=6, depth=2, heads=2, classes=4)
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3, 4, 6, 2)).astype(np.float32)
    layout = jax.eval_shape(model.init, jax.random.key(0), x)
    params = jax.tree.map(lambda p: rng.normal(0.0, 0.5, p.shape).astype(np.float32), layout)
    ours = jax.jit(model.apply)(params, x)
    # Two blocks of nine sums each, the longest of 24 terms.
    assert_close(ours, plain_networks.vit(params, x, 2, 2), terms=2 * 9 * 24)


def test_kernels_start_with_variance_one_over_fan_in(key):
    model = models.build("vit", width=64, depth=1, heads=4)
    params = model.init(key, jnp.zeros((1, 16, 16, 3)))
    attention = params["block1"]["attention"]
    for kernel in (attention["query"]["kernel"], attention["out"]["kernel"]):
        assert abs(np.std(kernel) * 64**0.5 - 1) < 0.05
    assert abs(np.std(params["block1"]["down"]["kernel"]) * 128**0.5 - 1) < 0.05
    assert abs(np.std(params["positions"]["embedding"]) / 0.02 - 1) < 0.05


def test_the_plan_treats_heads_together_and_finds_every_part_of_a_block():
    model = models.build("vit", width=32, heads=4, depth=1)
    params = jax.eval_shape(model.init, jax.random.key(0), jnp.zeros((1, 8, 8, 1)))
    rows = {row.layer.name: row for row in px.plan(params).layers}
    seen = {name: (row.layer.kind, str(row.out), str(row.into)) for name, row in rows.items()}
    assert seen == {
        "patches": ("convolution", "32x32", "-"),
        "positions": ("embedding", "32x32", "-"),
        "block1/norm1": ("norm", "32x32", "-"),
        "block1/attention/query": ("attention", "32x32", "32x32"),
        "block1/attention/key": ("attention", "32x32", "32x32"),
        "block1/attention/value": ("attention", "32x32", "32x32"),
        "block1/attention/out": ("attention", "32x32", "32x32"),
        "block1/norm2": ("norm", "32x32", "-"),
        "block1/up": ("dense", "64x64", "32x32"),
        "block1/down": ("dense", "32x32", "64x64"),
        "norm": ("norm", "32x32", "-"),
        "head": ("dense", "-", "32x32"),
    }
