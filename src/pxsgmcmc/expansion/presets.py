"""The layers of Flax (NNX and Linen), Haiku, Equinox, and dicts that follow their names.

Each preset says for the leaves of one layer where its channels are: leaf -> (out axes, into axes).
"""

from typing import Any

import jax

from pxsgmcmc.tree import path_name
from pxsgmcmc.types import Tree

Axes = tuple[int, ...]
Shapes = dict[str, tuple[int, ...]]
NamedAxes = dict[str, tuple[Axes, Axes]]


def named_axes(parent: str, shapes: Shapes, parents: set[str]) -> tuple[str, NamedAxes]:
    """Flax and Haiku: channels last, (*window, in, out); x @ kernel."""
    for weight, bias in (("kernel", "bias"), ("w", "b")):
        if weight in shapes and len(shapes[weight]) >= 2:
            return _channels_last(parent, shapes, weight, bias, parents)
    for table in ("embedding", "embeddings"):
        if len(shapes.get(table, ())) == 2:
            return "embedding", {table: ((1,), ())}
    if "scale" in shapes and all(len(shape) == 1 for shape in shapes.values()):
        return "norm", {leaf: ((0,), ()) for leaf in shapes}
    return "", {}


def _channels_last(
    parent: str, shapes: Shapes, weight: str, bias: str, parents: set[str]
) -> tuple[str, NamedAxes]:
    shape, bias_shape = shapes[weight], shapes.get(bias, ())
    rank, bias_rank = len(shape), len(bias_shape)
    above, _, own_name = parent.rpartition("/")
    among = {f"{above}/{name}".lstrip("/") for name in ("query", "key", "value")}
    in_attention = rank == 3 and among <= parents
    if rank > 2 and bias_rank > 1 and bias_shape == shape[-bias_rank:]:
        kind, outputs = "attention", bias_rank  # (in, heads, head width), bias (heads, head width)
        into = tuple(range(rank - outputs))
    elif in_attention and own_name in ("query", "key", "value"):
        kind, outputs, into = "attention", 2, (0,)
    elif in_attention and own_name == "out":  # (heads, head width, out)
        kind, outputs, into = "attention", 1, (0, 1)
    else:
        kind, outputs, into = ("dense" if rank == 2 else "convolution"), 1, (rank - 2,)
    axes: NamedAxes = {weight: (tuple(range(rank - outputs, rank)), into)}
    if bias_rank:
        axes[bias] = (tuple(range(bias_rank))[-outputs:], ())
    return kind, axes


def equinox_layers(params: Tree) -> dict[str, str]:
    """Path -> class name of the layers that are Equinox's own."""

    def class_name(node: Any) -> str | None:
        for cls in type(node).__mro__:
            if cls.__module__.startswith("equinox.nn.") and cls.__name__ in _EQUINOX_KINDS:
                return cls.__name__
        return None

    nodes, _ = jax.tree_util.tree_flatten_with_path(params, is_leaf=lambda n: bool(class_name(n)))
    return {path_name(path): name for path, node in nodes if (name := class_name(node))}


_EQUINOX_KINDS = {
    "Linear": "dense",
    "Conv": "convolution",
    "ConvTranspose": "convolution",
    "Embedding": "embedding",
    "LayerNorm": "norm",
    "RMSNorm": "norm",
    "GroupNorm": "norm",
    "BatchNorm": "norm",
}


def equinox_axes(class_name: str, shapes: Shapes) -> tuple[str, NamedAxes]:
    """Equinox: channels first, (out, in, *window); kernel @ x. Biases are (out, 1, ..)."""
    kind = _EQUINOX_KINDS[class_name]
    if kind == "embedding":
        return kind, {"weight": ((1,), ())}
    if kind == "norm":
        vectors = {leaf: ((0,), ()) for leaf, shape in shapes.items() if len(shape) == 1}
        return kind, vectors
    axes: NamedAxes = {"weight": ((0,), (1,))}
    if "bias" in shapes:
        axes["bias"] = ((0,), ())
    return kind, axes
