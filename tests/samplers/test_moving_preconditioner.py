"""pSGLD and SGRHMC while their preconditioner moves: step by step, and in law from exact draws."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from laws import LIMIT, Law, sgld_law, sgrhmc_law
from tests.helpers.closeness import assert_close
from tests.helpers.quick_jit import long_jit, quick_jit

from pxsgmcmc.samplers import psgld, sgrhmc
from pxsgmcmc.tree import normal_like

# A mode in each leaf, and one coordinate whose first gradient is exactly zero.
START = {"a": np.array([0.0, 1.5, -0.5, 0.2]), "b": np.array([[2.0], [-1.0]])}
CURVATURE = {"a": 3.0, "b": 0.5}
H, T, B, E, G, M = 0.05, 0.7, 0.9, 1e-3, 2.0, 1.5
STEPS = 25


def quadratic(position, batch):
    return sum(CURVATURE[k] * jnp.sum(x**2) / 2 + batch * jnp.sum(x) for k, x in position.items())


def first_square(gradient, start):
    if start == "zero":
        return np.zeros_like(gradient)
    return np.maximum(gradient**2, np.mean(gradient**2))


def written_down(name, start, noises, batches):
    """The recursion of the docstrings in NumPy, on the sampler's own normals."""
    q = {k: x.copy() for k, x in START.items()}
    m, v, path = {k: np.zeros_like(x) for k, x in START.items()}, None, []
    for z, batch in zip(noises, batches, strict=True):
        dU = {k: CURVATURE[k] * q[k] + batch for k in q}
        if v is None:
            v = {k: first_square(dU[k], start) for k in q}
        for k in q:
            v[k] = B * v[k] + (1 - B) * dU[k] ** 2
            if name == "psgld":
                P = 1 / (np.sqrt(v[k]) + E)
                q[k] = q[k] - H * P * dU[k] + np.sqrt(2 * H * T * P) * z[k]
            else:
                p = 1 / np.sqrt(E + np.sqrt(v[k]))
                m[k] = m[k] - H * p * dU[k] - H * G * p**2 * m[k]
                m[k] = m[k] + np.sqrt(2 * H * G * T * M) * p * z[k]
                q[k] = q[k] + H * p * m[k] / M
        path.append({k: x.copy() for k, x in q.items()})
    return path


@pytest.mark.parametrize("start", ["gradient", "zero"])
@pytest.mark.parametrize("name", ["psgld", "sgrhmc"])
def test_each_step_is_the_recursion_with_the_square_of_this_very_gradient(name, start, key):
    settings = dict(temperature=T, decay=B, epsilon=E, preconditioner_start=start)
    builders = {"psgld": psgld, "sgrhmc": functools.partial(sgrhmc, friction=G, mass=M)}
    sampler = builders[name](quadratic, H, **settings)
    position = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), START)
    batches = np.concatenate([[0.0], np.random.default_rng(0).normal(size=STEPS - 1)])
    state, step, path, noises = sampler.init(position), quick_jit(sampler.step), [], []
    for t, batch in enumerate(batches):
        noise = normal_like(jax.random.fold_in(key, t), position)
        noises.append(jax.tree.map(np.asarray, noise))
        state, _ = step(jax.random.fold_in(key, t), state, jnp.float32(batch))
        path.append(jax.tree.map(np.asarray, state.position))
    for found, expected in zip(path, written_down(name, start, noises, batches), strict=True):
        for k in START:  # a dozen roundings a step, of what the largest step so far was made of
            assert_close(found[k], expected[k], terms=40 * STEPS, scale=1 + np.abs(expected[k]))


# From exact draws of a normal target, in leaves of many coordinates and of unequal curvature.
CURVATURES = {"flat": 0.25, "round": 1.0, "steep": 16.0}
NOISE = {"flat": 0.0, "round": 2.0, "steep": 0.0}  # variance of that on the gradient
COORDINATES, CHAINS, DECAY, HEAT = 32, 1_024, 0.999, 0.5
STEP = {"psgld": 0.05, "sgrhmc": 0.1}
MARKS = (1, 3, 10, 30, 100, 600)
# The divergence of the preconditioner, which both leave out, widens a variance by about (1 - b) / 2
# times the steps in which a coordinate forgets where it was: 30 at most here, so 1.5 %. The rest is
# for a preconditioner that is not quite at rest yet.
LEFT_OUT = 0.02


def build(name, potential, **options):
    settings = dict(temperature=HEAT, decay=DECAY, **options)
    if name == "psgld":
        return psgld(potential, STEP[name], **settings)
    return sgrhmc(potential, STEP[name], friction=1.0, **settings)


@functools.cache
def variances(name: str, start: str, marks: tuple[int, ...]):
    """Compiled: a seed to lam q^2 / T averaged over chains and coordinates, a row for each mark."""

    def potential(q, batch):
        exact = sum(jnp.sum(lam * q[k] ** 2 / 2) for k, lam in CURVATURES.items())
        return exact + np.sqrt(NOISE["round"]) * jnp.sum(batch * q["round"])

    sampler = build(name, potential, preconditioner_start=start)

    def chain(key):
        start_key, key = jax.random.split(key)
        like = {k: jnp.zeros(COORDINATES) for k in CURVATURES}
        position_key, momentum_key = jax.random.split(start_key)
        z = normal_like(position_key, like)
        q = {k: np.sqrt(HEAT / lam) * z[k] for k, lam in CURVATURES.items()}
        state = sampler.init(q)
        if hasattr(state, "momentum"):
            r = normal_like(momentum_key, like)
            state = state._replace(momentum={k: np.sqrt(HEAT) * r[k] for k in r})

        def transition(t, state):
            noise_key, batch_key = jax.random.split(jax.random.fold_in(key, t))
            batch = jax.random.normal(batch_key, (COORDINATES,))
            return sampler.step(noise_key, state, batch)[0]

        rows, done = [], 0
        for mark in marks:
            state = jax.lax.fori_loop(done, mark, transition, state)
            rows.append({k: lam * state.position[k] ** 2 / HEAT for k, lam in CURVATURES.items()})
            done = mark
        return rows

    def run(seed):
        rows = jax.vmap(chain)(jax.random.split(jax.random.key(seed), CHAINS))
        return [{k: x.mean() for k, x in row.items()} for row in rows]

    return long_jit(run)


def law_at_rest(name: str, leaf: str) -> Law:
    """That of a preconditioner frozen at the mean square it settles at, in the coordinate q."""
    lam, v, h = CURVATURES[leaf], NOISE[leaf], STEP[name]
    law = Law(HEAT / lam)
    for _ in range(50):
        root = np.sqrt(lam**2 * law.position + v)
        if name == "psgld":
            law = sgld_law(lam=lam, h=h, T=HEAT, v=v, mass=root)
        else:
            law = sgrhmc_law(lam=lam, h=h, g=1.0, T=HEAT, v=v, p=root**-0.5)
    return law


@pytest.mark.parametrize("name", ["psgld", "sgrhmc"])
def test_started_at_exact_draws_the_chain_stays_at_its_law(name, seed):
    """False alarms: |z| < 4.5 for 3 leaves at each of 6 marks, below 2e-4 a seed and sampler."""
    rows = variances(name, "gradient", MARKS)(seed)
    error = np.sqrt(2 / (CHAINS * COORDINATES))
    for leaf, lam in CURVATURES.items():
        rest = law_at_rest(name, leaf).position * lam / HEAT
        for mark, row in zip(MARKS, rows, strict=True):
            # On the way from the variance of the target to that at rest a coordinate's square is
            # made of few gradients, and knows where the coordinate is: 11 % off were seen.
            low, high = min(1.0, rest) - 0.15, max(1.0, rest) + 0.15
            if mark == MARKS[-1]:
                low, high = rest * (1 - LEFT_OUT), rest * (1 + LEFT_OUT)
            assert low - LIMIT * error < float(row[leaf]) < high + LIMIT * error, (leaf, mark)


@pytest.mark.parametrize("name", ["psgld", "sgrhmc"])
def test_the_published_start_throws_such_a_chain_away(name, seed):
    (first,) = variances(name, "zero", (1,))(seed)
    assert all(float(first[leaf]) > 2.0 for leaf in CURVATURES)


@pytest.mark.parametrize("build", [psgld, functools.partial(sgrhmc, friction=1.0)])
def test_a_decay_of_one_freezes_the_square_of_the_first_gradient(build, key):
    sampler = build(quadratic, 0.01, decay=1.0)
    state, step = sampler.init({"a": jnp.array([1.0, 0.0]), "b": jnp.ones((2, 1))}), sampler.step
    for t in range(3):
        state, _ = quick_jit(step)(jax.random.fold_in(key, t), state, jnp.float32(0.0))
        np.testing.assert_allclose(state.square["a"], [9.0, 4.5], rtol=1e-6)
