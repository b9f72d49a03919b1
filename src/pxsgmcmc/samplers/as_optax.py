"""A sampler as an optax gradient transformation, for training loops that already exist."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import UserError
from pxsgmcmc.tree import dot
from pxsgmcmc.types import Array, Key, MetropolisInfo, Potential, Sampler, Tree

if TYPE_CHECKING:
    import optax  # a tenth of a second that most programs need not spend


class AsOptaxState(NamedTuple):
    """State of `as_optax`."""

    key: Key
    sampler: Any


def as_optax(build: Callable[[Potential], Sampler], key: Key) -> "optax.GradientTransformation":
    """Turn a sampler into a `GradientTransformation` that takes gradients made elsewhere.

    The gradients must be of the energy in full-data units: (N / |B|) times the summed loss of the
    batch, plus the prior. Only samplers that take one gradient a step can be used so.

    Args:
      build: a function from a potential to a sampler.
      key: root of the noise; step t uses `fold_in(key, t)`.

    Example:
      >>> import optax
      >>> from pxsgmcmc.samplers import sghmc
      >>> transform = as_optax(lambda U: sghmc(U, 1e-2, friction=1.0), jax.random.key(0))
      >>> params = jnp.ones(3)
      >>> state = transform.init(params)
      >>> updates, state = transform.update(params, state, params)  # gradient of |q|^2 / 2
      >>> params = optax.apply_updates(params, updates)
    """
    import optax

    calls = 0

    def linear(position: Tree, gradient: Tree) -> Array:
        # The gradient of <position, gradient> is the gradient that was handed in.
        nonlocal calls
        calls += 1
        return dot(position, jax.lax.stop_gradient(gradient))

    sampler = build(linear)

    def init(params: Tree) -> AsOptaxState:
        return AsOptaxState(key, sampler.init(params))

    def update(updates: Tree, state: Any, params: Tree | None = None) -> tuple[Tree, Any]:
        nonlocal calls
        if params is None:
            raise UserError("`params` must be passed to `update`: a sampler moves from a position.")
        now = state.sampler._replace(position=params)
        calls = 0
        after, info = sampler.step(jax.random.fold_in(state.key, now.step), now, updates)
        if calls != 1 or isinstance(info, MetropolisInfo):
            raise UserError(
                "`build` must make a sampler that takes one gradient a step and has no test, got "
                "another; HMC and GGMC need energies and cannot run as an optax transformation."
            )
        change = jax.tree.map(jnp.subtract, after.position, params)
        return change, AsOptaxState(state.key, after)

    return optax.GradientTransformation(init, update)
