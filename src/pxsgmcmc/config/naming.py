"""Errors of the parts, with the place of their setting in the configuration."""

from collections.abc import Iterator
from contextlib import contextmanager

from pxsgmcmc.errors import UserError


@contextmanager
def naming(section: str) -> Iterator[None]:
    """Put the section of the configuration before the setting that an error names.

    Example:
      >>> with naming("model"):
      ...     raise UserError("`depth` must be at least 8, got 2.")
      Traceback (most recent call last):
      pxsgmcmc.errors.UserError: `model.depth` must be at least 8, got 2.
    """
    try:
        yield
    except UserError as error:
        text = str(error)
        named = text.replace("`", f"`{section}.", 1) if text[0] == "`" else f"[{section}] {text}"
        raise UserError(named) from error
