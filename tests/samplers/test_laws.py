"""Each sampler has exactly the stationary law of its own discretisation, in several hundred cases.

sampler x curvature x step x friction x temperature x gradient noise (x mass or preconditioner).
"""

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from chains import grid, last_states
from laws import l2e_law, misses, sghmc_law, sghmc_recursion, sgld_law, sgrhmc_law, z_scores

from pxsgmcmc.samplers import l2e, psgld, sghmc, sgld, sgrhmc

CHAINS = 32_768  # a variance is known to 0.8 %, so an error of 4 % in it is seen
TEMPERATURES = (0.5, 1.5)


def constant(h):
    return lambda step: h  # a traced step size, so that many share one compilation


def build_sgld(T, potential, chains, case):
    sampler = sgld(potential, constant(case["h"]), temperature=T, mass=case["mass"])
    return sampler, sampler.init(jnp.zeros(chains))


def build_psgld(T, potential, chains, case):
    sampler = psgld(
        potential,
        constant(case["h"]),
        temperature=T,
        decay=1.0,
        preconditioner_start="zero",
        mass=2.0,
    )
    square = jnp.broadcast_to((case["mass"] / 2.0) ** 2, (chains,))  # G = 1 / mass, frozen
    return sampler, sampler.init(jnp.zeros(chains))._replace(square=square)


def build_sghmc(T, potential, chains, case):
    sampler = sghmc(
        potential, constant(case["h"]), friction=case["g"], temperature=T, mass=case["mass"]
    )
    return sampler, sampler.init(jnp.zeros(chains))


def build_sgrhmc(T, potential, chains, case):
    sampler = sgrhmc(
        potential,
        constant(case["h"]),
        friction=case["g"],
        temperature=T,
        decay=1.0,
        preconditioner_start="zero",
        mass=case["mass"],
    )
    square = jnp.broadcast_to(case["p"] ** -4, (chains,))  # p = square^(-1/4), frozen
    return sampler, sampler.init(jnp.zeros(chains))._replace(square=square)


L2E_NOISE = 0.2


def build_l2e(T, potential, chains, case):
    sampler = l2e(
        potential,
        constant(case["h"]),
        data_size=7,  # of no consequence where the outputs are known
        weights=lambda g, q, r, v: (0.0 * r, case["k"] * r),
        friction=case["a"],
        temperature=T,
        noise_multiplier=L2E_NOISE,
    )
    return sampler, sampler.init(jnp.zeros(chains))


# name: builder, exact law, cases, steps
TABLE = {
    "sgld": (
        build_sgld,
        sgld_law,
        grid(lam=[1, 3, 8], h=[0.05, 0.1, 0.2], v=[0, 20], mass=[1, 2]),
        200,
    ),
    "psgld": (
        build_psgld,
        sgld_law,
        grid(lam=[1, 4], h=[0.1, 0.2], v=[0, 10], mass=[0.5, 2]),
        120,
    ),
    "sghmc": (
        build_sghmc,
        sghmc_law,
        grid(lam=[1, 3, 8], h=[0.1, 0.2, 0.4], g=[0.7, 2], v=[0, 10], mass=[1, 2]),
        160,
    ),
    "sgrhmc": (
        build_sgrhmc,
        sgrhmc_law,
        grid(lam=[1, 5], h=[0.1, 0.3], g=[1, 3], v=[0, 5], p=[0.7, 1.3], mass=[1, 2.5]),
        300,
    ),
    "l2e": (
        build_l2e,
        functools.partial(l2e_law, s=L2E_NOISE),
        grid(lam=[1, 4], h=[0.1, 0.3], k=[0.7, 2], a=[1], v=[0, 5]),
        200,
    ),
}


@functools.cache
def simulation(name: str, T: float):
    build, _, cases, steps = TABLE[name]
    stream = len(TEMPERATURES) * list(TABLE).index(name) + TEMPERATURES.index(T)
    build_at_T = functools.partial(build, T)
    return last_states(build_at_T, cases, chains=CHAINS, steps=steps, stream=stream)


@pytest.mark.parametrize("T", TEMPERATURES)
@pytest.mark.parametrize("name", TABLE)
def test_the_chain_has_the_stationary_law_of_its_recursion(name, T, seed):
    _, law, cases, _ = TABLE[name]
    state = simulation(name, T)(seed)
    scores = z_scores(law(T=T, **cases), state.position, getattr(state, "momentum", None))
    assert not misses(cases, scores)


def test_at_least_two_hundred_cases_are_compared():
    assert len(TEMPERATURES) * sum(cases["lam"].size for _, _, cases, _ in TABLE.values()) >= 200


def slowest_factor(case: dict[str, float]) -> float:
    """By how much one step shrinks what is left of the start."""
    if "k" in case:  # L2E is SGHMC of friction a k and mass 1 / k
        case = case | {"g": case["a"] * case["k"], "mass": 1.0 / case["k"]}
    if "g" not in case:
        return abs(1 - case["h"] * case["lam"] / case["mass"])
    p2 = case.get("p", 1.0) ** 2
    A, _ = sghmc_recursion(
        lam=p2 * case["lam"], h=case["h"], g=p2 * case["g"], T=1.0, mass=case.get("mass", 1.0)
    )
    return max(abs(np.linalg.eigvals(A)))


@pytest.mark.parametrize("name", TABLE)
def test_the_chains_run_until_their_start_is_forgotten(name):
    _, _, cases, steps = TABLE[name]
    for index in range(cases["lam"].size):
        left = slowest_factor({key: column[index] for key, column in cases.items()})
        assert left ** (2 * steps) < 5e-4  # of the variance: far below its Monte-Carlo error
