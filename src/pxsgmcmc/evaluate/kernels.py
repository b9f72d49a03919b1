"""Which parameters of a network are linear maps, and on what: read off its traced computation.

No layer is asked what it is: a parameter is the kernel of a convolution if it is one operand of a
convolution whose other operand comes from the data, and a matrix if it is so in a product. This
works for any network, and says how large the image is where the convolution meets it. A convolution
that is computed in another way is known by its shapes, if it is a function of its own in the trace.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import Literal

from pxsgmcmc.diagnostics import conv_singular_values, matrix_singular_values
from pxsgmcmc.tree import paths
from pxsgmcmc.types import Tree

# What hands an array on with the same entries in the same places.
_SAME = {"convert_element_type", "copy", "copy_p", "optimization_barrier", "stop_gradient"}


class Convolution(NamedTuple):
    """A kernel (height, width, in, out), and the size of the images it is applied to."""

    size: tuple[int, int]


class Matrix(NamedTuple):
    """An array that is multiplied by, summed over its axes `summed`."""

    summed: tuple[int, ...]


Use = Convolution | Matrix


def find_kernels(apply: Callable[[Tree, Any], Any], params: Tree, x: Any) -> dict[str, Use]:
    """Name of parameter -> how the network uses it, in the order in which it does.

    Args:
      apply: (parameters, inputs) -> outputs; it is traced, not run.
      params: parameters, or their shapes.
      x: inputs, or their shapes, (batch, ...).

    Example:
      >>> import jax.numpy as jnp
      >>> params = {"a": {"kernel": jnp.ones((4, 8)), "bias": jnp.ones((1, 8))}}
      >>> apply = lambda p, x: x @ p["a"]["kernel"] + p["a"]["bias"]
      >>> find_kernels(apply, params, jnp.ones((5, 4)))
      {'a/kernel': Matrix(summed=(0,))}
    """
    traced = jax.make_jaxpr(apply)(params, x).jaxpr
    names = paths(params)
    origin = dict(zip(traced.invars[: len(names)], names, strict=True))
    kernels: dict[str, Use] = {}
    for name, use in _uses(traced, origin):
        kernels.setdefault(name, use)
    return kernels


def singular_values(kernel: np.ndarray, use: Use) -> np.ndarray:
    """All singular values of the linear map that a kernel is, largest first.

    Example:
      >>> singular_values(np.array([[3.0, 0.0], [4.0, 5.0]]), Matrix((0,))).round(5)
      array([6.7082 , 2.23607])
    """
    if isinstance(use, Convolution):
        return conv_singular_values(kernel, use.size)
    rows = math.prod(kernel.shape[axis] for axis in use.summed)
    front = np.moveaxis(kernel, use.summed, range(len(use.summed)))
    return matrix_singular_values(front.reshape(rows, -1))


def layer_name(parameter: str) -> str:
    """The layer that a kernel belongs to.

    Example:
      >>> layer_name("stage1/block1/conv1/kernel"), layer_name("embedding")
      ('stage1/block1/conv1', 'embedding')
    """
    return parameter.removesuffix("/kernel")


def _uses(jaxpr: Any, origin: Mapping[Any, str]) -> Iterator[tuple[str, Use]]:
    """Every use in a traced computation; `origin` names the variables that are parameters."""
    known = dict(origin)

    def name_of(variable: Any) -> str | None:
        return None if isinstance(variable, Literal) else known.get(variable)

    for equation in jaxpr.eqns:
        names = [name_of(variable) for variable in equation.invars]
        primitive = equation.primitive.name
        if primitive in _SAME:
            for name, variable in zip(names, equation.outvars, strict=False):
                if name is not None:
                    known[variable] = name
        elif primitive == "conv_general_dilated" and names[0] is None and names[1] is not None:
            if use := _convolution(equation):
                yield names[1], use
        elif primitive == "dot_general" and (names[0] is None) != (names[1] is None):
            side = 0 if names[1] is None else 1
            summed, together = (axes[side] for axes in equation.params["dimension_numbers"])
            if not together:
                yield str(names[side]), Matrix(tuple(summed))
        inners = list(_inner(equation))
        if inners and (use := _like_a_convolution(equation, names)):
            yield str(names[1]), use
            continue
        for inner in inners:
            within = zip(inner.invars, names, strict=True)
            yield from _uses(inner, {variable: name for variable, name in within if name})


def _convolution(equation: Any) -> Convolution | None:
    """None for one that is grouped, dilated, or has its kernel's axes in another order."""
    settings = equation.params
    numbers = settings["dimension_numbers"]
    plain = settings["feature_group_count"] == settings["batch_group_count"] == 1
    plain &= {*settings["lhs_dilation"], *settings["rhs_dilation"]} == {1}
    if not plain or tuple(numbers.rhs_spec) != (3, 2, 0, 1):
        return None
    height, width = (equation.invars[0].aval.shape[axis] for axis in numbers.lhs_spec[2:])
    return Convolution((height, width))


def _like_a_convolution(equation: Any, names: list[str | None]) -> Convolution | None:
    """Whether a function takes images and a kernel, and gives images with the kernel's channels."""
    shapes = [variable.aval.shape for variable in (*equation.invars, *equation.outvars)]
    if len(names) != 2 or names[0] is not None or names[1] is None or len(shapes) != 3:
        return None
    images, kernel, result = shapes
    if not len(images) == len(kernel) == len(result) == 4:
        return None
    fits = (images[0], images[3], kernel[3]) == (result[0], kernel[2], result[3])
    return Convolution(images[1:3]) if fits else None


def _inner(equation: Any) -> Iterator[Any]:
    """Computations within one, such as a jitted function's, that take the same variables."""
    for value in equation.params.values():
        inner = getattr(value, "jaxpr", value)
        if hasattr(inner, "eqns") and len(inner.invars) == len(equation.invars):
            yield inner
