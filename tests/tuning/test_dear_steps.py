"""Chains whose steps are dear: in threads, with masses that balance noise."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

import pxsgmcmc as px
from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.tuning.engine.dear_steps import (
    TRIED,
    drawn_momenta,
    find_dear_settings,
    with_noise_of,
)
from pxsgmcmc.tuning.engine.programs import Settings, Spec, make_program
from pxsgmcmc.tuning.engine.settings import at_rest
from pxsgmcmc.tuning.engine.stepper import Flat, Stepper
from pxsgmcmc.tuning.engine.terrain import balanced_masses
from pxsgmcmc.tuning.laws import GroupTerrain, Spectrum
from pxsgmcmc.tuning.measure import Measurement

CHAINS, ROWS, BATCH = 3, 48, 6
PARAMS = {
    "a": {"kernel": jnp.ones((2, 6)) / 3.0, "bias": jnp.zeros(6)},
    "b": {"kernel": jnp.ones((6, 2)) / 5.0, "bias": jnp.zeros(2)},
}


def tiny(params, x):
    hidden = jnp.tanh(x @ params["a"]["kernel"] + params["a"]["bias"][None])
    return hidden @ params["b"]["kernel"] + params["b"]["bias"][None]


def problem():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 2)).astype(np.float32)
    y = (x[:, 0] + 0.5 * rng.normal(size=ROWS) > 0).astype(np.int32)
    return px.Problem(tiny, px.likelihoods.categorical(), train=(x, y))


def program(chains):
    return make_program(problem(), Spec(None, 1, "sghmc", chains, BATCH, "loop"))


def stacked(made, chains):
    one = jax.tree.map(np.asarray, made.expanded(PARAMS))
    rng = np.random.default_rng(1)
    return jax.tree.map(
        lambda x: (x + 0.1 * rng.normal(size=(chains, *x.shape))).astype(x.dtype), one
    )


def data():
    x, y = problem().train
    return x, y, np.full(ROWS, ROWS / BATCH, np.float32)


def keys(chain):
    return tuple(jax.random.split(jax.random.key(chain))[:, None])  # stacked chains, one of them


def test_chains_in_threads_are_those_one_by_one_bit_for_bit():
    together, alone = program(CHAINS), program(1)
    state = at_rest(stacked(together, CHAINS))
    leaves = len(jax.tree.leaves(state.position))
    settings = Settings(0.01, {"base": 2.0, "factors": 3.0}, (1.0,) * leaves, 100.0).typed()
    rows = np.random.default_rng(2).integers(ROWS, size=(CHAINS, 20, BATCH)).astype(np.int32)
    own = [keys(chain) for chain in range(CHAINS)]
    count, all_active = np.int32(20), np.ones(CHAINS, bool)
    found, sums = together.advance(state, count, rows, data(), settings, own, all_active)
    for n in range(CHAINS):
        mine = jax.tree.map(lambda x: x[n : n + 1], (state, rows))  # noqa: B023
        one, its = alone.advance(
            mine[0], count, mine[1], data(), settings, own[n:][:1], np.ones(1, bool)
        )
        same = jax.tree.map(lambda a, b: np.array_equal(a[n], b[0]), (found, sums), (one, its))  # noqa: B023
        assert all(jax.tree.leaves(same))


def test_a_chain_that_is_not_active_stays_where_it_is():
    made = program(CHAINS)
    state = at_rest(stacked(made, CHAINS))
    leaves = len(jax.tree.leaves(state.position))
    settings = Settings(0.01, {"base": 2.0, "factors": 3.0}, (1.0,) * leaves, 100.0).typed()
    rows = np.zeros((CHAINS, 1, BATCH), np.int32)
    own = [keys(chain) for chain in range(CHAINS)]
    active = np.array([True, False, True])
    found, _ = made.advance(state, np.int32(1), rows, data(), settings, own, active)
    moved = jax.tree.map(
        lambda a, b: np.any(a != b, axis=tuple(range(1, a.ndim))), found.position, state.position
    )
    moved = np.any(jax.tree.leaves(moved), axis=0)
    assert moved.tolist() == active.tolist()


class MadeUp:
    """A stepper whose gradients on a batch are known: leaf times the mean of its rows' numbers."""

    def __init__(self, batch, masses=(1.0, 1.0)):
        self.values = np.random.default_rng(3).normal(size=ROWS)
        self.spec, self.count = SimpleNamespace(chains=1, batch=batch), ROWS
        self.masses = masses

    def gradients(self, positions, rows, first):
        del first
        mean = ROWS * np.mean(self.values[rows[0]])
        scales = {"a": np.full((1, 30), 0.1), "b": np.full((1, 2), 2.0)}
        return jax.tree.map(lambda s, q: (s * mean).astype(q.dtype), scales, positions)

    def flat(self):
        return Flat({"a": np.zeros(30, np.float32), "b": np.zeros(2, np.float32)}, self.masses)


PRIOR = (4.0, 1.0)  # curvatures


@pytest.mark.parametrize("before", [(1.0, 1.0), (5.0, 0.2)])
def test_masses_grow_as_the_root_of_what_the_noise_says_whatever_they_were_before(before):
    stepper = MadeUp(BATCH, before)
    flat = stepper.flat()
    position = np.zeros(32, np.float32)
    found = balanced_masses(stepper, flat, position, PRIOR)
    # The eight batches of an epoch, whose spread is that of all rows.
    order = np.random.default_rng(0).permutation(ROWS)
    means = ROWS * stepper.values[order].reshape(-1, BATCH).mean(axis=1)
    variance = np.mean((means - means.mean()) ** 2) * (1 - BATCH / ROWS) * 8 / 7
    variances = np.array([0.1, 2.0]) ** 2 * variance
    informed = 1.0 + variances / PRIOR / (ROWS / BATCH - 1)
    masses = [4.0, np.sqrt(informed[1] / informed[0])]
    # float32 sums of eight batches, squared.
    assert found.masses == pytest.approx(masses, rel=1e-5)
    shares = np.array([30, 2]) / 32
    assert found.noise == pytest.approx({"base": shares @ (variances / masses)}, rel=1e-5)
    assert found.softness == pytest.approx({"base": shares @ (PRIOR / np.array(masses))}, rel=1e-5)


def test_masses_are_the_curvatures_of_the_prior_where_there_is_no_noise():
    stepper = MadeUp(ROWS)
    found = balanced_masses(stepper, stepper.flat(), np.zeros(32, np.float32), PRIOR)
    assert found.masses == PRIOR and found.noise == {"base": 0.0}


def test_a_sampler_without_masses_has_none():
    stepper = MadeUp(BATCH)
    found = balanced_masses(stepper, stepper.flat(), np.zeros(32, np.float32), PRIOR, free=False)
    assert found.masses == (1.0, 1.0)


def test_momenta_are_drawn_with_their_masses_as_variances():
    positions = {"a": np.zeros((4, 500), np.float32), "b": np.zeros((4, 700), np.float32)}
    found = drawn_momenta(positions, (0.25, 9.0), np.random.default_rng(0))
    for name, mass in (("a", 0.25), ("b", 9.0)):
        values = found[name]
        assert values.dtype == np.float32 and values.shape == positions[name].shape
        low, high = chi2.ppf([5e-7, 1 - 5e-7], values.size) / values.size  # false alarm 1e-6 each
        assert low < np.mean(np.square(values, dtype=np.float64)) / mass < high


@pytest.mark.parametrize("sampler", ["sghmc", "sgld"])
def test_settings_are_found_that_are_within_their_bounds(sampler):
    made = program(CHAINS)
    positions = stacked(made, CHAINS)
    batches = [Batches(keys(n)[0][0], data_size=ROWS, batch_size=BATCH) for n in range(CHAINS)]
    leaves = len(jax.tree.leaves(positions))
    stepper = Stepper(
        made, data(), ROWS, batches, [keys(n + 9) for n in range(CHAINS)], (1.0,) * leaves, 100.0
    )
    state, found, taken = find_dear_settings(stepper, positions, sampler, 0.0, 0)
    # The time is over when it begins, so none is taken twice; SGHMC is tried.
    assert taken == (300 if sampler == "sgld" else 300 + TRIED)
    assert found.settings.step_size > 0.0 and found.memory > 0.0
    assert (found.settings.masses == (1.0,) * leaves) == (sampler == "sgld")
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state))


@pytest.mark.parametrize(
    ("friction", "times"), [(5.0, 1.4), (40.0, 2.5), (5.0, 0.9), (5.0, 0.2), (5.0, 9.0)]
)
def test_noise_is_what_explains_the_heat_of_steps_from_the_right_temperature(friction, times):
    """Free coordinates, whose law is known at every step; corrected by 0.75 at least, 3 at most.

    m' = (1 - h g) m + sqrt(2 h g) z - h e, E e^2 = v, gives E m'^2 from E m^2.
    """
    h, told = 1e-3, 200.0 * friction  # a tenth of heat in the end
    flat = Spectrum(np.zeros(1), np.ones(1))
    terrain = GroupTerrain(1000, flat, told, flat, 1e-6, told, 1e-6, 1e9)
    seen = Measurement({"base": terrain}, {}, 1e-6, 0.0, 10, 1, 10)
    square, total = 1.0, 0.0
    for _ in range(TRIED):
        square = (1 - h * friction) ** 2 * square + 2 * h * friction + h**2 * times * told
        total += square
    settings = Settings(h, {"base": friction}, (1.0,), 1.0)
    found = with_noise_of({"base": total / TRIED}, seen, settings).terrain["base"]
    # To first order in h g, which is up to 0.04.
    assert found.noise / told == pytest.approx(np.clip(times, 0.75, 3.0), rel=0.05)
    assert found.stiffest_noise == found.noise
