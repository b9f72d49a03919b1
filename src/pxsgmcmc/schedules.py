"""Step sizes as functions of the step, counted from zero; any `optax.Schedule` will do."""

import math
import numbers
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import UserError, check_count, check_number, one_line
from pxsgmcmc.types import Schedule

AUTO = "auto"  # a step size or friction that `px.sample` or a configuration has measured


def constant(value: float) -> Schedule:
    """The same value at every step.

    Example:
      >>> float(constant(0.5)(7))
      0.5
    """
    check_number("value", value, at_least=0.0)
    return lambda step: jnp.asarray(value, float)


@dataclass(frozen=True)
class Cyclical:
    """Made by `cyclical`: a schedule that says when it starts again."""

    peak: Any  # a number, or "auto" until it is measured
    period: int
    lowest: float = 0.0

    def __call__(self, step: Any) -> Any:
        """The step size of step number `step`."""
        left = (self.period - jnp.asarray(step) % self.period).astype(float) / self.period
        # (1 + cos(pi t / period)) / 2 as a sine, which keeps its digits where it is nearly zero.
        return self.lowest + (self.peak - self.lowest) * jnp.sin(0.5 * math.pi * left) ** 2


def cyclical(peak: float | Literal["auto"], period: int, *, lowest: float = 0.0) -> Cyclical:
    """A cosine from `peak` down to nearly `lowest`, started again every `period` steps.

    With t = step mod period:  lowest + (peak - lowest) (1 + cos(pi t / period)) / 2.
    A draw is usually taken at the end of each cycle (Zhang et al., 2020).

    Args:
      peak: the largest step size, that of the first step of a cycle; "auto" for `px.sample` to
        measure it.
      period: steps of a cycle.
      lowest: what the step size goes down to.

    Example:
      >>> float(cyclical(1e-4, 5_000)(5_000)) == float(cyclical(1e-4, 5_000)(0))
      True
    """
    period = check_count("period", period, at_least=1)
    if peak == AUTO:
        return Cyclical(AUTO, period, check_number("lowest", lowest, at_least=0.0))
    peak = check_number("peak", peak, above=0.0)
    return Cyclical(peak, period, check_number("lowest", lowest, at_least=0.0, at_most=peak))


def as_schedule(value: Any, name: str) -> Schedule:
    """A number or a schedule as a schedule whose values have JAX's default float type."""
    if isinstance(value, Cyclical):
        if value.peak == AUTO:
            raise UserError(
                f'`{name}` can have the peak "auto" in px.sgld, px.sghmc and px.sgnht, whose laws '
                "are known; give a number here."
            )
        return value
    if callable(value):

        def schedule(step: Any) -> Any:
            with jax.numpy_dtype_promotion("standard"):  # optax's own mix integers and floats
                return jnp.asarray(value(step), float)

        return schedule
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise UserError(f"`{name}` must be a positive number or a schedule, got {one_line(value)}.")
    return constant(check_number(name, value, above=0.0))
