"""Checks on the settings and inputs of networks, each one sentence when it fails."""

from typing import Any

from pxsgmcmc.errors import UserError, check_count


def check_image_shape(shape: tuple[int, ...]) -> None:
    """Raise `UserError` unless one input is (height, width, channels), none of them zero."""
    if len(shape) != 3 or min(shape) < 1:
        raise UserError(
            "Images must have shape (batch, height, width, channels), "
            f"got (batch, {', '.join(map(str, shape))}); reshape them first."
        )


def check_widths(name: str, widths: Any, *, at_least: int = 0) -> tuple[int, ...]:
    """Return `widths` as a tuple of at least `at_least` whole numbers, else raise `UserError`.

    Example:
      >>> check_widths("widths", [64, 32])
      (64, 32)
    """
    if not isinstance(widths, list | tuple) or len(widths) < at_least:
        raise UserError(f"`{name}` must be a list of at least {at_least} widths, got {widths!r}.")
    return tuple(check_count(f"{name}[{i}]", width, at_least=1) for i, width in enumerate(widths))


def check_choice(name: str, value: Any, choices: Any) -> Any:
    """Return `value` if it is one of `choices`, else raise `UserError`.

    Example:
      >>> check_choice("activation", "relu", ["relu", "tanh"])
      'relu'
    """
    if not isinstance(value, str) or value not in choices:
        raise UserError(f"`{name}` must be one of {', '.join(choices)}, got {value!r}.")
    return value
