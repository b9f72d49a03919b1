"""What a configuration says that figures need; nothing where it is not one of ours."""

import math
import tomllib
from typing import Any

_POINTS_A_CYCLE = 12
_MOST_CYCLES = 60  # more would be a solid block


def settings(config: str) -> dict[str, Any]:
    """The configuration, empty if it cannot be read: a chain started from Python has other text."""
    try:
        return tomllib.loads(config)
    except tomllib.TOMLDecodeError:
        return {}


def section(config: str, name: str) -> dict[str, Any]:
    r"""One table of the configuration.

    Example:
      >>> section("[sampler]\nname = 'sgld'", "sampler")
      {'name': 'sgld'}
    """
    found = settings(config).get(name)
    return found if isinstance(found, dict) else {}


def wanted_temperature(config: str) -> float | None:
    r"""The temperature the sampler was given.

    Example:
      >>> wanted_temperature("[sampler]\ntemperature = 0.1")
      0.1
    """
    value = section(config, "sampler").get("temperature")
    return float(value) if isinstance(value, int | float) else None


def schedule(config: str, steps: int) -> tuple[list[float], list[float]] | None:
    r"""Steps and step sizes of a cyclical schedule; None for another, or one of too many cycles.

    Example:
      >>> x, y = schedule("[sampler]\nstep_size = {kind='cyclical', peak=0.5, period=10}", 20)
      >>> y[0], round(y[-1], 3)
      (0.5, 0.012)
    """
    asked = section(config, "sampler").get("step_size")
    if not isinstance(asked, dict) or asked.get("kind") != "cyclical":
        return None
    period = asked.get("period") or section(config, "chain").get("steps")
    if not isinstance(period, int) or not 0 < steps <= _MOST_CYCLES * period:
        return None
    peak, lowest = float(asked["peak"]), float(asked.get("lowest", 0.0))
    each = range(min(_POINTS_A_CYCLE, period))
    phases = [round(i * (period - 1) / max(1, len(each) - 1)) for i in each]
    at = [start + t for start in range(0, steps, period) for t in phases if start + t < steps]
    height = (peak - lowest) / 2.0
    return [float(t) for t in at], [
        lowest + height * (1.0 + math.cos(math.pi * (t % period) / period)) for t in at
    ]
