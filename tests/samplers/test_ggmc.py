"""GGMC: exact moments on a quartic target, also with noisy gradients inside a window."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from laws import LIMIT, z_of_mean
from tests.helpers.closeness import assert_close
from tests.helpers.quick_jit import long_jit, quick_jit

from pxsgmcmc.samplers import ggmc

T = 0.7


def quartic(x):
    return x**4 / 4 + x / 2


def noisy_quartic(x, noise):
    return quartic(x) + noise * x


class Setting(NamedTuple):
    h: float
    kept: float  # momentum kept by one step, a = exp(-friction h)
    window: int
    noise: float  # standard deviation of the noise on the gradients inside a window
    acceptance: float
    mass: float = 1.0


SETTINGS = {
    "every step": Setting(h=0.9, kept=0.8, window=1, noise=0.0, acceptance=0.826),
    "noisy window": Setting(h=0.6, kept=0.9, window=3, noise=2.0, acceptance=0.430),
    # A mass of 4 is the second setting in other units of time.
    "heavy window": Setting(h=1.2, kept=0.9, window=3, noise=2.0, acceptance=0.430, mass=4.0),
}
CHAINS, FORGET, KEEP = 4_096, 60, 150  # windows


def build(setting: Setting):
    friction = -np.log(setting.kept) / setting.h
    return ggmc(
        noisy_quartic,
        setting.h,
        full_potential=quartic,
        friction=float(friction),
        window=setting.window,
        temperature=T,
        mass=setting.mass,
    )


@functools.cache
def chain_averages(setting: Setting):
    """Compiled: (seed, turn) to averages over the window ends, (moments and acceptance, chains).

    A refused window leaves the reversed momentum multiplied by `turn`: 1 is the sampler as it is,
    -1 takes the reversal back, a mistake that has been published.
    """
    sampler = build(setting)

    def one_step(key, state, turn):
        noise_key, batch_key = jax.random.split(key)
        batch = setting.noise * jax.random.normal(batch_key)
        after, info = sampler.step(noise_key, state, batch)
        factor = jnp.where(info.accepted, 1.0, turn)
        start = after.start._replace(momentum=factor * after.start.momentum)
        return after._replace(momentum=factor * after.momentum, start=start), info

    def chain(key, turn):
        def add(t, carry):
            state, sums = carry
            state, info = one_step(jax.random.fold_in(key, t), state, turn)
            x, m = state.position, state.momentum
            values = jnp.stack(
                [x, x**2, x**3, x * (x**3 + 0.5), m**2 / setting.mass, info.acceptance]
            )
            counts = (t >= FORGET * setting.window) & ((t + 1) % setting.window == 0)
            return state, sums + jnp.where(counts, values, 0.0) / KEEP

        start = sampler.init(jnp.zeros(())), jnp.zeros(6)
        return jax.lax.fori_loop(0, (FORGET + KEEP) * setting.window, add, start)[1]

    def run(seed, turn):
        keys = jax.random.split(jax.random.key(seed), CHAINS)
        return jax.vmap(chain, in_axes=(0, None), out_axes=1)(keys, turn)

    return long_jit(run)


NAMES = ("x", "x^2", "x^3", "x dU", "m^2 / M")


def exact_moments() -> dict[str, float]:
    x = np.linspace(-8.0, 8.0, 200_001)
    weight = np.exp(-(quartic(x) / T))
    weight /= weight.sum()
    return dict(zip(NAMES, (weight @ x, weight @ x**2, -0.5, T, T), strict=True))


def test_worked_moments_of_the_quartic_target():
    exact = exact_moments()
    assert exact["x"] == pytest.approx(-0.389186, abs=5e-7)
    assert exact["x^2"] == pytest.approx(0.657481, abs=5e-7)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=list(SETTINGS))
def test_the_moments_are_exact(setting, seed):
    *moments, acceptance = chain_averages(setting)(seed, 1.0)
    scores = {
        name: z_of_mean(values, exact_moments()[name])
        for name, values in zip(NAMES, moments, strict=True)
    }
    assert all(abs(z) < LIMIT for z in scores.values()), scores
    known = 0.0005  # half of the last digit
    error = np.std(acceptance) / np.sqrt(CHAINS)
    assert abs(np.mean(acceptance) - setting.acceptance) < known + LIMIT * error


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=list(SETTINGS))
def test_without_the_reversal_the_target_would_be_missed(setting, seed):
    *moments, _ = chain_averages(setting)(seed, -1.0)
    squared_momentum = moments[NAMES.index("m^2 / M")]
    assert z_of_mean(squared_momentum, T) > LIMIT


@functools.cache
def one_compiled_step(setting: Setting):
    return quick_jit(build(setting).step)


def walk(setting, windows, key):
    """States (the start included) and infos of a chain."""
    state = build(setting).init(jnp.float32(0.3))
    states, infos, step = [state], [], one_compiled_step(setting)
    for t in range(windows * setting.window):
        noise_key, batch_key = jax.random.split(jax.random.fold_in(key, t))
        batch = setting.noise * jax.random.normal(batch_key)
        state, info = step(noise_key, state, batch)
        states.append(jax.tree.map(np.asarray, state))
        infos.append(jax.tree.map(np.asarray, info))
    return states, infos


def test_the_test_uses_the_energy_change_of_the_whole_window(key):
    setting = SETTINGS["noisy window"]
    states, infos = walk(setting, 40, key)
    compared = 0
    for end in range(setting.window, len(states), setting.window):
        if not infos[end - 1].accepted:
            continue
        part = states[end - setting.window : end + 1]
        x = np.array([float(s.position) for s in part])
        g = np.array([float(s.gradient) for s in part])
        change = quartic(x[-1]) - quartic(x[0])
        change -= np.sum(np.diff(x) * (g[1:] + g[:-1])) / 2
        change += setting.h**2 / 8 * (g[-1] ** 2 - g[0] ** 2)
        expected = min(1.0, np.exp(-change / T))
        assert float(infos[end - 1].acceptance) == pytest.approx(expected, rel=1e-3)
        compared += expected < 1.0
    assert compared >= 3


class FarFromZero:
    """An energy so large that float32 totals hold no digits of its changes."""

    def __call__(self, x):
        return jnp.float32(1e9) + quartic(x)

    def difference(self, new, old):
        return quartic(new) - quartic(old)


def test_a_full_potential_that_knows_its_differences_is_asked_for_them(key):
    def acceptances(full_potential):
        settings = dict(friction=1.0, window=2, temperature=T)
        sampler = ggmc(noisy_quartic, 0.9, full_potential=full_potential, **settings)
        state, step, found = sampler.init(jnp.float32(0.3)), quick_jit(sampler.step), []
        for t in range(8):
            state, info = step(jax.random.fold_in(key, t), state, jnp.float32(0.0))
            found.append(float(info.acceptance))
        return np.array(found[1::2])

    plain, kept = acceptances(quartic), acceptances(FarFromZero())
    lost = acceptances(lambda x: FarFromZero()(x))
    assert np.any(plain < 1.0)
    # Some hundred roundings of energies of size 1 in an exponent.
    assert_close(kept, plain, terms=500, scale=1.0)
    assert np.max(np.abs(lost - plain)) > 1e-2


def test_a_refused_window_returns_to_its_start_with_reversed_momentum(key):
    setting = SETTINGS["noisy window"]
    states, infos = walk(setting, 20, key)
    ends = range(setting.window, len(states), setting.window)
    refused = [end for end in ends if not infos[end - 1].accepted]
    assert 3 <= len(refused) < 20
    for end in refused:
        start, after = states[end - setting.window], states[end]
        assert after.position == start.position
        assert after.momentum == -start.momentum
        assert after.gradient == start.gradient


def test_books_are_kept_window_by_window(key):
    setting = SETTINGS["noisy window"]
    states, infos = walk(setting, 20, key)
    for t, info in enumerate(infos):
        after = states[t + 1]
        if (t + 1) % setting.window:  # inside
            assert info.accepted and np.isnan(info.acceptance)
            assert after.start.position == states[t].start.position
        else:
            assert after.work == 0.0
            assert after.start.position == after.position
            assert after.start.momentum == after.momentum
            x = float(after.position)
            assert_close(info.energy, quartic(x), terms=6, scale=quartic(abs(x)))
            slope = x**3 + 0.5  # of all the data, without noise
            assert_close(after.gradient, slope, terms=6, scale=abs(x) ** 3 + 0.5)


def test_the_step_size_is_read_at_the_start_of_a_window(key):
    sampler = ggmc(
        noisy_quartic,
        optax.polynomial_schedule(0.1, 0.0, power=1, transition_steps=12),
        full_potential=quartic,
        friction=1.0,
        window=3,
    )
    state, sizes, step = sampler.init(jnp.float32(0.0)), [], quick_jit(sampler.step)
    for t in range(6):
        state, info = step(jax.random.fold_in(key, t), state, jnp.float32(0.0))
        sizes.append(float(info.step_size))
    assert sizes == pytest.approx([0.1, 0.1, 0.1, 0.075, 0.075, 0.075])


def test_an_energy_that_is_not_finite_is_refused(key):
    def cliff(x):
        return jnp.where(jnp.abs(x) > 0.1, jnp.nan, 0.0 * x)

    sampler = ggmc(lambda x, _: cliff(x), 1.0, full_potential=cliff, friction=1.0)
    start = sampler.init(jnp.float32(0.0))._replace(momentum=jnp.float32(3.0))
    start = start._replace(start=start.start._replace(momentum=jnp.float32(3.0)))
    state, info = quick_jit(sampler.step)(key, start, None)
    assert not info.accepted and float(info.acceptance) == 0.0
    assert (float(state.position), float(state.momentum)) == (0.0, -3.0)
