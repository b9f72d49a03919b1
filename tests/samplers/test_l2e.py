"""L2E: its step against NumPy, its law with a known network, weights that are not fit to use."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from l2e_networks import by_hand, passing_weights, random_weights
from laws import l2e_law, stationary_covariance
from tests.helpers.chain_problems import DATA, DATA_SIZE, PARAMS, PLAN, U
from tests.helpers.quick_jit import long_jit, quick_jit

import pxsgmcmc as px
from pxsgmcmc.errors import UserError
from pxsgmcmc.samplers.l2e import DECAYS
from pxsgmcmc.tree import normal_like

N, H, A, T, S = 50, 0.3, 0.4, 0.7, 0.05


def quartic(position, batch):
    return sum(jnp.sum(x**4 / 4 + batch * x) for x in jax.tree.leaves(position))


def test_a_step_is_the_one_computed_by_hand():
    rng = np.random.default_rng(0)
    weights = random_weights(1, scale=30.0)  # outputs, times 1e-3, that matter beside the gradient
    with jax.enable_x64(True):
        shapes = {"b": (), "w": (3, 2)}
        q, r = ({k: np.asarray(rng.normal(size=s)) for k, s in shapes.items()} for _ in range(2))
        v = {k: rng.normal(size=(6, *s)) for k, s in shapes.items()}
        sampler = px.l2e(
            quartic, H, data_size=N, weights=weights, friction=A, temperature=T, noise_multiplier=S
        )
        start = sampler.init(jax.tree.map(jnp.asarray, q))
        start = start._replace(
            momentum=jax.tree.map(jnp.asarray, r), averages=jax.tree.map(jnp.asarray, v)
        )
        key = jax.random.key(3)
        z = jax.tree.map(np.asarray, normal_like(jax.random.clone(key), start.momentum))
        after, _ = quick_jit(sampler.step)(key, start, 0.2)
        for name in shapes:
            dU = q[name] ** 3 + 0.2
            g = dU / N
            averages = np.stack(
                [d * old + (1 - d) * g for d, old in zip(DECAYS, v[name], strict=True)]
            )
            alpha, beta = by_hand(weights, g, q[name], r[name], averages)
            momentum = r[name] - H * (dU + alpha + A * beta) + np.sqrt(2 * A * T * S) * z[name]
            _, beta = by_hand(weights, g, q[name], momentum, averages)
            position = q[name] + H * beta
            np.testing.assert_allclose(after.momentum[name], momentum, rtol=0, atol=1e-6)
            np.testing.assert_allclose(after.averages[name], averages, rtol=0, atol=1e-6)
            np.testing.assert_allclose(after.position[name], position, rtol=0, atol=1e-6)
            assert np.max(np.abs(H * alpha)) > 1e-4 and np.max(np.abs(H * beta)) > 1e-4


def test_the_closed_form_solves_the_linear_recursion():
    lam, h, k, a, s, T, v = 3.0, 0.2, 1.3, 0.8, 0.05, 0.5, 4.0
    kick = np.array([[1.0, 0.0], [-h * lam, 1 - h * a * k]])
    drift = np.array([[1.0, h * k], [0.0, 1.0]])
    noise = np.diag([0.0, 2 * a * T * s + h**2 * v])
    S = stationary_covariance(drift @ kick, drift @ noise @ drift.T)
    law = l2e_law(lam=lam, h=h, k=k, a=a, s=s, T=T, v=v)
    assert law == pytest.approx((S[0, 0], S[1, 1], S[0, 1]), rel=1e-10)


def test_a_network_that_passes_the_momentum_on_has_the_law_of_the_slope_it_settles_at(seed):
    """Of many coordinates in a leaf the mean square of r is its variance, which the slope sets."""
    lam, h, a, s, gain, chains, steps = 2.0, 0.2, 1.0, 0.1, 900.0, 16_384, 120
    k = 1.0
    for _ in range(200):
        variance = l2e_law(lam=lam, h=h, k=k, a=a, s=s, T=1.0).momentum
        k = 0.5 * k + 0.5 * 1e-3 * gain / np.sqrt(1e-5 + variance)
    law = l2e_law(lam=lam, h=h, k=k, a=a, s=s, T=1.0)

    def potential(q, batch):
        return jnp.sum(lam * q**2 / 2)

    sampler = px.l2e(
        potential, h, data_size=1, weights=passing_weights(gain), friction=a, noise_multiplier=s
    )
    key = jax.random.key(seed)

    def transition(t, state):
        return sampler.step(jax.random.fold_in(key, t), state, None)[0]

    start = sampler.init(jnp.zeros(chains))
    state = long_jit(lambda state: jax.lax.fori_loop(0, steps, transition, state))(start)
    # A mean square is known to sqrt(2 / 16,384) = 1.1 %: 6 % is more than five standard errors, a
    # false alarm in ten million, and an error of a tenth in any of the terms is seen.
    assert np.mean(np.square(state.position)) == pytest.approx(law.position, rel=0.06)
    assert np.mean(np.square(state.momentum)) == pytest.approx(law.momentum, rel=0.06)


def test_the_gradient_that_the_network_sees_is_that_of_the_mean():
    seen = []

    def outputs(g, q, r, v):
        seen.append(np.asarray(g))
        return 0.0 * r, r

    sampler = px.l2e(lambda q, batch: 10.0 * jnp.sum(q), 0.1, data_size=40, weights=outputs)
    with jax.disable_jit():
        sampler.step(jax.random.key(0), sampler.init(jnp.ones(3)), None)
    assert len(seen) == 2
    np.testing.assert_allclose(seen, 0.25)


def test_an_expanded_network_is_sampled(key):
    sampler = px.l2e(U, 0.05, data_size=DATA_SIZE, weights=passing_weights(500.0))
    state, step = sampler.init(px.expand(PARAMS, PLAN)), quick_jit(sampler.step)
    batch = jax.tree.map(jnp.asarray, DATA)
    energies = []
    for t in range(40):
        state, info = step(jax.random.fold_in(key, t), state, batch)
        energies.append(float(info.energy))
    plain = px.l2e(U, 0.05, data_size=DATA_SIZE, weights=passing_weights(500.0))
    _, first = quick_jit(plain.step)(key, plain.init(PARAMS), batch)
    factors = float(U.parts(px.expand(PARAMS, PLAN), batch).factor_prior)
    assert energies[0] - factors == pytest.approx(float(first.energy), rel=1e-5)
    assert min(energies[20:]) < energies[0]
    moved = zip(jax.tree.leaves(state.position.factors), strict=True)
    assert all(np.any(np.asarray(x) != 0.0) for (x,) in moved)


def refused(weights, *words):
    with pytest.raises(UserError) as caught:
        px.l2e(quartic, 0.1, data_size=1, weights=weights)
    message = str(caught.value)
    assert message.startswith("`weights` ") and message.endswith((".", "?")) and "\n" not in message
    assert all(word in message for word in words), message


def with_change(layer, name, array):
    weights = random_weights(0)
    weights[layer][name] = array
    return weights


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (with_change("linear_0", "w", np.zeros((9, 16), np.float32)), ["(9, 32)", "(9, 16)"]),
        (with_change("linear_2", "b", np.zeros(3, np.float32)), ["linear_2/b", "(2,)", "(3,)"]),
        (with_change("linear_1", "w", np.full((32, 32), np.nan)), ["finite", "linear_1/w"]),
        (with_change("linear_1", "b", np.full(32, np.inf)), ["finite", "linear_1/b"]),
        (with_change("linear_1", "b", np.zeros(32, int)), ["floating-point", "linear_1/b"]),
        (with_change("linear_1", "c", np.zeros(32)), ["nothing else", "linear_1"]),
        ({k: v for k, v in random_weights(0).items() if k != "linear_1"}, ["linear_1"]),
        (random_weights(0) | {"linear_3": {}}, ["nothing else", "linear_3"]),
        ({}, ["linear_0"]),
        (3.0, ["3.0"]),
        ("l2e/dest", ["did you mean `l2e/desk`?"]),
        ("no/such/file.safetensors", ["cannot be read", "No such file"]),
    ],
)
def test_weights_that_cannot_be_used_are_named(weights, words):
    refused(weights, *words)


@pytest.mark.parametrize("value", [0, -1, 2.5, True, None])
def test_the_number_of_data_must_be_a_count(value):
    with pytest.raises(UserError, match="`data_size` must be a whole number of at least 1"):
        px.l2e(quartic, 0.1, data_size=value, weights=random_weights(0))
