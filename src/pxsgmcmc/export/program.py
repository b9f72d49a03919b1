"""The two programs of a frozen predictor, as StableHLO for any number of rows.

    draw:     weights of one draw, laid end to end, and raw inputs -> rows of numbers
    average:  rows of all draws -> named outputs

The reader loops over the draws: one program that did would run its convolutions inside a loop of
the device, which takes XLA several times as long on a CPU.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.errors import UserError, printable
from pxsgmcmc.problem import Problem
from pxsgmcmc.tree import check_float_leaves, paths
from pxsgmcmc.types import Array, Tree

PLATFORMS = ("cpu", "cuda", "tpu")


class DrawLayout(NamedTuple):
    """How the weights of a draw lie end to end."""

    like: Tree  # shapes and dtypes
    dtype: np.dtype  # of the stored vector

    @property
    def size(self) -> int:
        """How many numbers."""
        return sum(leaf.size for leaf in jax.tree.leaves(self.like))

    def flatten(self, params: Tree) -> np.ndarray:
        """The weights as one vector."""
        leaves = [np.asarray(leaf).astype(self.dtype).ravel() for leaf in jax.tree.leaves(params)]
        return np.concatenate(leaves)

    def unflatten(self, flat: Array) -> Tree:
        """The weights, each in its own dtype."""
        leaves, structure = jax.tree.flatten(self.like)
        ends = np.cumsum([leaf.size for leaf in leaves]).tolist()
        pieces = [flat[end - leaf.size : end] for end, leaf in zip(ends, leaves, strict=True)]
        shaped = [
            piece.reshape(leaf.shape).astype(leaf.dtype)
            for piece, leaf in zip(pieces, leaves, strict=True)
        ]
        return jax.tree.unflatten(structure, shaped)

    def described(self) -> list[dict[str, Any]]:
        """Name, shape and dtype of each part, in order."""
        leaves = zip(paths(self.like), jax.tree.leaves(self.like), strict=True)
        return [{"name": n, "shape": list(x.shape), "dtype": str(x.dtype)} for n, x in leaves]


def layout_of(params: Tree, *, half: bool) -> DrawLayout:
    """The layout for weights like these, in float16 if `half`."""
    check_float_leaves("params", params)
    like = jax.eval_shape(lambda: params)
    widest = np.result_type(np.float32, *(leaf.dtype for leaf in jax.tree.leaves(like)))
    return DrawLayout(like, np.dtype(np.float16) if half else widest)


def draw_program(problem: Problem, layout: DrawLayout) -> Any:
    """(weights, inputs) -> (rows, numbers), preparation of the inputs included."""
    from jax import export

    def draw(flat: Array, x: Array) -> Array:
        return problem.distribution(layout.unflatten(flat), x)

    (rows,) = export.symbolic_shape("rows")
    train = problem.train.x
    weights = jax.ShapeDtypeStruct((layout.size,), layout.dtype)
    inputs = jax.ShapeDtypeStruct((rows, *train.shape[1:]), train.dtype)
    try:
        return _exported(draw, weights, inputs)
    except UserError:
        raise
    except Exception as error:
        reason = printable(str(error).strip().splitlines()[0], 200)
        raise UserError(
            "`apply` and `transform` must work for any number of rows to be exported, as "
            "`x.reshape(x.shape[0], -1)` does and `x.reshape(len(x), -1)` does not; JAX says: "
            f"{reason}"
        ) from error


def average_program(problem: Problem, draws: int, numbers: int, levels: tuple[float, ...]) -> Any:
    """(draws, rows, numbers) -> name -> array, by row first."""
    from jax import export

    (rows,) = export.symbolic_shape("rows")
    dtype = np.float64 if jax.config.jax_enable_x64 else np.float32  # pyright: ignore
    like = jax.ShapeDtypeStruct((draws, rows, numbers), dtype)
    return _exported(lambda distributions: problem.likelihood.average(distributions, levels), like)


def _exported(function: Any, *like: Any) -> Any:
    from jax import export

    # In full float32 wherever it runs: other devices would round products to fewer digits.
    with _without_source_lines(), jax.default_matmul_precision("highest"):
        return export.export(jax.jit(function), platforms=PLATFORMS)(*like)


@contextmanager
def _without_source_lines() -> Iterator[None]:
    """Programs keep the files that made them, with their folders, unless told not to."""
    name = "jax_traceback_in_locations_limit"
    before = getattr(jax.config, name)
    jax.config.update(name, 0)
    try:
        yield
    finally:
        jax.config.update(name, before)


def row_numbers(problem: Problem, params: Tree) -> int:
    """How many numbers a draw gives for each row."""
    return jax.eval_shape(problem.distribution, params, jnp.asarray(problem.train.x[:1])).shape[1]
