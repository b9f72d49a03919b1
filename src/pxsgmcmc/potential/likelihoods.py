"""The usual likelihoods: softmax classification and regression with normal noise."""

import math
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import UserError, check_number
from pxsgmcmc.potential.posterior import Posterior, posterior
from pxsgmcmc.tree import widen
from pxsgmcmc.types import Array, Batch, Tree


def classification(apply: Callable[[Tree, Any], Array], **settings: Any) -> Posterior:
    """The energy of a softmax classifier on batches (inputs, integer labels).

    Args:
      apply: (params, inputs) -> logits, (batch size, classes).
      **settings: `data_size`, `prior`, `factor_prior`, as in `posterior`.

    Example:
      >>> U = classification(lambda W, x: x @ W, data_size=100)
      >>> round(float(U(jnp.zeros((2, 10)), (jnp.ones((5, 2)), jnp.zeros(5, int)))), 3)
      230.259
    """

    def log_likelihood(params: Tree, batch: Batch) -> Array:
        x, y = _pair(batch)
        if y.ndim != 1 or not jnp.issubdtype(y.dtype, jnp.integer):
            raise UserError(
                f"`batch` must have integer labels of shape (batch size,), got {y.dtype} of shape "
                f"{y.shape}."
            )
        logits = apply(params, x)
        if logits.ndim != 2 or logits.shape[0] != y.shape[0]:
            raise UserError(
                f"`apply` must give logits of shape (batch size, classes), got {logits.shape} "
                f"for {y.shape[0]} labels."
            )
        log_probabilities = jax.nn.log_softmax(widen(logits))
        return jnp.take_along_axis(log_probabilities, y[:, None], axis=1)[:, 0]

    return posterior(log_likelihood, **settings)


def regression(
    apply: Callable[[Tree, Any], Array], *, noise: float | Literal["learned"], **settings: Any
) -> Posterior:
    """The energy of a regression with normal noise on batches (inputs, targets).

    Args:
      apply: (params, inputs) -> means, of the shape of the targets.
      noise: the standard deviation; or "learned", with parameters made by `with_noise`.
      **settings: `data_size`, `prior`, `factor_prior`, as in `posterior`.

    Example:
      >>> U = regression(lambda w, x: w * x, noise=1.0, data_size=2)
      >>> round(float(U(jnp.zeros(()), (jnp.ones(2), jnp.ones(2)))), 4)  # 1 + log(2 pi)
      2.8379
    """
    if noise != "learned":
        check_number("noise", noise, above=0.0)

    def log_likelihood(params: Tree, batch: Batch) -> Array:
        x, y = _pair(batch)
        if noise == "learned":
            if not isinstance(params, dict) or set(params) != {"model", "log_noise"}:
                raise UserError("`params` must be made by `with_noise` when `noise` is 'learned'.")
            log_scale, params = widen(params["log_noise"]), params["model"]
        else:
            log_scale = jnp.asarray(math.log(noise), float)
        mean = apply(params, x)
        if mean.shape != y.shape:
            raise UserError(
                f"`apply` must give means of the targets' shape, got {mean.shape} for {y.shape}."
            )
        z = (widen(y) - widen(mean)) * jnp.exp(-log_scale)
        density = -0.5 * z**2 - log_scale - 0.5 * math.log(2.0 * math.pi)
        return jnp.sum(density.reshape(density.shape[0], -1), axis=1)

    return posterior(log_likelihood, **settings)


def with_noise(params: Tree, *, start: float = 1.0) -> dict[str, Any]:
    """Parameters of a regression whose noise is sampled along: {"model": .., "log_noise": ..}.

    Example:
      >>> with_noise({"w": jnp.ones(2)}, start=1.0)["log_noise"].tolist()
      0.0
    """
    check_number("start", start, above=0.0)
    return {"model": params, "log_noise": jnp.asarray(math.log(start), float)}


def _pair(batch: Batch) -> tuple[Array, Array]:
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        raise UserError(f"`batch` must be a pair (inputs, targets), got {type(batch).__name__}.")
    x, y = batch
    inputs = {leaf.shape[0] for leaf in jax.tree.leaves(x)}
    if inputs != {y.shape[0]}:
        raise UserError(
            f"`batch` must have as many inputs as targets, got "
            f"{' and '.join(map(str, sorted(inputs)))} inputs for {y.shape[0]} targets."
        )
    return x, y
