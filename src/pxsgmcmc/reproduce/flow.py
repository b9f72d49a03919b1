"""Lemma 3.1 and Theorem 3.2, put to the test on random factors."""

import numpy as np

from pxsgmcmc.reproduce.computing import Computed

_STEPS = (1e-2, 1e-3, 1e-4, 1e-5)


def lemma(*, seed: int, width: int = 4) -> Computed:
    """How far a small step of every factor is from the lemma's matrix, and the theorem's ratios.

    Args:
      seed: of factors and gradient.
      width: of the square factors P, V and Q.
    """
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    from pxsgmcmc.expansion.precondition import preconditioner

    random = np.random.default_rng(seed)
    P, V, Q = (jnp.asarray(random.normal(size=(width, width))) for _ in range(3))
    G = jnp.asarray(random.normal(size=(width, width)))  # F(W) = <G, W>
    gradients = (G @ (V @ Q).T, P.T @ G @ Q.T, (P @ V).T @ G)
    predicted = -(preconditioner([P, V, Q]) @ G.T.ravel()).reshape(width, width).T
    errors = []
    for step in _STEPS:
        p, v, q = (x - step * g for x, g in zip((P, V, Q), gradients, strict=True))
        moved = (p @ v @ q - P @ V @ Q) / step
        errors.append(float(jnp.linalg.norm(moved - predicted) / jnp.linalg.norm(predicted)))
    # Three factors 3 I: the matrix has norm 3 * 3^4, the printed bound says 3 * 3^2.
    M, e = 3.0, 3
    factors = [M * jnp.eye(width)] * e
    norm = float(jnp.linalg.norm(preconditioner(factors), 2))
    values = {f"flow/error_{step:g}": error for step, error in zip(_STEPS, errors, strict=True)}
    values |= {
        "flow/order": float(np.log10(errors[0] / errors[-1]) / np.log10(_STEPS[0] / _STEPS[-1])),
        "bound/printed": norm / (e * M ** (e - 1)),
        "bound/corrected": norm / (e * M ** (2 * (e - 1))),
    }
    return Computed(values)
