"""Distances between draws, lines and planes through them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pxsgmcmc import diagnostics as diag
from pxsgmcmc.diagnostics._flat import flatten, unflatten
from pxsgmcmc.errors import UserError

POINTS = np.array([[3.0, 4.0], [0.0, 8.0], [6.0, 8.0]])
ALONG = diag.Segment(
    np.linspace(0.0, 1.0, 11),
    np.array([0.10, 0.16, 0.25, 0.30, 0.33, 0.35, 0.36, 0.30, 0.26, 0.22, 0.20]),
)


def as_trees(rows):
    return [{"bias": jnp.float32(row[:1]), "kernel": jnp.float32(row[1:, None])} for row in rows]


@pytest.mark.parametrize("draws", [POINTS, POINTS.astype(np.float32), as_trees(POINTS)])
def test_distances_have_their_worked_values(draws):
    found = diag.distances(draws)
    assert found.d.tolist() == [5.0, 6.0]
    assert found.d_bar.tolist() == [1.0, 0.75]


def test_distances_read_draws_one_by_one():
    assert diag.distances(row for row in POINTS).d.tolist() == [5.0, 6.0]


def test_independent_draws_of_equal_norm_are_root_two_apart():
    draws = np.random.default_rng(0).normal(size=(10, 100_000))
    assert diag.distances(draws).d_bar == pytest.approx(np.sqrt(2.0), abs=0.02)


def test_a_draw_after_zeros_is_relatively_infinitely_far_and_a_repeated_draw_is_at_zero():
    found = diag.distances(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]]))
    assert found.d.tolist() == [5.0, 0.0]
    assert found.d_bar.tolist() == [np.inf, 0.0]


def test_float32_differences_are_taken_in_float64():
    draws = np.array([[1e8, 0.0], [1e8, 1.0]], np.float32)
    assert diag.distances(draws).d.tolist() == [1.0]


def test_a_tree_survives_being_flattened(key):
    tree = {"a": jax.random.normal(key, (2, 3)), "b": (jnp.arange(4), jnp.float32(2.0))}
    back = unflatten(flatten(tree), tree)
    assert jax.tree.structure(back) == jax.tree.structure(tree)
    for new, old in zip(jax.tree.leaves(back), jax.tree.leaves(tree), strict=True):
        assert new.dtype == old.dtype
        assert np.array_equal(new, old)


# Lines.


def test_the_barrier_has_its_worked_values_in_both_definitions():
    above_line = diag.barrier(ALONG)
    assert above_line.height == pytest.approx(0.20, abs=1e-12)
    assert above_line.alpha == pytest.approx(0.5)
    above_ends = diag.barrier(ALONG, above="ends")
    assert above_ends.height == pytest.approx(0.21, abs=1e-12)
    assert above_ends.alpha == pytest.approx(0.6)


def test_a_straight_slope_has_no_barrier_above_its_line():
    slope = diag.Segment(np.linspace(0, 1, 5), np.linspace(0.1, 0.5, 5))
    assert diag.barrier(slope).height == pytest.approx(0.0, abs=1e-12)
    assert diag.barrier(slope, above="ends").height == pytest.approx(0.2)


def test_the_first_of_two_equal_rises_is_taken_whatever_their_rounding():
    values = np.array([0.0, 0.3, 0.1 + 0.2, 0.0])  # the later one is larger by 6e-17
    assert diag.barrier(diag.Segment(np.array([0.0, 0.5, 0.75, 1.0]), values)).alpha == 0.5


def test_connecting_evaluates_the_convex_combinations_of_trees():
    start, end = as_trees(np.array([[0.0, 1.0, 2.0], [4.0, 1.0, -2.0]]))
    seen = []

    def evaluate(params):
        seen.append(params)
        return jnp.sum(params["bias"]) + 10.0 * jnp.sum(params["kernel"])

    segment = diag.connect(evaluate, start, end, points=5)
    assert segment.alpha.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert segment.value.tolist() == [30.0, 21.0, 12.0, 3.0, -6.0]
    assert np.array_equal(seen[0]["kernel"], start["kernel"])
    assert np.array_equal(seen[-1]["kernel"], end["kernel"])
    assert seen[2]["kernel"].dtype == np.float32


# Planes.


def test_the_plane_has_its_worked_coordinates():
    plane = diag.plane(*np.array([[1.0, 1.0, 0.0], [3.0, 1.0, 0.0], [2.0, 1.0, 2.0]]))
    assert plane.points.tolist() == [[0.0, 0.0], [2.0, 0.0], [1.0, 2.0]]
    assert plane.first_axis.tolist() == [1.0, 0.0, 0.0]
    assert plane.second_axis.tolist() == [0.0, 0.0, 1.0]


def test_a_plane_goes_through_its_three_draws_and_keeps_their_distances():
    rows = np.random.default_rng(1).normal(size=(3, 40))
    plane = diag.plane(*rows)
    assert plane.first_axis @ plane.first_axis == pytest.approx(1.0)
    assert plane.second_axis @ plane.second_axis == pytest.approx(1.0)
    assert plane.first_axis @ plane.second_axis == pytest.approx(0.0, abs=1e-12)
    for (x, y), row in zip(plane.points, rows, strict=True):
        assert plane.at(x, y) == pytest.approx(row)
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        flat = np.linalg.norm(plane.points[i] - plane.points[j])
        assert flat == pytest.approx(np.linalg.norm(rows[i] - rows[j]))


def test_a_survey_puts_values_where_its_coordinates_say():
    trees = as_trees(np.array([[0.0, 0.0, 7.0], [2.0, 0.0, 7.0], [1.0, 3.0, 7.0]]))
    plane = diag.plane(*trees)
    x, y = diag.plane_axes(plane, points=7, margin=0.5)
    assert (x[0], x[-1]) == pytest.approx((-1.0, 3.0))
    assert (y[0], y[-1]) == pytest.approx((-1.5, 4.5))

    def evaluate(params):  # 100 y + x, by the way the axes were built
        return 100.0 * float(params["kernel"][0, 0]) + float(params["bias"][0])

    surface = diag.survey(evaluate, plane, x[:4], y)
    assert surface.value.shape == (7, 4)
    assert surface.value == pytest.approx(100.0 * y[:, None] + x[None, :4], rel=1e-6, abs=1e-4)


def test_grid_points_come_one_at_a_time():
    plane = diag.plane(*np.eye(3))
    points = diag.plane_grid(plane, np.zeros(1000), np.zeros(1000))
    assert np.array_equal(next(points), [1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: diag.distances(POINTS[:1]), "at least 2 draws"),
        (lambda: diag.distances([]), "at least 2 draws"),
        (lambda: diag.distances([np.zeros(2), np.zeros(3)]), "`draws[1]` must have the same"),
        (lambda: diag.distances([np.zeros(2), {"a": np.zeros(2)}]), "`draws[1]` must have"),
        (lambda: diag.distances([np.zeros(2), np.array([0, np.nan])]), "finite numbers, got nan"),
        (lambda: diag.distances([{}, {}]), "at least one array"),
        (lambda: diag.distances({"kernel": POINTS, "bias": POINTS}), "arrays of numbers"),
        (lambda: diag.connect(sum, POINTS[0], POINTS[1], points=1), "`points`"),
        (lambda: diag.connect(sum, POINTS[0], np.zeros(3)), "`end` must have the same"),
        (lambda: diag.barrier(ALONG, above="mean"), "'line' or 'ends'"),
        (lambda: diag.barrier(diag.Segment(np.arange(2.0), np.array([0.0, np.nan]))), "finite"),
        (lambda: diag.plane(np.zeros(2), np.ones(2), 2 * np.ones(2)), "not lie on one line"),
        (lambda: diag.plane(np.zeros(2), np.zeros(2), np.ones(2)), "not lie on one line"),
        (lambda: diag.plane_axes(diag.plane(*np.eye(3)), margin=-1.0), "`margin`"),
    ],
)
def test_bad_input_is_answered_with_one_sentence(call, words):
    with pytest.raises(UserError) as caught:
        call()
    message = str(caught.value)
    assert words in message
    assert message.endswith(".") and "\n" not in message
