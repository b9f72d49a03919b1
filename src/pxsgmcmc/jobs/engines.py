"""Engines by name, as `--engine` has them."""

from pxsgmcmc.errors import UserError, did_you_mean
from pxsgmcmc.jobs.local import Local

ENGINES = {"local": Local}


def engine_named(name: str, at_once: int | None = None) -> Local:
    """The engine of that name.

    Args:
      name: "local" for processes on this machine.
      at_once: how many jobs run at the same time; as many as there are cores if not given.

    Example:
      >>> engine_named("local", 2).at_once
      2
    """
    if name not in ENGINES:
        raise UserError(f"`--engine` cannot be {name!r}; {did_you_mean(name, ENGINES)}")
    return ENGINES[name]() if at_once is None else ENGINES[name](at_once)
