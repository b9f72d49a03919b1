"""The rules of the search, on made-up losses."""

import itertools
import math
import random

import pytest

from pxsgmcmc.tuning.best_first import (
    Axis,
    PlannedChain,
    Rules,
    neighbours,
    ranking,
    replay,
    settled,
)

GRID = (-2, 0, 2)
SEEDS = (7, 8, 9)


def rules(axes=2, stride=1, most=400):
    one, two = ([Axis(f"{m}{i}", 1.0, GRID, stride) for i in range(axes)] for m in "ab")
    return Rules({"one": one, "two": two}, SEEDS, most)


def finished(rules, loss):
    """The losses of a whole search."""
    known = {}
    while wave := replay(rules, known)[1]:
        known |= {chain: loss(chain) for chain in wave}
    return known


def bowl(centres, noise=0.0):
    """A loss with a lowest point for each method, and noise that depends on the chain alone."""

    def loss(chain):
        centre = centres[chain.method]
        jitter = random.Random(repr(chain)).gauss(0.0, noise)
        return sum((x - c) ** 2 for x, c in zip(chain.point, centre, strict=True)) + jitter

    return loss


def count(known, method):
    return sum(chain.method == method for chain in known)


def test_an_optimum_between_points_of_the_grid_is_found():
    known = finished(rules(), bowl({"one": (1, -1), "two": (0, 1)}))
    assert ranking(known, "one")[0].point == (1, -1)
    assert ranking(known, "two")[0].point == (0, 1)


def test_an_optimum_far_outside_the_grid_is_followed_and_ends_inside_what_was_tried():
    known = finished(rules(), bowl({"one": (9, -7), "two": (0, 0)}))
    best = ranking(known, "one")[0]
    assert best.point == (9, -7)
    tried = {chain.point for chain in known if chain.method == "one"}
    assert set(neighbours(rules().axes["one"], best.point)) <= tried
    for axis, place in enumerate(best.point):
        assert min(p[axis] for p in tried) < place < max(p[axis] for p in tried)


def test_a_stride_of_two_stays_on_the_lattice_of_the_grid():
    known = finished(rules(stride=2), bowl({"one": (5, 1), "two": (0, 0)}))
    assert all(place % 2 == 0 for chain in known for place in chain.point)


@pytest.mark.parametrize("trial", range(20))
def test_both_methods_use_the_same_number_of_chains_and_settle_under_noise(trial):
    draw = random.Random(trial)
    centres = {m: [draw.randint(-5, 5) for _ in range(3)] for m in ("one", "two")}
    known = finished(rules(axes=3), bowl(centres, noise=0.8))
    assert count(known, "one") == count(known, "two")
    for method in centres:
        assert settled(rules(axes=3), known, method)
        assert ranking(known, method)[0].seeds == len(SEEDS)


def test_the_methods_may_have_different_numbers_of_axes():
    unequal = Rules({"one": rules().axes["one"], "two": rules(axes=3).axes["two"]}, SEEDS, 400)
    known = finished(unequal, bowl({"one": (0, 0), "two": (1, 1, 3)}))
    assert count(known, "one") == count(known, "two")
    assert ranking(known, "two")[0].point == (1, 1, 3)


def test_one_lucky_seed_does_not_win():
    even = bowl({"one": (0, 0), "two": (0, 0)})
    lucky = PlannedChain("one", (2, 2), SEEDS[0])
    known = finished(rules(), lambda chain: -5.0 if chain == lucky else even(chain))
    assert ranking(known, "one")[0].point == (0, 0)
    assert {chain.seed for chain in known if chain.point == (2, 2)} >= set(SEEDS)


def test_diverged_points_are_never_chosen():
    def loss(chain):
        high = chain.point[0] > 1
        return math.inf if high else bowl({"one": (3, 0), "two": (0, 0)})(chain)

    known = finished(rules(), loss)
    assert ranking(known, "one")[0].point == (1, 0)
    assert known[PlannedChain("one", (2, 0), SEEDS[0])] == math.inf


def test_a_search_stopped_anywhere_goes_on_as_if_it_had_not_been():
    loss = bowl({"one": (4, 1), "two": (-1, 0)}, noise=0.5)
    whole = finished(rules(), loss)
    draw = random.Random(0)
    for _ in range(20):
        known: dict[PlannedChain, float] = {}
        while wave := replay(rules(), known)[1]:
            done = draw.sample(wave, draw.randint(1, len(wave)))  # stopped within a wave
            known |= {chain: loss(chain) for chain in done}
        assert known == whole


def test_a_method_never_uses_more_chains_than_it_may():
    slope = finished(rules(most=30), lambda chain: -float(chain.point[0]))
    assert count(slope, "one") == count(slope, "two") == 30
    assert not settled(rules(most=30), slope, "one")


def test_every_chain_of_a_wave_is_new_and_asked_for_once():
    known: dict[PlannedChain, float] = {}
    loss = bowl({"one": (3, 3), "two": (-3, 0)}, noise=0.5)
    while wave := replay(rules(), known)[1]:
        assert len(set(wave)) == len(wave) and not set(wave) & set(known)
        known |= {chain: loss(chain) for chain in wave}


def test_the_first_wave_is_the_grid_of_both_methods():
    wave = replay(rules(), {})[1]
    points = list(itertools.product(GRID, GRID))
    assert sorted(wave) == sorted(
        PlannedChain(m, p, SEEDS[0]) for m in ("one", "two") for p in points
    )
