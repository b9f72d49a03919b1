"""What the candidates of the benchmark work on: a network, random images and an energy."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Setting(NamedTuple):
    """What a candidate works on; `key=value` on the command line."""

    model: str = "resnet_frn"
    depth: int = 20
    width: int = 16
    size: int = 32  # of the image
    channels: int = 3
    batch: int = 256
    rows: int = 2048  # of data
    threads: int = 2
    core: int = -1  # to stay on; -1 is any
    layers: str = "ours"  # or "xla": convolution and norm as XLA and JAX derive them
    out: int = 0
    into: int = 0
    rank: float = 0.0  # a fraction of the width; 0 is full
    executor: str = "auto"


def read_setting(words: list[str]) -> Setting:
    """From `key=value` words."""
    kinds = {name: type(default) for name, default in Setting._field_defaults.items()}
    pairs = (word.split("=", 1) for word in words)
    return Setting(**{key: kinds[key](value) for key, value in pairs})


class Problem(NamedTuple):
    """Network, data and energy."""

    params: Any
    position: Any
    plan: Any
    data: tuple[Any, Any]
    energy: Any
    apply: Callable


def problem(setting: Setting) -> Problem:
    """Random images; the network as bundled, or with XLA's own convolution and JAX's gradients."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import pxsgmcmc as px
    from pxsgmcmc.models import build

    if setting.layers == "xla":
        use_plain_layers()
    rng = np.random.default_rng(0)
    shape = (setting.rows, setting.size, setting.size, setting.channels)
    data = (
        jnp.asarray(rng.integers(0, 256, shape, np.uint8)),
        jnp.asarray(rng.integers(0, 10, setting.rows), jnp.int32),
    )
    if setting.model == "mlp":
        model = build("mlp", widths=(setting.width,) * setting.depth, classes=10)
    else:
        model = build(setting.model, depth=setting.depth, width=setting.width, classes=10)
    params = model.init(jax.random.key(0), jnp.zeros((1, *shape[1:]), jnp.float32))

    def apply(params, x):
        return model.apply(params, x.astype(jnp.float32) / 128.0 - 1.0)

    plan, position = None, params
    if setting.out or setting.into:
        layers = {"input_layer": model.input_layer, "logits_layer": model.logits_layer}
        rank = setting.rank or None
        plan = px.plan(params, out=setting.out, into=setting.into, rank=rank, **layers)
        position = jax.jit(lambda params: px.expand(params, plan, jax.random.key(1)))(params)
    names = tuple(map(str, range(10)))
    fitted = px.Problem(apply, px.likelihoods.categorical(), train=data, names=names)
    energy = px.potential(fitted, prior=px.priors.normal(0.2), factor_prior=px.priors.normal(0.5))
    return Problem(params, position, plan, data, energy, apply)


def use_plain_layers() -> None:
    """Replace our forms by what anyone would write first: the default path on a CPU."""
    import jax
    import jax.numpy as jnp

    from pxsgmcmc.models import _layers as layers
    from pxsgmcmc.models import resnet
    from pxsgmcmc.models._convolution import by_xla

    def norm(x, scale, bias, threshold, epsilon=1e-6):
        scale, bias, threshold = (a.reshape(1, 1, 1, -1) for a in (scale, bias, threshold))
        mean_square = jnp.mean(x * x, axis=(1, 2), keepdims=True)
        return jnp.maximum(x * jax.lax.rsqrt(mean_square + epsilon) * scale + bias, threshold)

    layers.convolve = lambda x, kernel, stride=1: by_xla(x, kernel, stride)
    layers.filter_response_norm = norm
    layers.swish = resnet.swish = jax.nn.swish
