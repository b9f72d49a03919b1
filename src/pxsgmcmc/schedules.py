"""Step sizes as functions of the step, counted from zero; any `optax.Schedule` will do."""

import math
from typing import Any

import jax.numpy as jnp

from pxsgmcmc.errors import UserError, check_count, check_number
from pxsgmcmc.types import Schedule


def constant(value: float) -> Schedule:
    """The same value at every step.

    Example:
      >>> float(constant(0.5)(7))
      0.5
    """
    check_number("value", value, at_least=0.0)
    return lambda step: jnp.asarray(value, float)


def cyclical(peak: float, period: int, *, lowest: float = 0.0) -> Schedule:
    """A cosine from `peak` down to nearly `lowest`, started again every `period` steps.

    With t = step mod period:  lowest + (peak - lowest) (1 + cos(pi t / period)) / 2.
    A draw is usually taken at the end of each cycle (Zhang et al., 2020).

    Example:
      >>> float(cyclical(1e-4, 5_000)(5_000)) == float(cyclical(1e-4, 5_000)(0))
      True
    """
    check_number("peak", peak, above=0.0)
    check_count("period", period, at_least=1)
    check_number("lowest", lowest, at_least=0.0, at_most=peak)

    def schedule(step: Any) -> Any:
        phase = (jnp.asarray(step) % period).astype(float) / period
        return lowest + 0.5 * (peak - lowest) * (1.0 + jnp.cos(math.pi * phase))

    return schedule


def as_schedule(value: Any, name: str) -> Schedule:
    """A number or a schedule as a schedule whose values have JAX's default float type."""
    if callable(value):
        return lambda step: jnp.asarray(value(step), float)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"`{name}` must be a positive number or a schedule, got {value!r}.")
    return constant(check_number(name, value, above=0.0))
