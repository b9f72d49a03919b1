"""A line of the log in words, for whoever watches a chain."""

from typing import Any


def in_words(facts: dict[str, Any]) -> str:
    """The numbers of a line of the log, for a person."""
    speed = facts["steps_per_second"]
    parts = [
        f"draw {facts['draws']}/{facts['all_draws']}",
        f"step {facts['step']}/{facts['total_steps']}",
        *([f"{speed:,.0f} steps/s" if speed >= 10 else f"{speed:.2g} steps/s"] if speed else []),
        f"energy {facts['energy']:.4g}",
        f"step size {facts['step_size']:.2g}",
    ]
    parts += [f"T[{group}] {value:.3g}" for group, value in facts["temperature"].items()]
    if facts["acceptance"] is not None:
        parts.append(f"acceptance {facts['acceptance']:.2f}")
    return ", ".join(parts)
