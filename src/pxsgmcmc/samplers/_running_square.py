"""The running mean square of the gradient, which scales the steps of pSGLD and SGRHMC.

    v <- b v + (1 - b) dU^2,      before the first step: v = max(dU^2, mean of dU^2 over the leaf)

The mean over the leaf is there for the coordinates whose first gradient happens to be nearly zero:
their own square alone would make their first step as long as `epsilon` allows.

The published form starts at v = 0 and so takes the first gradient to be smaller than it is by
sqrt(1 - b), a tenth at b = 0.99. Far from the mode that costs little; near it, it throws the chain
away.
"""

from typing import Literal, TypeAlias

import jax.numpy as jnp

from pxsgmcmc.errors import UserError, one_line
from pxsgmcmc.tree import map_like
from pxsgmcmc.types import Array, Tree

PreconditionerStart: TypeAlias = Literal["gradient", "zero"]


def check_preconditioner_start(value: PreconditionerStart) -> PreconditionerStart:
    """Return `value` if it is one of the two, else raise `UserError`."""
    if value not in ("gradient", "zero"):
        raise UserError(
            f"`preconditioner_start` must be 'gradient' or 'zero', got {one_line(value)}."
        )
    return value


def updated_square(
    square: Tree, gradient: Tree, step: Array, decay: float, start: PreconditionerStart
) -> Tree:
    """The running mean square after one more gradient.

    Args:
      square: the mean so far; not looked at in the first step if it starts from the gradient.
      gradient: of this step.
      step: its number, from 0.
      decay: weight b of the past.
      start: "gradient", or "zero" for the published form.

    Example:
      >>> gradient = jnp.array([3.0, 1.0])
      >>> updated_square(jnp.zeros(2), gradient, jnp.int32(0), 0.75, "gradient").tolist()
      [9.0, 4.0]
    """

    def average(v, dU):
        now = dU**2
        if start == "gradient":
            v = jnp.where(step == 0, jnp.maximum(now, jnp.mean(now)), v)
        return decay * v + (1.0 - decay) * now

    return map_like(average, square, gradient)
