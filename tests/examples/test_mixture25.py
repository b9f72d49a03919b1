"""The toy: its scores, the energies of its readings, and the law each of them samples."""

import doctest
import importlib.util
import subprocess
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.helpers.closeness import assert_close
from tests.helpers.quick_jit import long_jit
from tests.helpers.waiting import PATIENCE

import pxsgmcmc as px
from pxsgmcmc.data._toys import mixture25_energy, mixture25_means
from pxsgmcmc.reproduce import mixture25
from pxsgmcmc.tree import size

SCRIPT = Path(__file__).parents[2] / "examples" / "mixture25.py"
STRENGTH = 4.0  # k of the exact reading in these tests
LIMIT = 4.5  # of |z|: crossed by chance once in 147,000 per statistic; fewer than 20 are tested


@pytest.fixture(scope="module")
def toy():
    spec = importlib.util.spec_from_file_location("mixture25", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Scores


def test_scores_of_a_chain_made_by_hand():
    near_origin = np.tile([0.1, 0.0], (150, 1))
    right = np.tile([2.0, 0.2], (40, 1))
    between = np.tile([2.6, 0.0], (10, 1))  # nearest to (2, 0), but not within 0.25 of it
    got = mixture25.score(np.concatenate([near_origin, right, near_origin[:50], between]))
    assert got.covered == 1  # 200 draws at the origin; 40 near (2, 0) are too few
    assert got.seen == 2
    assert got.switches == 3
    # Shares 0.8 and 0.2 against 1/25 each: (0.76 + 0.16 + 23 * 0.04) / 2.
    assert got.distance == pytest.approx(0.92)
    assert got.mean_square == pytest.approx((200 * 0.01 + 40 * 4.04 + 10 * 6.76) / 250)


def test_draws_just_inside_and_just_outside_the_radius_are_told_apart():
    assert mixture25.score(np.full((100, 2), [0.249, 0.0])).covered == 1
    assert mixture25.score(np.full((100, 2), [0.251, 0.0])).seen == 0
    assert mixture25.score(np.full((99, 2), [0.0, 0.0])).covered == 0


def test_a_chain_that_visits_all_modes_in_turn_is_at_distance_zero():
    got = mixture25.score(np.tile(mixture25_means(), (100, 1)))
    assert (got.covered, got.seen, got.switches) == (25, 25, 2499)
    assert got.distance == pytest.approx(0.0, abs=1e-12)
    assert got.mean_square == pytest.approx(16.0)


def test_independent_draws_fill_every_mode_as_the_binomial_says():
    # 400 ± 19.6 draws a mode; a share 1 - exp(-0.25^2 / 0.06) = 0.6471 of them, 259 ± 15.9, within
    # 0.25. Five standard deviations each way; false alarm below 1e-4 in all.
    part = mixture25.reference(seeds=1, draws=10_000)
    y = part.y[0, 0]
    assert mixture25.score(y, radius=10.0, enough=302).covered == 25
    assert mixture25.score(y, radius=10.0, enough=498).covered == 0
    assert mixture25.score(y, enough=259 - 80).covered == 25
    assert mixture25.score(y, enough=259 + 80).covered == 0
    accepted, covered, seen, distance, switches, mean_square = part.numbers[0, 0]
    assert np.isnan(accepted)
    assert (covered, seen) == (25, 25)
    assert 0.005 < distance < 0.035  # about sqrt(2 / pi) * 19.6 / 400 / 2 = 0.0195
    assert abs(switches - 9999 * 24 / 25) < 5 * 19.6
    assert abs(mean_square - 16.06) < 5 * 0.096


# Energies


def position_at(toy, x, factors):
    """The expanded position with this x, (..., 2), and factors W1, W2, W3, (..., 3, 2, 2)."""
    template = mixture25.expand(jnp.zeros(2))
    out = tuple(jnp.asarray(factors[..., i, :, :], jnp.float32) for i in range(3))
    layer = template.factors["x"]._replace(out=out)
    return px.Expanded({"x": jnp.asarray(x, jnp.float32)}, {"x": layer}, template.layers)


def product(factors):
    return factors[..., 2, :, :] @ factors[..., 1, :, :] @ factors[..., 0, :, :]


def test_the_expansion_has_14_numbers_and_starts_at_y():
    position = mixture25.expand(jnp.array([2.0, -4.0]))
    assert size(position) == 14
    assert px.collapse(position)["x"].tolist() == [2.0, -4.0]


def test_exact_reading_is_the_mixture_times_a_normal_after_the_change_of_variables(toy):
    # With z = (y, W) -> (x, W) = T(z), the density of z is exp(-E(T(z))) |det dT/dz|. The
    # determinant of the 14 x 14 Jacobian comes from automatic differentiation.
    energy = mixture25.potential(mixture25_energy, partial(mixture25.exact, strength=STRENGTH))

    def numbers(z):
        factors = z[2:].reshape(3, 2, 2)
        x = jnp.linalg.inv(product(factors)) @ z[:2]
        return jnp.concatenate([x, z[2:]])

    @jax.jit
    @jax.vmap
    def both_sides(z):
        q, factors = numbers(z), z[2:].reshape(3, 2, 2)
        log_volume = jnp.linalg.slogdet(jax.jacfwd(numbers)(z))[1]
        quadratic = 0.5 * STRENGTH * jnp.sum((factors - jnp.eye(2)[None]) ** 2)
        left = energy(position_at(toy, q[:2], q[2:].reshape(3, 2, 2)), None) - log_volume
        return left, mixture25_energy(z[:2]) + quadratic

    rng = np.random.default_rng(0)
    factors = np.eye(2) + 0.4 * rng.standard_normal((20, 3, 2, 2))
    z = np.concatenate([rng.uniform(-5, 5, (20, 2)), factors.reshape(20, 12)], axis=1)
    left, right = both_sides(jnp.asarray(z, jnp.float32))
    assert np.ptp(right) > 10.0
    # Energies of up to a few hundred, with float32 distances to 25 modes divided by 2 * 0.03, and
    # the inverses of three factors: some hundred roundings of the largest.
    assert_close(left, right, terms=200)


def test_ridge_is_half_the_strength_times_the_squares():
    assert float(mixture25.ridge([jnp.eye(2)] * 3, 2.0)) == 6.0


def test_preconditioned_force_is_what_the_flat_gradient_flow_does_to_y_at_the_identity():
    y = jnp.array([2.1, -0.3])

    @jax.jit
    def force_and_flow(y):
        value, force = jax.value_and_grad(mixture25.preconditioned(mixture25_energy))(
            {"x": y}, None
        )
        position = mixture25.expand(y)
        gradient = jax.grad(mixture25.potential(mixture25_energy))(position, None)
        _, flow = jax.jvp(px.collapse, (position,), (gradient,))
        return value - mixture25_energy(y), force["x"], flow["x"], jax.grad(mixture25_energy)(y)

    difference, force, flow, slope = force_and_flow(y)
    assert difference == 0.0
    # 25 modes, and the products of three factors: less than 80 roundings.
    assert_close(force, flow, terms=80)
    assert_close(force, (1 + 3 * (2.1**2 + 0.3**2)) * slope, terms=80)


# Laws. Chains start from the law they should keep, are independent, and so admit exact z-tests.

MEAN = np.array([1.0, -0.5], np.float32)
ROOT = np.array([[0.7, 0.0], [0.3, 0.6]], np.float32)  # of the covariance
INVERSE = np.linalg.inv(ROOT)
CHAINS, STEPS = 4000, 20


def one_gaussian(y):
    return 0.5 * jnp.sum((INVERSE @ (y - MEAN)) ** 2)


def z_scores(samples, mean, variance):
    return float((np.mean(samples, dtype=np.float64) - mean) / np.sqrt(variance / len(samples)))


def chains(sampler):
    """(key, positions, batch) -> positions after `STEPS` steps of a chain each, and acceptances."""

    def chain(key, position, batch):
        def transition(state, _):
            state, info = sampler.step(jax.random.fold_in(key, state.step), state, batch)
            return state, info.acceptance

        state, acceptance = jax.lax.scan(transition, sampler.init(position), length=STEPS)
        return state.position, jnp.mean(acceptance)

    def all_chains(key, positions, batch):
        keys = jax.random.split(key, CHAINS)
        return jax.vmap(chain, (0, 0, None))(keys, positions, batch)

    return long_jit(all_chains)


def z_scores_of_y(y):
    u = INVERSE @ (np.asarray(y) - MEAN).T
    return {
        "first mean": z_scores(u[0], 0.0, 1.0),
        "second mean": z_scores(u[1], 0.0, 1.0),
        "first variance": z_scores(u[0] ** 2, 1.0, 2.0),
        "second variance": z_scores(u[1] ** 2, 1.0, 2.0),
        "covariance": z_scores(u[0] * u[1], 0.0, 1.0),
    }


def z_scores_of_factors(factors, y):
    v = np.sqrt(STRENGTH) * (np.stack(factors, axis=1) - np.eye(2))  # (chains, 3, 2, 2)
    diagonal = np.trace(v, axis1=2, axis2=3).sum(axis=1)
    square = np.sum(v**2, axis=(1, 2, 3))
    u = INVERSE @ (np.asarray(y) - MEAN).T
    return {
        "factor mean": z_scores(diagonal, 0.0, 6.0),
        "factor variance": z_scores(square, 12.0, 24.0),
        "independence": z_scores((np.sum(u**2, axis=0) - 2) * (square - 12), 0.0, 4.0 * 24.0),
    }


def gaussian_draws(rng):
    return (MEAN + rng.standard_normal((CHAINS, 2)) @ ROOT.T).astype(np.float32)


def test_exact_reading_keeps_its_law_and_needs_the_log_determinants_for_it(toy, key):
    def energy(position, share):  # 1 leaves the log-determinants out; `batch` is free to say so
        volume = sum(jnp.log(jnp.abs(jnp.linalg.det(W))) for W in position.factors["x"].out)
        return exact(position, None) + share * volume

    exact = mixture25.potential(one_gaussian, partial(mixture25.exact, strength=STRENGTH))
    rng = np.random.default_rng(1)
    y = gaussian_draws(rng)
    factors = np.eye(2) + rng.standard_normal((CHAINS, 3, 2, 2)) / STRENGTH**0.5
    first = position_at(toy, np.linalg.solve(product(factors), y[..., None])[..., 0], factors)
    move = chains(px.hmc(energy, 0.1, leapfrog_steps=10))

    def scores(key, share):
        last, acceptance = move(key, first, jnp.float32(share))
        assert float(jnp.mean(acceptance)) > 0.3
        out = last.factors["x"].out
        y = product(np.stack(out, axis=1)) @ np.asarray(last.base["x"])[..., None]
        return z_scores_of_y(y[..., 0]) | z_scores_of_factors(out, y[..., 0])

    with_key, without_key = jax.random.split(key)
    kept = scores(with_key, 0.0)
    assert max(map(abs, kept.values())) < LIMIT, kept
    # Without them the factors drift towards singular ones, and take y along while they do.
    assert abs(scores(without_key, 1.0)["factor mean"]) > 2 * LIMIT


@pytest.mark.parametrize("metropolis", [True, False])
def test_preconditioned_force_keeps_the_law_with_a_metropolis_test_only(key, metropolis):
    first = {"x": jnp.asarray(gaussian_draws(np.random.default_rng(2)))}
    energy = mixture25.preconditioned(one_gaussian)
    sampler = px.hmc(energy, 0.05, leapfrog_steps=10, metropolis=metropolis)
    last, acceptance = chains(sampler)(key, first, None)
    largest = max(map(abs, z_scores_of_y(last["x"]).values()))
    assert 0.2 < float(jnp.mean(acceptance)) < 0.9
    assert largest < LIMIT if metropolis else largest > 2 * LIMIT


# The script


@pytest.mark.slow
def test_quick_run_prints_the_table_and_writes_the_picture(tmp_path):
    out = tmp_path / "new folder" / "toy.png"
    done = subprocess.run(
        [sys.executable, SCRIPT, "--quick", "--out", out],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    header = next(i for i, line in enumerate(lines) if line.startswith("sampler"))
    names = [line.split()[0] for line in lines[header + 1 : header + 8] if line[0] != " "]
    assert names == ["independent", "standard", "exact"]
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in done.stdout  # plain where there is no terminal
    assert out.read_bytes()[:4] == b"\x89PNG"
    assert 5_000 < out.stat().st_size < 400_000


WRONG = {"draws": 0, "seeds": 0, "starts": (), "strength": -1.0, "step_size": 0.0}
WRONG |= {"leapfrog_steps": 0, "out": Path("toy.gif")}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_named_in_one_sentence(toy, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(px.UserError, match=name) as raised:
        toy.main(**{name: WRONG[name]})
    assert "\n" not in str(raised.value)


def test_table_has_mean_and_sd_and_a_dash_for_what_was_not_measured(toy):
    assert toy.mean_and_sd(np.array([1.0, 2.0, 3.0]), 1) == "2.0±1.0"
    assert toy.mean_and_sd(np.array([9600.0, 9600.0]), 1) == "9600±0"
    assert toy.mean_and_sd(np.array([np.nan, 1.0]), 1) == "-"


def test_examples_in_docstrings_hold(toy):
    done = doctest.testmod(mixture25)
    assert done.attempted > 0 and done.failed == 0
