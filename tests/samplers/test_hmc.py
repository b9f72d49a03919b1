"""HMC: exact target at every step size, the acceptance rate theory predicts, a reversible map."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from chains import grid
from laws import LIMIT, Law, misses, z_of_mean, z_scores
from tests.helpers.quick_jit import quick_jit

from pxsgmcmc.samplers import hmc
from pxsgmcmc.samplers.hmc import leapfrog


def expected_change(lam, h, L):
    """Mean of dH / T over one trajectory on lam q^2 / 2, started in equilibrium."""
    phi = np.arccos(1 - h**2 * lam / 2)
    chi = 1 / np.sqrt(1 - h**2 * lam / 4)
    return np.sin(L * phi) ** 2 * (chi - 1 / chi) ** 2 / 2


def expected_acceptance(lam, h, L):
    return 1 - 2 / np.pi * np.arctan(np.sqrt(expected_change(lam, h, L) / 2))


ACCEPTANCE = [  # curvature, step size, leapfrog steps, acceptance
    (1.0, 1.2, 3, 0.90630),
    (4.0, 0.8, 5, 0.94876),
    (100.0 / 3.0, 0.05, 10, 0.99838),
    (1.0, 1.9, 1, 0.54879),
]


def one_dimensional(lam):
    return lambda q, batch: lam * q**2 / 2


def test_worked_number_of_the_mean_energy_change():
    assert expected_change(1.0, 1.2, 3) == pytest.approx(0.04396, abs=5e-6)


@functools.cache
def one_step_from_equilibrium(lam, h, L, T, mass):
    sampler = hmc(one_dimensional(lam), h, leapfrog_steps=L, temperature=T, mass=mass)

    def chain(key):
        start_key, step_key = jax.random.split(key)
        q = jnp.sqrt(T / lam) * jax.random.normal(start_key)
        return sampler.step(step_key, sampler.init(q), None)

    return quick_jit(lambda seed: jax.vmap(chain)(jax.random.split(jax.random.key(seed), 50_000)))


@pytest.mark.parametrize("mass", [1.0, 2.5])
@pytest.mark.parametrize(("lam", "h", "L", "rate"), ACCEPTANCE)
def test_acceptance_follows_the_formula(lam, h, L, rate, mass, seed):
    assert expected_acceptance(lam, h, L) == pytest.approx(rate, abs=5e-6)
    lam = lam * mass  # the dynamics know the curvature over the mass alone
    state, info = one_step_from_equilibrium(lam, h, L, 0.7, mass)(seed)
    assert abs(z_of_mean(info.acceptance, rate)) < LIMIT
    # The outcome of the test happens as often as its probability says.
    assert abs(z_of_mean(info.accepted, rate)) < LIMIT
    assert abs(z_scores(Law(0.7 / lam), np.asarray(state.position))["var position"]) < LIMIT


SCALED = grid(lam=[0.5, 2, 8], scaled_h=[0.7, 1.2, 1.5])  # h sqrt(lam); 2 is the limit


@functools.cache
def long_chains(T, chains=8_192, steps=30):
    def run(key, lam, h):
        sampler = hmc(one_dimensional(lam), lambda step: h, leapfrog_steps=3, temperature=T)

        def transition(t, state):
            return sampler.step(jax.random.fold_in(key, t), state, None)[0]

        return jax.lax.fori_loop(0, steps, transition, sampler.init(jnp.zeros(()))).position

    over_chains = jax.vmap(run, in_axes=(0, None, None))
    over_cases = quick_jit(jax.vmap(over_chains, in_axes=(None, 0, 0)))
    lam = jnp.asarray(SCALED["lam"], jnp.float32)
    h = jnp.asarray(SCALED["scaled_h"], jnp.float32) / jnp.sqrt(lam)
    return lambda seed: over_cases(jax.random.split(jax.random.key(seed), chains), lam, h)


@pytest.mark.parametrize("T", [0.5, 1.5])
def test_the_target_is_exact_at_every_step_size(T, seed):
    scores = z_scores(Law(T / SCALED["lam"]), np.asarray(long_chains(T)(seed)))
    assert not misses(SCALED, scores)


def anharmonic(q, batch):
    return jnp.sum(q["a"] ** 4) / 4 + jnp.sum(q["b"] ** 2) + jnp.sin(jnp.sum(q["a"]) * q["b"][0])


MASS = {"a": 2.0, "b": 0.5}
trajectory = quick_jit(lambda h, L, q, m: leapfrog(anharmonic, h, L, q, m, None, MASS))


def start_in_float64():
    rng = np.random.default_rng(3)
    position = {"a": jnp.asarray(rng.normal(size=3)), "b": jnp.asarray(rng.normal(size=2))}
    momentum = jax.tree.map(lambda x: jnp.asarray(rng.normal(size=x.shape)), position)
    return position, momentum


def test_the_trajectory_is_reversible():
    with jax.enable_x64(True):
        q, m = start_in_float64()
        there, m_there, _ = trajectory(0.05, 40, q, m)
        turned = jax.tree.map(jnp.negative, m_there)
        back, m_back, _ = trajectory(0.05, 40, there, turned)
        assert not jax.tree.all(jax.tree.map(lambda x, y: jnp.allclose(x, y), q, there))
        for name in q:
            np.testing.assert_allclose(back[name], q[name], rtol=0, atol=1e-10)
            np.testing.assert_allclose(-m_back[name], m[name], rtol=0, atol=1e-10)


def test_the_energy_error_falls_with_the_square_of_the_step():
    with jax.enable_x64(True):
        q, m = start_in_float64()

        def total(q, m):
            kinetic = sum(float(jnp.sum(m[k] ** 2)) / (2 * MASS[k]) for k in m)
            return float(anharmonic(q, None)) + kinetic

        sizes = 1.0 / np.array([40, 80, 160, 320])
        errors = []
        for h in sizes:
            q1, m1, _ = trajectory(h, round(1 / h), q, m)
            errors.append(abs(total(q1, m1) - total(q, m)))
    assert np.polyfit(np.log(sizes), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.05)


def test_energies_reported_are_those_of_the_kept_position(key):
    sampler = hmc(one_dimensional(1.0), 1.9, leapfrog_steps=1)
    step = quick_jit(sampler.step)
    state, outcomes = sampler.init(jnp.float32(1.0)), []
    for t in range(30):
        before = state.position
        state, info = step(jax.random.fold_in(key, t), state, None)
        outcomes.append(bool(info.accepted))
        assert float(info.energy) == pytest.approx(float(state.position) ** 2 / 2, rel=1e-6)
        assert (state.position == before) == (not info.accepted)
    assert 0 < sum(outcomes) < 30


@pytest.mark.parametrize("metropolis", [True, False])
def test_an_end_that_is_not_finite_is_refused(metropolis, key):
    @quick_jit
    def steps(keys, bad):
        def wall(q, batch):
            return jnp.where(q > 0.5, bad, 0.0 * q)

        sampler = hmc(wall, 0.5, leapfrog_steps=4, metropolis=metropolis)
        return jax.vmap(lambda k: sampler.step(k, sampler.init(jnp.zeros(())), None))(keys)

    for bad in (jnp.nan, jnp.inf):
        states, infos = steps(jax.random.split(jax.random.clone(key), 64), bad)
        states, infos = jax.tree.map(np.asarray, (states, infos))
        assert np.all(states.position <= 0.5)
        assert 0 < np.sum(infos.accepted) < 64
        assert np.all(infos.acceptance[~infos.accepted] == 0.0)


def test_burn_in_without_the_test_accepts_what_the_test_would_refuse(key):
    sampler = hmc(one_dimensional(1.0), 1.99, leapfrog_steps=1, metropolis=False)
    start = sampler.init(jnp.float32(0.01))
    keys = jax.random.split(key, 64)
    _, infos = quick_jit(jax.vmap(lambda k: sampler.step(k, start, None)))(keys)
    assert np.all(infos.accepted) and np.any(np.asarray(infos.acceptance) < 0.5)


class FarFromZero:
    """An energy so large that float32 totals hold no digits of its changes."""

    def __call__(self, q, batch):
        return jnp.float32(1e9) + jnp.sum(q**2) / 2

    def difference(self, new, old, batch):
        return jnp.sum((new - old) * (new + old)) / 2


def test_a_potential_that_knows_its_differences_is_asked_for_them(key):
    lost = hmc(lambda q, batch: FarFromZero()(q, batch), 1.2, leapfrog_steps=3)
    kept = hmc(FarFromZero(), 1.2, leapfrog_steps=3)
    plain = hmc(lambda q, batch: jnp.sum(q**2) / 2, 1.2, leapfrog_steps=3)
    acceptances = [
        float(quick_jit(s.step)(jax.random.clone(key), s.init(jnp.ones(4)), None)[1].acceptance)
        for s in (plain, kept, lost)
    ]
    assert acceptances[1] == pytest.approx(acceptances[0], rel=1e-5)
    assert acceptances[2] != pytest.approx(acceptances[0], rel=1e-3)
