"""The oracles themselves: closed forms against a linear solver, worked numbers, negative controls.

A test that cannot fail proves nothing, so wrong samplers are shown to be caught as well.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from chains import grid, last_states
from laws import (
    LIMIT,
    Law,
    explicit_euler_law,
    misses,
    sghmc_law,
    sghmc_recursion,
    sgld_law,
    stationary_covariance,
    z_of_mean,
    z_scores,
)
from tests.helpers.quick_jit import long_jit

from pxsgmcmc.samplers import sghmc, sgld
from pxsgmcmc.types import Sampler, StepInfo

CASES = grid(lam=[1, 3], h=[0.2], g=[1, 2], v=[0])
CHAINS, STEPS = 65_536, 160


def test_sghmc_worked_example():
    law = sghmc_law(lam=3.0, h=0.1, g=1.0, T=0.5)
    assert law == pytest.approx((0.16799293, 0.53050398, 0.02652520), abs=5e-9)


def test_explicit_euler_worked_example():
    law = explicit_euler_law(lam=3.0, h=0.1, g=1.0, T=0.5)
    assert law[:2] == pytest.approx((0.23996, 0.74599), abs=5e-6)


def test_sgld_worked_example():
    assert sgld_law(lam=2.0, h=0.1, T=0.7).position == pytest.approx(0.7 / 1.8)


@pytest.mark.parametrize("mass", [1.0, 0.4, 3.0])
@pytest.mark.parametrize("v", [0.0, 7.0])
def test_sghmc_closed_form_solves_the_linear_recursion(mass, v):
    setting = dict(lam=3.0, h=0.2, g=1.3, T=0.5, v=v, mass=mass)
    S = stationary_covariance(*sghmc_recursion(**setting))
    assert sghmc_law(**setting) == pytest.approx((S[0, 0], S[1, 1], S[0, 1]), rel=1e-10)


def test_virial_identity_of_sghmc():
    law = sghmc_law(lam=3.0, h=0.2, g=1.3, T=0.5)
    assert 3.0 * law.position == pytest.approx((1 - 0.2 * 1.3 / 2) * law.momentum)


def test_explicit_euler_closed_form_solves_its_recursion():
    lam, h, g, T = 3.0, 0.1, 1.0, 0.5
    A = np.array([[1.0, h], [-h * lam, 1 - h * g]])
    S = stationary_covariance(A, np.diag([0.0, 2 * h * g * T]))
    law = explicit_euler_law(lam=lam, h=h, g=g, T=T)
    assert law == pytest.approx((S[0, 0], S[1, 1], S[0, 1]), rel=1e-10)


def explicit_euler(potential, h, g, T) -> Sampler:
    """The usual mistake: the position moves with the momentum of before the kick."""
    right = sghmc(potential, lambda step: h, friction=g, temperature=T)

    def step(key, state, batch):
        after, info = right.step(key, state, batch)
        return after._replace(position=state.position + h * state.momentum), StepInfo(*info)

    return Sampler(right.init, step)


def test_explicit_euler_is_told_from_our_order_of_updates(seed):
    def build(potential, chains, case):
        sampler = explicit_euler(potential, case["h"], case["g"], 0.5)
        return sampler, sampler.init(jnp.zeros(chains))

    state = last_states(build, CASES, chains=CHAINS, steps=200)(seed)
    setting = {name: CASES[name] for name in ("lam", "h", "g")}
    its_own = z_scores(explicit_euler_law(**setting, T=0.5), state.position, state.momentum)
    ours = z_scores(sghmc_law(**CASES, T=0.5), state.position, state.momentum)
    assert not misses(CASES, its_own)
    for what in ("var position", "var momentum", "cov"):
        assert np.all(np.abs(ours[what]) > LIMIT)


def test_three_per_cent_too_much_noise_is_caught_and_so_is_a_covariance_of_wrong_sign(seed):
    def build(potential, chains, case):
        h, g = case["h"], case["g"]
        sampler = sghmc(potential, lambda step: h, friction=g, temperature=0.5, noise=case["s"])
        return sampler, sampler.init(jnp.zeros(chains))

    cases = grid(lam=[1, 3], h=[0.1], g=[1, 2], v=[0], s=[1.0, 1.03])
    state = last_states(build, cases, chains=CHAINS, steps=STEPS)(seed)
    law = sghmc_law(**{name: cases[name] for name in ("lam", "h", "g", "v")}, T=0.5)
    right = cases["s"] == 1.0
    scores = z_scores(law, state.position, state.momentum)
    assert np.all(np.abs(scores["var position"][right]) < LIMIT)
    assert np.all(scores["var position"][~right] > LIMIT)
    mirrored = z_scores(law._replace(covariance=-law.covariance), state.position, state.momentum)
    assert np.all(mirrored["cov"] > LIMIT)


def test_the_law_of_continuous_time_is_told_from_the_law_of_the_chain(seed):
    def build(potential, chains, case):
        sampler = sgld(potential, lambda step: case["h"], temperature=0.7)
        return sampler, sampler.init(jnp.zeros(chains))

    cases = grid(lam=[2.0], h=[0.1], v=[0.0])
    q = last_states(build, cases, chains=CHAINS, steps=60)(seed).position
    assert np.abs(z_scores(sgld_law(**cases, T=0.7), q)["var position"]) < LIMIT
    assert z_scores(Law(0.7 / cases["lam"]), q)["var position"] > 3 * LIMIT


def test_groups_have_their_own_friction_mass_and_noise(seed):
    lam, h, T, n, steps = 2.0, 0.2, 0.5, CHAINS, 160
    friction, mass = {"base": 2.0, "factors": 0.5}, {"base": 1.0, "factors": 3.0}

    def potential(q, _):
        return sum(jnp.sum(lam * leaf**2 / 2) for leaf in jax.tree.leaves(q))

    sampler = sghmc(potential, h, friction=friction, temperature=T, mass=mass)
    start = sampler.init({"base": jnp.zeros(n), "factors": [jnp.zeros(n), jnp.zeros(n)]})
    key = jax.random.key(seed)

    def transition(t, state):
        return sampler.step(jax.random.fold_in(key, t), state, None)[0]

    state = long_jit(lambda state: jax.lax.fori_loop(0, steps, transition, state))(start)
    q, m = state.position, state.momentum
    pairs = [
        ("base", q["base"], m["base"]),
        ("factors", q["factors"][0], m["factors"][0]),
        ("factors", q["factors"][1], m["factors"][1]),
    ]
    for group, position, momentum in pairs:
        law = sghmc_law(lam=lam, h=h, g=friction[group], T=T, mass=mass[group])
        scores = z_scores(law, np.asarray(position), np.asarray(momentum))
        assert all(abs(z) < LIMIT for z in scores.values()), (group, scores)
    # Leaves of one group must not share their noise.
    product = np.asarray(q["factors"][0] * q["factors"][1])
    assert abs(z_of_mean(product, 0.0)) < LIMIT
