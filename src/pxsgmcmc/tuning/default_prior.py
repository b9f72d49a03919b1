"""A prior for a network nobody has said anything about: variances that fall with the fan-in.

A bias is one more input that is always 1, so it has the variance of its kernel: large where there
are few inputs, whose scale it has to match, and small where there are many.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.expansion import plan
from pxsgmcmc.problem import NETWORK, Problem
from pxsgmcmc.types import Array, Tree

HIDDEN = 2.0  # times 1 / fan-in keeps the scale of what passes through rectifiers
# Times 1 / fan-in, of the last layer. That of dense classifiers by cross-validation over the
# training and validation rows of wine and digits, where 100 was ahead of 30; see docs/automatic.md.
LAST = {"classification": 100.0, "regression": HIDDEN}
VECTORS = 1.0  # variance of vectors without a kernel: scales and thresholds of norms


def fan_in_variances(shapes: Tree, *, hidden: float = HIDDEN, last: float = HIDDEN) -> Tree:
    """Variances for `px.priors.normal`: a number over the fan-in for kernels and their biases.

    Args:
      shapes: the network's parameters, or anything with their shapes.
      hidden: times 1 / fan-in for every kernel but those of the last layer.
      last: times 1 / fan-in for the kernels of the layer that gives the network's output.

    Example:
      >>> import jax.numpy as jnp
      >>> params = {"a": {"kernel": jnp.ones((4, 8)), "bias": jnp.ones(8)},
      ...           "b": {"kernel": jnp.ones((8, 3))}}
      >>> fan_in_variances(params, hidden=2.0, last=30.0)
      {'a': {'bias': 0.5, 'kernel': 0.5}, 'b': {'kernel': 3.75}}
    """
    leaves, structure = jax.tree.flatten(shapes)
    variances = [VECTORS if len(leaf.shape) < 2 else hidden / _fan_in(leaf) for leaf in leaves]
    for row in plan(shapes, out=0, into=0).layers:
        scale = last if row.note == "logits" else hidden
        kernels = [leaf for leaf in row.layer.leaves if leaf.into and leaf.out]
        for kernel in kernels:
            outputs = math.prod(kernel.shape[axis] for axis in kernel.out)
            variances[kernel.place] = scale * outputs / math.prod(kernel.shape)
        for leaf in row.layer.leaves if kernels else ():
            if not leaf.into:
                variances[leaf.place] = variances[kernels[0].place]
    return jax.tree.unflatten(structure, variances)


def drawn(variances: Tree, shapes: Tree, rng: np.random.Generator) -> Tree:
    """A draw from the normal prior of these variances: as large as weights will be along a chain.

    What an optimiser begins at is smaller, and most directions, which the data say little of, would
    have to grow first, which takes longer than all else.

    Args:
      variances: of `fan_in_variances`.
      shapes: the network's parameters, or anything with their shapes.
      rng: random; on the host, where nothing is compiled for it.
    """

    def draw(variance: float, leaf: jax.ShapeDtypeStruct) -> Array:
        return jnp.asarray(math.sqrt(variance) * rng.standard_normal(leaf.shape), leaf.dtype)

    return jax.tree.map(draw, variances, shapes)


def network_shapes(problem: Problem, position: Tree) -> Tree:
    """The shapes of the network's own parameters in those that a problem samples."""
    network = position[NETWORK] if problem.likelihood.start() else position
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), network)


def _fan_in(leaf: jax.ShapeDtypeStruct) -> int:
    """Of a kernel that no rule speaks of: all axes but the last."""
    return max(1, math.prod(leaf.shape[:-1]))
