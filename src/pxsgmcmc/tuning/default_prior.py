"""A prior for a network nobody has said anything about: variances that fall with the fan-in.

A bias is one more input that is always 1, so it has the variance of its kernel: large where there
are few inputs, whose scale it has to match, and small where there are many.
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
# validation rows of wine and digits, where 100 was ahead of 30, and level with 300 and 1000 over
# wine, breast_cancer and digits together. Numbers are on one scale with their targets' deviation,
# so a regression needs no other scale than the layers before; see docs/automatic.md.
LAST = {"classification": 100.0, "regression": HIDDEN}
VECTORS = 1.0  # variance of vectors without a kernel: scales and thresholds of norms


@dataclass(frozen=True)
class FanIn:
    """Normals whose variances fall with the fan-in, whatever network they meet.

    Attributes:
      last: times 1 / fan-in on the last layer; a number, also one that is traced.
      outputs: of the network.
    """

    last: Any
    outputs: int

    @property
    def name(self) -> str:
        """As a table would print it."""
        return f"normal({HIDDEN:g} / fan-in, {self.last:g} / fan-in on the last layer)"

    def energy(self, tree: Tree, old: Tree | None = None) -> Array:
        """Energy of `tree`, less that of `old` if given."""
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), tree)
        variances = fan_in_variances(shapes, last=self.last, outputs=self.outputs)
        return priors.Normal(variances, "zero").energy(tree, old)


def default_prior(problem: Problem, last: Any) -> FanIn:
    """The prior of a problem's network.

    Args:
      problem: whose network it is.
      last: times 1 / fan-in on the last layer, `LAST` of its task unless there is a reason.
    """
    return FanIn(last, problem.likelihood.outputs(problem.targets))


def fan_in_variances(
    shapes: Tree, *, hidden: float = HIDDEN, last: Any = HIDDEN, outputs: int | None = None
) -> Tree:
    """Variances for `px.priors.normal`: a number over the fan-in for kernels and their biases.

    Args:
      shapes: the network's parameters, or anything with their shapes.
      hidden: times 1 / fan-in for every kernel but those of the last layer.
      last: times 1 / fan-in for the kernels of the layer that gives the network's output.
      outputs: of the network. The last layer is the one whose output no layer takes; where that is
        none, since there are as many outputs as inputs, those that have so many outputs.

    Example:
      >>> import jax.numpy as jnp
      >>> params = {"a": {"kernel": jnp.ones((4, 8)), "bias": jnp.ones(8)},
      ...           "b": {"kernel": jnp.ones((8, 3))}}
      >>> fan_in_variances(params, hidden=2.0, last=30.0)
      {'a': {'bias': 0.5, 'kernel': 0.5}, 'b': {'kernel': 3.75}}
    """
    leaves, structure = jax.tree.flatten(shapes)
    variances = [VECTORS if len(leaf.shape) < 2 else hidden / _fan_in(leaf) for leaf in leaves]
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
                variances[leaf.place] = variances[kernels[0].place]
    return jax.tree.unflatten(structure, variances)


def _fan_in(leaf: jax.ShapeDtypeStruct) -> int:
    """Of a kernel that no rule speaks of: all axes but the last."""
    return max(1, math.prod(leaf.shape[:-1]))
