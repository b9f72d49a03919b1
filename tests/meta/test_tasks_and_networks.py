"""Tasks, and networks written as matrix products."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pxsgmcmc.errors import UserError
from pxsgmcmc.meta.networks import apply_network, init_network, neighbours
from pxsgmcmc.meta.settings import MetaSettings
from pxsgmcmc.meta.tasks import HELD_OUT, Task, families, family_data, grid, load_rows
from pxsgmcmc.meta.train import chosen_tasks
from tests.helpers.closeness import assert_close


@pytest.mark.parametrize("stride", [1, 2])
def test_neighbours_times_a_matrix_is_a_convolution(stride):
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(3, 6, 6, 2)), jnp.float32)
    kernel = jnp.asarray(rng.normal(size=(3, 3, 2, 4)), jnp.float32)
    ours = jnp.einsum("nhwi,io->nhwo", neighbours(x, stride), kernel.reshape(18, 4))
    padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    theirs = jax.lax.conv_general_dilated(
        padded, kernel, (stride, stride), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )[:, : -(-6 // stride), : -(-6 // stride)]
    assert_close(ours, theirs, terms=18, scale=18.0)


@pytest.mark.parametrize("kind", ["dense", "conv"])
def test_a_shortcut_adds_what_went_into_a_layer(kind, key):
    params = init_network(key, kind, (8, 8, 1), 3, 2, 10)
    silent = params | {"layer1": jax.tree.map(jnp.zeros_like, params["layer1"])}
    x = jnp.asarray(np.random.default_rng(1).normal(size=(5, 8, 8, 1)), jnp.float32)
    one = {"layer0": params["layer0"], "layer1": params["layer2"]}
    shallow = apply_network(kind, one, x, jnp.float32(0.0))
    # swish(0) = 0: a layer of zeros passes on nothing but its shortcut.
    assert_close(apply_network(kind, silent, x, jnp.float32(1.0)), shallow, terms=100, scale=10.0)
    dead = apply_network(kind, silent, x, jnp.float32(0.0))
    assert_close(dead, jnp.zeros((5, 10)), terms=1, scale=1.0)


def test_tasks_of_equal_shapes_are_a_family_and_others_are_not():
    found = families(grid(["digits", "mnist5k-14"], ["dense", "conv"], [4, 8], [1, 2]))
    assert len(found) == 16 and sum(len(family.tasks) for family in found) == 24
    plain_and_residual = [family for family in found if family.depth == 2]
    assert all(
        {task.residual for task in family.tasks} == {False, True} for family in plain_and_residual
    )


def test_test_rows_are_never_read():
    from pxsgmcmc import data

    rows, stored = load_rows("digits"), data.load("digits").splits
    assert len(rows.y) == len(stored["train"].y)
    np.testing.assert_array_equal(rows.held_out_y, stored["validation"].y)


def test_held_out_tasks_are_eight_that_no_default_grid_has():
    settings = MetaSettings()
    trained = grid(settings.data_sets, settings.kinds, settings.widths, settings.depths)
    assert len(HELD_OUT) == len(set(HELD_OUT)) == 8 and not set(HELD_OUT) & set(trained)
    assert {(t.width, t.depth) for t in HELD_OUT}.isdisjoint({(t.width, t.depth) for t in trained})


def test_the_tasks_of_an_outer_step_are_a_function_of_seed_and_step():
    trained = families(grid(["digits"], ["dense"], [4, 8], [1, 2]))
    draw = [chosen_tasks(MetaSettings(seed=1), trained, step) for step in range(60)]
    assert draw == [chosen_tasks(MetaSettings(seed=1), trained, step) for step in range(60)]
    assert draw != [chosen_tasks(MetaSettings(seed=2), trained, step) for step in range(60)]
    assert {family for family, _ in draw} == set(trained)
    assert all(set(tasks) <= set(family.tasks) for family, tasks in draw)


def test_rows_of_a_family_are_stacked_by_data_set():
    (family,) = families([Task("digits", "dense", 4, 1, False)])
    rows, names = family_data(family)
    assert names == ("digits",) and rows.x.shape == (1, 1000, 8, 8, 1)
    assert abs(float(jnp.mean(rows.x))) < 0.1 and 0.8 < float(jnp.std(rows.x)) < 1.2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], ["dense"], [4], [1]), "no tasks to train on"),
        ((["digits"], [], [4], [1]), "no tasks to train on"),
        ((["digits"], ["dense"], [], [1]), "no tasks to train on"),
        ((["digits"], ["dense"], [4], []), "no tasks to train on"),
        ((["digits"], ["dens"], [4], [1]), "did you mean `dense`"),
        ((["digits"], ["dense"], [0], [1]), "`widths` must be a whole number of at least 1"),
        ((["digits"], ["dense"], [4], [-1]), "`depths` must be a whole number of at least 1"),
        ((["digitz"], ["dense"], [4], [1]), "did you mean `digits`"),
        ((["wine"], ["conv"], [4], [1]), "needs images"),
        ((["sinusoid"], ["dense"], [4], [1]), "to train a classifier on"),
        ((["photos-sklearn"], ["dense"], [4], [1]), "to train a classifier on"),
    ],
)
def test_tasks_that_cannot_be_made_are_named(arguments, words):
    with pytest.raises(UserError, match=words):
        families(grid(*arguments))
