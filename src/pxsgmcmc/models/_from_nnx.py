"""A Flax NNX module as a `Model`: parameters out in the open, no state left inside."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from pxsgmcmc.errors import UserError
from pxsgmcmc.models._start import starter
from pxsgmcmc.models.model import Model
from pxsgmcmc.types import Array, Key, Tree

# (shape of one input, rngs) -> module; it checks the shape. The rngs are for layers of Flax, which
# ask for them; what is drawn from them is never computed.
Network = Callable[[tuple[int, ...], nnx.Rngs], nnx.Module]


class NetworkLayout(NamedTuple):
    """What a network is for inputs of one shape, without a single number in it."""

    graph: Any  # Flax's account of the modules
    params: Tree  # nested dict of shapes
    start: Callable[[Key], Tree]


def from_nnx(
    name: str,
    network: Network,
    *,
    input_layer: str,
    logits_layer: str,
    convolutional: bool,
    gain: float = 2.0,
    head_gain: float = 1.0,
) -> Model:
    """The model whose layers `network` makes.

    Args:
      name: of the model.
      network: (shape of one input, rngs) -> module whose variables are all `nnx.Param` and whose
        attributes down to them are modules, so that every key of the parameters is a string.
      input_layer: as in `Model`.
      logits_layer: as in `Model`.
      convolutional: as in `Model`.
      gain: of the kernels at the start, see `starter`.
      head_gain: of the kernel of the logits layer at the start.
    """

    @functools.lru_cache(maxsize=16)
    def layout(shape: tuple[int, ...]) -> NetworkLayout:
        graph, state = nnx.split(nnx.eval_shape(lambda: network(shape, nnx.Rngs(0))))
        params = nnx.to_pure_dict(state)
        start = starter(params, gain=gain, head=logits_layer, head_gain=head_gain)
        return NetworkLayout(graph, params, start)

    def init(key: Key, example: Array) -> Tree:
        return layout(_shape_of_one(example)).start(key)

    def apply(params: Tree, x: Array) -> Array:
        x = jnp.asarray(x)
        if not jnp.issubdtype(x.dtype, jnp.floating):
            raise UserError(
                f"`x` must hold normalised floating-point inputs, got {x.dtype}; "
                "scale and normalise them first."
            )
        graph, expected, _ = layout(_shape_of_one(x))
        _check_params(name, params, expected, x.shape[1:])
        dtype = jax.tree.leaves(params)[0].dtype
        return nnx.merge(graph, params)(x.astype(dtype))

    return Model(name, init, apply, input_layer, logits_layer, convolutional)


def _shape_of_one(x: Any) -> tuple[int, ...]:
    if len(x.shape) < 2:
        raise UserError(f"Inputs must have a batch axis and at least one more, got {x.shape}.")
    return tuple(x.shape[1:])


def _check_params(name: str, params: Tree, expected: Tree, shape: tuple[int, ...]) -> None:
    """Name the first parameter that does not fit."""
    remedy = f"make them with `init` for inputs of shape {shape}"
    if jax.tree.structure(params) != jax.tree.structure(expected):
        raise UserError(f"`params` must have the structure of {name}'s; {remedy}.")
    wanted, _ = jax.tree_util.tree_flatten_with_path(expected)
    for (path, leaf), given in zip(wanted, jax.tree.leaves(params), strict=True):
        if given.shape != leaf.shape:
            where = jax.tree_util.keystr(path, simple=True, separator="/")
            raise UserError(
                f"`params` must have shape {leaf.shape} at {where!r}, got {given.shape}; {remedy}."
            )
