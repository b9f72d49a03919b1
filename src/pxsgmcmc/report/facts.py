"""What the manifest of a run says that figures need; nothing where it does not say it."""

from collections.abc import Mapping
from typing import Any

_MOST_CYCLES = 60  # more would be a solid block


def wanted_temperature(manifest: Mapping[str, Any]) -> float | None:
    """The temperature the sampler was given.

    Example:
      >>> wanted_temperature({"origin": {"sampler": {"temperature": 0.1}}})
      0.1
    """
    value = _table(manifest, "sampler").get("temperature")
    return float(value) if isinstance(value, int | float) else None


def schedule(manifest: Mapping[str, Any], steps: int) -> tuple[list[float], list[float]] | None:
    """Steps and step sizes as they were planned; None where that is not known, or is a solid block.

    Example:
      >>> plan = {"period": 10, "offset": 0, "at": [0, 9], "values": [0.5, 0.1]}
      >>> schedule({"origin": {"schedule": plan}}, 20)
      ([0.0, 9.0, 10.0, 19.0], [0.5, 0.1, 0.5, 0.1])
    """
    plan = _table(manifest, "schedule")
    at, values = plan.get("at") or [], plan.get("values") or []
    period = plan.get("period") or max(steps, 1)
    if not at or len(at) != len(values) or steps > _MOST_CYCLES * period:
        return None
    begins = range(-int(plan.get("offset") or 0), max(steps, 1), period)
    points = [(float(begin + t), v) for begin in begins for t, v in zip(at, values, strict=True)]
    shown = [(t, v) for t, v in points if 0.0 <= t < steps]
    return ([t for t, _ in shown], [v for _, v in shown]) if shown else None


def _table(manifest: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    origin = manifest.get("origin")
    table = origin.get(name) if isinstance(origin, Mapping) else None
    return table if isinstance(table, Mapping) else {}
