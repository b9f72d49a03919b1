"""Lemma 3.1 against finite differences of the flow, its layer forms, and Theorem 3.2 corrected."""

from functools import reduce
from itertools import pairwise

import jax
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.expansion.precondition import (
    convolution_flow,
    norm_preconditioner,
    preconditioner,
    step_bound,
)
from tests.helpers.closeness import assert_close
from tests.helpers.energies import classification
from tests.helpers.quick_jit import quick_jit


@pytest.fixture(autouse=True)
def in_float64():
    with jax.enable_x64(True):
        yield


def random_matrices(seed, widths):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=pair) for pair in pairwise(widths)]


def column_major(W):
    return np.asarray(W).ravel(order="F")


def product(matrices):
    return reduce(np.matmul, matrices)


def step_all(matrices, G, eta):
    """Every factor takes a step of size eta down its own gradient of F(W) = <G, W>."""

    def gradient(j):
        left = reduce(np.matmul, matrices[:j], np.eye(matrices[j].shape[0] if not j else len(G)))
        right = reduce(np.matmul, matrices[j + 1 :], np.eye(matrices[j].shape[1]))
        return left.T @ G @ right.T

    return [W - eta * gradient(j) for j, W in enumerate(matrices)]


@pytest.mark.parametrize("widths", [(3, 3, 4, 4), (2, 3), (3, 3, 3, 5, 5, 5), (4, 2, 6)])
def test_a_small_step_of_every_factor_moves_w_by_the_preconditioned_gradient(widths):
    matrices = random_matrices(0, widths)
    G = np.random.default_rng(1).normal(size=(widths[0], widths[-1]))
    exact = -np.asarray(preconditioner(matrices)) @ column_major(G)
    errors = []
    for eta in (1e-3, 1e-4, 1e-5):
        change = product(step_all(matrices, G, eta)) - product(matrices)
        errors.append(np.linalg.norm(column_major(change) / eta - exact))
    if len(matrices) == 1:
        assert max(errors) < 1e-9  # W is its own only factor: nothing of second order
    else:  # the error falls with the step, ten for ten
        ratios = np.divide(errors[:-1], errors[1:])
        np.testing.assert_allclose(ratios, 10.0, rtol=0.05)
        assert errors[-1] < 1e-2 * np.linalg.norm(exact)


def test_for_rows_first_the_kronecker_factors_swap():
    V = np.random.default_rng(2).normal(size=(3, 4))
    matrices = [np.eye(3) * 2, V, np.eye(4) * 3]
    G = np.random.default_rng(3).normal(size=(3, 4))
    by_columns = (np.asarray(preconditioner(matrices)) @ column_major(G)).reshape(4, 3).T
    mirrored = [W.T for W in matrices[::-1]]  # W^T = W_e^T .. W_1^T swaps the sides
    by_rows = (np.asarray(preconditioner(mirrored)) @ G.ravel()).reshape(3, 4)
    # Entries of size up to 200, each a sum of 3 products over 12 entries of G.
    assert_close(by_columns, by_rows, terms=3 * 12, scale=200.0, dtype=float)


@pytest.mark.parametrize("seed", range(20))
def test_it_is_symmetric_positive_and_bounded_by_the_factors(seed):
    matrices = random_matrices(seed, (3, 3, 3, 4, 4))
    P = np.asarray(preconditioner(matrices))
    assert_close(P, P.T, terms=3 * 4 * 4, dtype=float)
    eigenvalues = np.linalg.eigvalsh(P)
    assert eigenvalues[0] > 0.0
    sigma = [np.linalg.norm(W, 2) for W in matrices]
    bound = sum(np.prod([s**2 for i, s in enumerate(sigma) if i != j]) for j in range(len(sigma)))
    assert eigenvalues[-1] <= bound * (1 + 1e-12)


def test_the_scalar_case_is_a_sum_of_three_squares():
    p, v, q = 1.5, -0.7, 2.2
    found = preconditioner([np.full((1, 1), x) for x in (p, v, q)])
    assert float(found[0, 0]) == pytest.approx((v * q) ** 2 + (p * q) ** 2 + (p * v) ** 2)


def test_at_the_identity_the_eigenvalues_are_one_plus_two_squared_singular_values():
    V = np.random.default_rng(4).normal(size=(3, 4))
    P = np.asarray(preconditioner([np.eye(3), V, np.eye(4)]))
    explicit = np.kron(V.T @ V, np.eye(3)) + np.eye(12) + np.kron(np.eye(4), V @ V.T)
    assert_close(P, explicit, terms=3 * 4, dtype=float)
    left = np.linalg.svd(V, compute_uv=False)  # of V V^T: three
    right = np.append(left, 0.0)  # of V^T V: four
    expected = sorted(1 + a**2 + b**2 for a in left for b in right)
    assert_close(np.linalg.eigvalsh(P), expected, terms=12**2, dtype=float)


def flow_through_the_library(params, rules, loss, eta=1e-6):
    """d collapse / dt when base and factors follow minus the gradient of `loss(collapse)`."""
    plan = px.plan(params, rules=rules, expand_input=True, expand_logits=True)
    start = px.expand(params, plan)
    rng = np.random.default_rng(5)
    position = jax.tree.map(lambda x: rng.normal(size=x.shape), start)
    gradient = quick_jit(jax.grad(lambda q: loss(px.collapse(q))))(position)

    @quick_jit
    def after(eta):
        return px.collapse(jax.tree.map(lambda x, g: x - eta * g, position, gradient))

    derivative = jax.tree.map(lambda a, b: (a - b) / (2 * eta), after(eta), after(-eta))
    return position, derivative, jax.grad(loss)(px.collapse(position))


def test_the_convolution_form_is_the_flow_of_the_librarys_own_collapse():
    rng = np.random.default_rng(6)
    params = {"kernel": np.zeros((2, 3, 4, 5)), "bias": np.zeros(5)}  # rows, columns, in, out
    weights = jax.tree.map(lambda x: rng.normal(size=x.shape), params)

    def loss(W):  # any smooth function will do
        return sum(np.sum(a * x) for a, x in zip(weights.values(), map(jax.numpy.sin, W.values()),
                                                 strict=True))  # fmt: skip

    position, derivative, gradient = flow_through_the_library(
        {"layer": params}, (), lambda W: loss(W["layer"])
    )
    factors = position.factors["layer"]

    def taps(kernel):  # (2, 3, in, out) -> (taps, out, in)
        return np.asarray(kernel).reshape(6, 4, 5).transpose(0, 2, 1)

    weight, bias = convolution_flow(
        factors.out[0],
        taps(position.base["layer"]["kernel"]),
        factors.into[0],
        position.base["layer"]["bias"],
        taps(gradient["layer"]["kernel"]),
        gradient["layer"]["bias"],
    )
    np.testing.assert_allclose(taps(derivative["layer"]["kernel"]), weight, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(derivative["layer"]["bias"], bias, rtol=1e-6, atol=1e-6)


def test_the_norm_form_is_the_flow_of_the_librarys_own_collapse():
    params = {"frn": {leaf: np.zeros(4) for leaf in ("bias", "scale", "threshold")}}
    weights = np.random.default_rng(7).normal(size=(3, 4))

    def loss(W):
        return sum(a @ jax.numpy.cos(v) for a, v in zip(weights, W["frn"].values(), strict=True))

    position, derivative, gradient = flow_through_the_library(params, (), loss)

    def stack(tree):
        return np.stack(list(tree["frn"].values()), axis=1)  # (n, 3)

    P = norm_preconditioner(position.factors["frn"].out[0], stack(position.base))
    np.testing.assert_allclose(
        column_major(stack(derivative)), -P @ column_major(stack(gradient)), rtol=1e-6, atol=1e-7
    )
    assert np.allclose(P, preconditioner([position.factors["frn"].out[0], stack(position.base)]))


def test_the_gradient_of_the_base_at_the_start_is_that_of_the_plain_model():
    rng = np.random.default_rng(8)
    shapes = {"a": {"kernel": (4, 8), "bias": (8,)}, "b": {"kernel": (8, 3), "bias": (3,)}}
    params = jax.tree.map(
        lambda s: rng.normal(size=s), shapes, is_leaf=lambda s: isinstance(s, tuple)
    )
    x, y = rng.normal(size=(6, 4)), rng.integers(0, 3, 6)

    def apply(W, x):
        hidden = jax.numpy.tanh(x @ W["a"]["kernel"] + W["a"]["bias"][None])
        return hidden @ W["b"]["kernel"] + W["b"]["bias"][None]

    U = classification(apply, data_size=60, prior=px.priors.normal(0.02))
    gradient = quick_jit(jax.grad(U))
    plain = gradient(params, (x, y))
    expanded = gradient(px.expand(params, px.plan(params, out=2, into=2)), (x, y))
    for a, b in zip(jax.tree.leaves(plain), jax.tree.leaves(expanded.base), strict=True):
        # Sums over 6 rows and 8 units of terms of size up to 60 times that of a row.
        assert_close(a, b, terms=6 * 8, scale=60.0, dtype=float)
    assert all(np.any(np.asarray(g) != 0) for g in jax.tree.leaves(expanded.factors))


@pytest.mark.parametrize("seed", range(30))
def test_the_corrected_bound_holds(seed):
    rng = np.random.default_rng(seed)
    depth = int(rng.integers(1, 6))
    matrices = [rng.normal(size=(3, 3)) * rng.uniform(0.2, 2.0) for _ in range(depth)]
    G = rng.normal(size=(3, 3))
    M, h = max(np.linalg.norm(W, 2) for W in matrices), np.linalg.norm(G)
    bound = step_bound(
        step_size=1e-3, depth=depth, largest_singular_value=M, gradient=h, gradient_noise=0.0
    )
    drift = 1e-3 * np.linalg.norm(np.asarray(preconditioner(matrices)) @ column_major(G))
    assert drift <= bound * (1 + 1e-12)
    # Noise of the base alone, L Z R with Z ~ N(0, 2 eps T): mean length against its own term.
    j = depth // 2
    left = reduce(np.matmul, matrices[:j], np.eye(3))
    right = reduce(np.matmul, matrices[j + 1 :], np.eye(3))
    z = rng.normal(size=(2_000, 3, 3)) * np.sqrt(2 * 1e-3 * 0.5)
    length = np.linalg.norm(left @ z @ right, axis=(1, 2)).mean()
    noise = step_bound(
        step_size=1e-3, depth=depth, largest_singular_value=M, gradient=0.0, gradient_noise=0.0,
        temperature=0.5, dimension=9,
    )  # fmt: skip
    assert length <= noise * 1.02


def test_the_papers_exponent_is_refuted_by_three_times_the_identity_thrice():
    norm = np.linalg.norm(np.asarray(preconditioner([3.0 * np.eye(2)] * 3)), 2)
    e, M = 3, 3.0
    assert norm == pytest.approx(243.0)
    assert norm > e * M ** (e - 1) == 27.0  # the coefficient as printed
    assert norm <= step_bound(
        step_size=1.0, depth=e, largest_singular_value=M, gradient=1.0, gradient_noise=0.0
    )
