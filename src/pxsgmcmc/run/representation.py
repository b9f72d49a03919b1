"""A run in a few words: for a terminal, and for a notebook."""

from html import escape
from typing import Any

_COLOURS = {True: "#2a7", False: "#c33", None: "#888"}  # healthy, not healthy, not known


def summary_of(run: Any) -> str:
    """One line on what it is."""
    chains = f" of {run.chains} chains" if run.chains > 1 else ""
    where = f" in {run.path}" if run.path is not None else ""
    return f"{len(run)} draws{chains} by {run.origin.get('method', 'a sampler')}{where}"


def html_of(run: Any) -> str:
    """What it is and whether to believe it, for notebooks."""
    verdict = run.verdict
    warnings = "".join(f"<li>{escape(warning)}</li>" for warning in verdict.warnings)
    return (
        f"<div><b>Run</b> {escape(summary_of(run))}, {escape(run.status)}<br>"
        f'<span style="color:{_COLOURS[verdict.healthy]}">{escape(verdict.headline)}</span>'
        f"{f'<ul>{warnings}</ul>' if warnings else ''}</div>"
    )
