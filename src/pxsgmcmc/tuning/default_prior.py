"""A prior for a network nobody has said anything about: variances that fall with the fan-in.

In a classifier the bias of a hidden unit has the variance that all inputs together give the unit,
so that units turn on and off all over the data. In a regression it is one more input, always 1.
"""

import math
from dataclasses import dataclass
from typing import Any

import jax

from pxsgmcmc import priors
from pxsgmcmc.expansion import plan
from pxsgmcmc.problem import Problem
from pxsgmcmc.types import Array, Tree

HIDDEN = 2.0  # times 1 / fan-in keeps the scale of what passes through rectifiers
# Times 1 / fan-in, of the last layer. That of classifiers by cross-validation over the training and
# validation rows of wine, breast_cancer and digits, see docs/automatic.md. Numbers are on one scale
# with their targets' deviation, so a regression needs no other scale than the layers before.
LAST = {"classification": 100.0, "regression": HIDDEN}
# Variance of the biases of hidden layers; None for that of their kernel.
BIASES = {"classification": HIDDEN, "regression": None}
VECTORS = 1.0  # variance of vectors without a kernel: scales and thresholds of norms


@dataclass(frozen=True)
class FanIn:
    """Normals whose variances fall with the fan-in, whatever network they meet.

    Attributes:
      last: times 1 / fan-in on the last layer; a number, also one that is traced.
      outputs: of the network.
      bias: variance of the biases of hidden layers, or None for that of their kernel.
    """

    last: Any
    outputs: int
    bias: float | None = None

    @property
    def name(self) -> str:
        """As a table would print it."""
        return f"normal({HIDDEN:g} / fan-in, {self.last:g} / fan-in on the last layer)"

    def energy(self, tree: Tree, old: Tree | None = None) -> Array:
        """Energy of `tree`, less that of `old` if given."""
        return priors.Normal(self.variances(tree), "zero").energy(tree, old)

    def variances(self, tree: Tree) -> Tree:
        """Of each leaf of the parameters."""
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), tree)
        return fan_in_variances(shapes, last=self.last, outputs=self.outputs, bias=self.bias)


def default_prior(problem: Problem, last: Any) -> FanIn:
    """The prior of a problem's network.

    Args:
      problem: whose network it is.
      last: times 1 / fan-in on the last layer, `LAST` of its task unless there is a reason.
    """
    likelihood = problem.likelihood
    return FanIn(last, likelihood.outputs(problem.targets), BIASES[likelihood.task])


def fan_in_variances(
    shapes: Tree,
    *,
    hidden: float = HIDDEN,
    last: Any = HIDDEN,
    outputs: int | None = None,
    bias: float | None = None,
) -> Tree:
    """Variances for `px.priors.normal`: a number over the fan-in for kernels and their biases.

    Args:
      shapes: the network's parameters, or anything with their shapes.
      hidden: times 1 / fan-in for every kernel but those of the last layer.
      last: times 1 / fan-in for the kernels of the layer that gives the network's output.
      outputs: of the network. The last layer is the one whose output no layer takes; where that is
        none, since there are as many outputs as inputs, those that have so many outputs.
      bias: variance of the biases of all other layers, or None for that of their kernel.

    Example:
      >>> import jax.numpy as jnp
      >>> params = {"a": {"kernel": jnp.ones((4, 8)), "bias": jnp.ones(8)},
      ...           "b": {"kernel": jnp.ones((8, 3))}}
      >>> fan_in_variances(params, hidden=2.0, last=30.0)
      {'a': {'bias': 0.5, 'kernel': 0.5}, 'b': {'kernel': 3.75}}
    """
    leaves, structure = jax.tree.flatten(shapes)
    variances: list[Any] = [
        VECTORS if len(leaf.shape) < 2 else hidden / _fan_in(leaf) for leaf in leaves
    ]
    rows = plan(shapes, out=0, into=0).layers
    known = any(row.note == "logits" for row in rows)
    for row in rows:
        is_last = row.note == "logits" if known else row.layer.out_width == outputs
        scale = last if is_last else hidden
        kernels = [leaf for leaf in row.layer.leaves if leaf.into and leaf.out]
        for kernel in kernels:
            out = math.prod(kernel.shape[axis] for axis in kernel.out)
            variances[kernel.place] = scale * out / math.prod(kernel.shape)
        for leaf in row.layer.leaves if kernels else ():
            if not leaf.into:
                own = bias if bias is not None and not is_last else variances[kernels[0].place]
                variances[leaf.place] = own
    return jax.tree.unflatten(structure, variances)


def _fan_in(leaf: jax.ShapeDtypeStruct) -> int:
    """Of a kernel that no rule speaks of: all axes but the last."""
    return max(1, math.prod(leaf.shape[:-1]))
