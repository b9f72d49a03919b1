"""The sampler that CONTRIBUTING tells people to copy, under the tests it tells them to write."""

import functools

import jax.numpy as jnp
import pytest
from chains import grid, last_states, skeleton_builder
from laws import Law, misses, z_scores

CASES = grid(lam=[1, 4], h=[0.1, 0.3], v=[0, 10])


def skeleton_law(*, lam, h, T, v):
    """T / lam at every step size, and the gradient's noise as in SGLD."""
    return Law(T / lam + h * v / (lam * (2 - h * lam)))


@functools.cache
def simulation(T):
    def build(potential, chains, case):
        sampler = skeleton_builder()(potential, lambda step: case["h"], temperature=T)
        return sampler, sampler.init(jnp.zeros(chains))

    return last_states(build, CASES, chains=32_768, steps=80)


@pytest.mark.parametrize("T", [0.5])
def test_the_skeleton_has_the_stationary_law_of_its_recursion(T, seed):
    scores = z_scores(skeleton_law(**CASES, T=T), simulation(T)(seed).position)
    assert not misses(CASES, scores)
