"""The energy landscape between draws: along a line through two, on the plane through three."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from pxsgmcmc.diagnostics._flat import Tree, flatten, unflatten
from pxsgmcmc.errors import UserError, check_count, check_number

if TYPE_CHECKING:
    from jaxtyping import Float


class Segment(NamedTuple):
    """Values along the straight line from one draw (alpha = 0) to another (alpha = 1)."""

    alpha: Float[np.ndarray, " points"]
    value: Float[np.ndarray, " points"]


class Barrier(NamedTuple):
    """The highest rise on the way, and where it is (the first place, on a tie)."""

    height: float
    alpha: float


class Plane(NamedTuple):
    """The plane through three draws: origin + x first_axis + y second_axis, axes orthonormal."""

    origin: Float[np.ndarray, " parameters"]
    first_axis: Float[np.ndarray, " parameters"]
    second_axis: Float[np.ndarray, " parameters"]
    points: Float[np.ndarray, "3 2"]  # coordinates of the three draws
    like: Tree  # the first draw: structure, shapes and dtypes

    def at(self, x: float, y: float) -> Tree:
        """Parameters at the coordinates (x, y)."""
        return unflatten(self.origin + x * self.first_axis + y * self.second_axis, self.like)


class Surface(NamedTuple):
    """Values on a grid of the plane."""

    x: Float[np.ndarray, " columns"]
    y: Float[np.ndarray, " rows"]
    value: Float[np.ndarray, "rows columns"]


def connect(evaluate: Callable[[Tree], float], start: Tree, end: Tree, points: int = 11) -> Segment:
    """Evaluate the network along the line (1 - alpha) start + alpha end.

    Args:
      evaluate: parameters -> a number, such as the error on some training data.
      start: parameters of one draw (collapsed, as the network takes them).
      end: parameters of another.
      points: how many, ends included, evenly spaced.

    Example:
      >>> segment = connect(lambda w: float(w[0] ** 2), np.array([-1.0]), np.array([1.0]), 3)
      >>> segment.value
      array([1., 0., 1.])
    """
    check_count("points", points, at_least=2)
    first, last = flatten(start, "start"), flatten(end, "end", like=start)
    alpha = np.linspace(0.0, 1.0, points)
    path = (unflatten((1.0 - a) * first + a * last, start) for a in alpha)
    return Segment(alpha, np.array([float(evaluate(params)) for params in path]))


def barrier(segment: Segment, above: Literal["line", "ends"] = "line") -> Barrier:
    """The barrier between two draws, in either of the usual definitions.

    Args:
      segment: values along the line between them.
      above: "line" is max_alpha E(alpha) - ((1 - alpha) E(0) + alpha E(1)), never negative;
        "ends" is max_alpha E(alpha) - (E(0) + E(1)) / 2.

    Example:
      >>> barrier(Segment(np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.4, 0.2])))
      Barrier(height=0.25, alpha=0.5)
    """
    alpha, value = np.asarray(segment.alpha), np.asarray(segment.value, np.float64)
    if above == "line":
        floor = (1.0 - alpha) * value[0] + alpha * value[-1]
    elif above == "ends":
        floor = np.full_like(value, (value[0] + value[-1]) / 2.0)
    else:
        raise UserError(f"`above` must be 'line' or 'ends', got {above!r}.")
    if not np.isfinite(value).all():
        raise UserError(f"`segment` must hold finite values, got {value}.")
    rise = value - floor
    # Rises that differ by rounding alone are a tie.
    highest = np.flatnonzero(rise >= rise.max() - 1e-12 * (1.0 + abs(rise.max())))[0]
    return Barrier(float(rise[highest]), float(alpha[highest]))


def plane(first: Tree, second: Tree, third: Tree) -> Plane:
    """The plane through three draws; the first is its origin, the second lies on the first axis.

    Example:
      >>> plane(np.array([1., 1., 0.]), np.array([3., 1., 0.]), np.array([2., 1., 2.])).points
      array([[0., 0.],
             [2., 0.],
             [1., 2.]])
    """
    origin = flatten(first, "first")
    to_second = flatten(second, "second", like=first) - origin
    to_third = flatten(third, "third", like=first) - origin
    length = np.linalg.norm(to_second)
    first_axis = to_second / length if length > 0.0 else to_second
    along = float(to_third @ first_axis)
    across = to_third - along * first_axis
    height = np.linalg.norm(across)
    if length == 0.0 or height <= 1e-9 * np.linalg.norm(to_third):
        raise UserError(
            "The three draws of a plane must not lie on one line; choose draws further apart."
        )
    points = np.array([[0.0, 0.0], [length, 0.0], [along, height]])
    return Plane(origin, first_axis, across / height, points, first)


def plane_axes(
    plane: Plane, points: int = 21, margin: float = 0.25
) -> tuple[Float[np.ndarray, " columns"], Float[np.ndarray, " rows"]]:
    """Evenly spaced x and y that take in the three draws and a margin around them.

    Args:
      plane: as from `plane`.
      points: how many on each axis.
      margin: on each side, as a share of the draws' extent.

    Example:
      >>> flat = plane(np.zeros(2), np.array([4.0, 0.0]), np.array([0.0, 4.0]))
      >>> plane_axes(flat, points=4)[0]
      array([-1.,  1.,  3.,  5.])
    """
    check_count("points", points, at_least=2)
    check_number("margin", margin, at_least=0.0)
    low, high = plane.points.min(axis=0), plane.points.max(axis=0)
    room = margin * (high - low)
    x, y = np.linspace(low - room, high + room, points).T
    return x, y


def plane_grid(
    plane: Plane, x: Float[np.ndarray, " columns"], y: Float[np.ndarray, " rows"]
) -> Iterator[Tree]:
    """Parameters at every point of the grid, one at a time, row by row (y outermost).

    Example:
      >>> flat = plane(np.zeros(2), np.array([4.0, 0.0]), np.array([0.0, 4.0]))
      >>> list(plane_grid(flat, np.array([1.0, 2.0]), np.array([3.0])))
      [array([1., 3.]), array([2., 3.])]
    """
    return (plane.at(float(right), float(up)) for up in y for right in x)


def survey(
    evaluate: Callable[[Tree], float],
    plane: Plane,
    x: Float[np.ndarray, " columns"],
    y: Float[np.ndarray, " rows"],
) -> Surface:
    """Evaluate the network on a grid of the plane.

    Args:
      evaluate: parameters -> a number, such as the error on some data.
      plane: as from `plane`.
      x: (columns,) coordinates, as from `plane_axes`.
      y: (rows,).

    Example:
      >>> flat = plane(np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, 1.0]))
      >>> survey(lambda w: float(w.sum()), flat, np.array([0.0, 1.0]), np.array([0.0, 2.0])).value
      array([[0., 1.],
             [2., 3.]])
    """
    values = [float(evaluate(params)) for params in plane_grid(plane, x, y)]
    return Surface(np.asarray(x), np.asarray(y), np.array(values).reshape(len(y), len(x)))
