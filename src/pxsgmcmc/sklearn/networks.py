"""What `network=` may be, as two pure functions and something that tells networks apart.

A program is compiled once for all networks that compare equal, so what makes two networks the same
function must be in `key`, and nothing else: not the numbers that they start from.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.errors import UserError, one_line
from pxsgmcmc.types import Array, Key, Tree

GAIN = 1.0  # variance of a kernel at its start, times its fan-in


@dataclass(frozen=True)
class Network:
    """A network for inputs of one width and so many outputs.

    Attributes:
      name: for tables.
      key: equal for networks that are the same function of parameters and inputs.
      start: key -> parameters.
      apply: (parameters, inputs) -> outputs.
    """

    name: str
    key: Any
    start: Callable[[Key], Tree] = field(compare=False)
    apply: Callable[[Tree, Array], Array] = field(compare=False)


class Same:
    """A key for what has no hash: equal to itself alone."""

    def __init__(self, thing: Any):
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        """Whether it is the same object."""
        return isinstance(other, Same) and other.thing is self.thing

    def __hash__(self) -> int:
        """By address."""
        return id(self.thing)


def hashable(thing: Any) -> Any:
    """The thing itself if it can be a key, else a key for this very object."""
    try:
        hash(thing)
    except TypeError:
        return Same(thing)
    return thing


def network_of(network: Any, features: int, outputs: int) -> Network:
    """What was given as `network=`, for so many features and outputs.

    Args:
      network: widths of hidden layers (a number or several), a module of Flax NNX, Flax Linen or
        Equinox, or a pair (init, apply).
      features: columns of the inputs.
      outputs: numbers that the likelihood needs for each input.
    """
    if isinstance(network, int | np.integer) and not isinstance(network, bool):
        network = (network,)
    if isinstance(network, list | tuple) and all(_is_width(width) for width in network):
        return _dense(tuple(map(int, network)), features, outputs)
    if isinstance(network, list | tuple) and len(network) == 2 and all(map(callable, network)):
        init, apply = network
        return Network("own network", (hashable(init), hashable(apply)), init, apply)
    for kind, make in (("flax.nnx", _nnx), ("flax.linen", _linen), ("equinox", _equinox)):
        library = sys.modules.get(kind)
        if library is not None and isinstance(network, library.Module):
            return make(library, network, features)
    raise UserError(
        "`network` must be widths of hidden layers such as (50, 50), a Flax or Equinox module, or "
        f"a pair (init, apply), got {one_line(network)}."
    )


def _is_width(width: Any) -> bool:
    return isinstance(width, int | np.integer) and not isinstance(width, bool) and bool(width > 0)


def _dense(widths: tuple[int, ...], features: int, outputs: int) -> Network:
    """Dense layers with swish between them, named as `px.models` names them."""
    sizes = (features, *widths, outputs)
    names = [*(f"layer{number}" for number in range(1, len(sizes) - 1)), "head"]

    def start(key: Key) -> Tree:
        # Drawn by NumPy: a program for it would take longer to compile than to use.
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        layers = {}
        for name, into, out in zip(names, sizes[:-1], sizes[1:], strict=True):
            kernel = rng.normal(size=(into, out)) * np.sqrt(GAIN / into)
            layers[name] = {
                "kernel": kernel.astype(np.float32),
                "bias": np.zeros(out, np.float32),
            }
        return layers

    def apply(params: Tree, x: Array) -> Array:
        for name in names:
            if name != names[0]:
                x = jax.nn.silu(x)
            x = x @ params[name]["kernel"] + params[name]["bias"][None]
        return x

    return Network(f"MLP {'-'.join(map(str, sizes))}", ("dense", sizes), start, apply)


def _nnx(nnx: Any, module: Any, features: int) -> Network:
    """Parameters out in the open; all chains start from those the module has."""
    graph, state, rest = nnx.split(module, nnx.Param, ...)
    if jax.tree.leaves(rest):
        raise UserError(
            "`network` must have parameters alone, but this module keeps state of its own (batch "
            "statistics or dropout's random numbers): use a norm without running averages and no "
            "dropout."
        )
    params = nnx.to_pure_dict(state)

    def apply(params: Tree, x: Array) -> Array:
        return nnx.merge(graph, params)(x)

    return Network(type(module).__name__, hashable(graph), lambda key: params, apply)


def _linen(linen: Any, module: Any, features: int) -> Network:
    """Each chain starts from parameters of its own, by the module's `init`."""

    def start(key: Key) -> Tree:
        variables = dict(module.init(key, jnp.zeros((1, features))))
        if set(variables) != {"params"}:
            raise UserError(
                "`network` must have parameters alone, but this module also has "
                f"{sorted(set(variables) - {'params'})[0]!r}: use a norm without running averages."
            )
        return variables["params"]

    def apply(params: Tree, x: Array) -> Array:
        try:
            return module.apply({"params": params}, x)
        except Exception as error:
            if type(error).__name__ != "InvalidRngError":
                raise
            raise UserError(
                "`network` must be a fixed function of its parameters, but this module draws "
                "random numbers: switch dropout off (`deterministic=True`)."
            ) from error

    return Network(type(module).__name__, hashable(module), start, apply)


def _equinox(equinox: Any, module: Any, features: int) -> Network:
    """A module of one input, mapped over the batch; all chains start from its parameters."""
    params, static = equinox.partition(module, equinox.is_inexact_array)

    def apply(params: Tree, x: Array) -> Array:
        return jax.vmap(equinox.combine(params, static))(x)

    leaves, structure = jax.tree.flatten(static)
    return Network(
        type(module).__name__,
        hashable((structure, tuple(map(hashable, leaves)))),
        lambda key: params,
        apply,
    )
