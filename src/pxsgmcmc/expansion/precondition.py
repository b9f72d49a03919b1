"""What expansion does to a gradient: the preconditioner of Lemma 3.1, its layer forms, the bound.

Every factor of W = W_1 .. W_e follows minus its own gradient of F. Then W itself follows minus its
gradient times a matrix made of the factors:

    d vec(W) / dt = -sum_j (R_j^T R_j) kron (L_j L_j^T) vec(dF/dW),
    L_j = W_1 .. W_{j-1},   R_j = W_{j+1} .. W_e,   vec column by column.

This holds for the gradient flow. A step of finite size adds terms of second order, noise in the
factors becomes noise in W that depends on where W is, and momentum methods are not preconditioned
momentum methods.
"""

from collections.abc import Sequence
from functools import reduce

import jax.numpy as jnp

from pxsgmcmc.errors import UserError
from pxsgmcmc.types import Array


def preconditioner(matrices: Sequence[Array]) -> Array:
    """The matrix of Lemma 3.1 for W = matrices[0] @ .. @ matrices[-1], (m, n): shape (m n, m n).

    For the row-by-row `ravel` of NumPy swap the two sides of the Kronecker product.

    Example:
      >>> p, v, q = (jnp.full((1, 1), value) for value in (2.0, 3.0, 5.0))
      >>> float(preconditioner([p, v, q])[0, 0])  # (v q)^2 + (p q)^2 + (p v)^2
      361.0

    Reference:
      Kim et al., Parameter expanded stochastic gradient Markov chain Monte Carlo, ICLR 2025.
    """
    if not matrices:
        raise UserError("`matrices` must hold at least one matrix, got none.")

    def term(j: int) -> Array:
        rows, columns = matrices[0].shape[0], matrices[j].shape[1]
        left = reduce(jnp.matmul, matrices[:j], jnp.eye(rows, dtype=matrices[0].dtype))
        right = reduce(jnp.matmul, matrices[j + 1 :], jnp.eye(columns, dtype=left.dtype))
        return jnp.kron(right.T @ right, left @ left.T)

    return sum((term(j) for j in range(1, len(matrices))), start=term(0))


def convolution_flow(
    P: Array, V: Array, Q: Array, a: Array, weight_gradient: Array, bias_gradient: Array
) -> tuple[Array, Array]:
    """Time derivatives of W_t = P V_t Q and b = P a when P, V, Q and a each follow their gradient.

    The factors are shared by the taps t of the window and, for P, by the bias, which ties them:

        dW_t/dt = -(sum_s G_s (V_s Q)^T V_t Q + P P^T G_t Q^T Q + sum_s P V_t (P V_s)^T G_s
                    + g a^T V_t Q)
        db/dt   = -(P P^T g + (a . a) g + sum_t G_t (V_t Q)^T a)

    Args:
      P: (out, out).
      V: (taps, out, in).
      Q: (in, in).
      a: (out,).
      weight_gradient: G, (taps, out, in), of the loss with respect to W.
      bias_gradient: g, (out,), of the loss with respect to b.
    """
    G, g = weight_gradient, bias_gradient
    VQ, PV = V @ Q, P @ V
    through_P = jnp.einsum("sou,slu,tlj->toj", G, VQ, VQ)
    through_V = P @ P.T @ G @ (Q.T @ Q)
    through_Q = jnp.einsum("toi,sli,slj->toj", PV, PV, G)
    through_bias = jnp.einsum("o,u,tuj->toj", g, a, VQ)
    weight = -(through_P + through_V + through_Q + through_bias)
    bias = -(P @ (P.T @ g) + (a @ a) * g + jnp.einsum("toi,tui,u->o", G, VQ, a))
    return weight, bias


def norm_preconditioner(P: Array, vectors: Array) -> Array:
    """The preconditioner of a norm layer whose k vectors share one factor: P @ vectors, (n, k).

    Example:
      >>> norm_preconditioner(jnp.eye(2), jnp.zeros((2, 3))).shape
      (6, 6)
    """
    n, k = vectors.shape
    eye = jnp.eye(n, dtype=P.dtype)
    return jnp.kron(vectors.T @ vectors, eye) + jnp.kron(jnp.eye(k, dtype=P.dtype), P @ P.T)


def step_bound(
    *,
    step_size: float,
    depth: int,
    largest_singular_value: float,
    gradient: float,
    gradient_noise: float,
    temperature: float = 1.0,
    dimension: int = 0,
) -> float:
    """Theorem 3.2, corrected: a bound on the expected length of an SGLD step in W, to first order.

    With e factors of singular values at most M, expected gradient norm h and gradient error s:

        E |dW| <= eps e M^(2(e-1)) (h + s) + sqrt(2 eps T dim) M^(e-1).

    The paper has M^(e-1) in the first term, which its proof does not give (a square is dropped),
    and noise that shrinks like eps where SGLD's shrinks like sqrt(eps). Noise enters through the
    base alone.

    Args:
      step_size: eps.
      depth: e, base included: c + d + 1.
      largest_singular_value: M, over all factors and the base.
      gradient: h.
      gradient_noise: s.
      temperature: T; 0 leaves the noise out.
      dimension: entries of W.

    Example:
      >>> step_bound(step_size=1.0, depth=3, largest_singular_value=3.0, gradient=1.0,
      ...            gradient_noise=0.0)
      243.0
    """
    M, e = largest_singular_value, depth
    drift = step_size * e * M ** (2 * (e - 1)) * (gradient + gradient_noise)
    return drift + (2.0 * step_size * temperature * dimension) ** 0.5 * M ** (e - 1)
