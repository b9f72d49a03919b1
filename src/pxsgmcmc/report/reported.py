"""What a report is made of: runs as they were read, and methods as they are shown."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from pxsgmcmc.report.formatting import plain
from pxsgmcmc.report.svg import SERIES
from pxsgmcmc.results import Comparison, Diagnostics, Results


class Reported(NamedTuple):
    """One run, read.

    Attributes:
      results: of `pxsgmcmc evaluate`.
      diagnostics: of `pxsgmcmc diagnose`; None before that.
      logs: the lines of the log, one list a chain.
      manifest: of the run, or of its first chain.
      config: the text of `config.toml`.
      place: the directory, as the reader would type it.
    """

    results: Results
    diagnostics: Diagnostics | None = None
    logs: Sequence[Sequence[dict[str, Any]]] = ()
    manifest: Mapping[str, Any] = MappingProxyType({})
    config: str = ""
    place: str = "DIR"


class ShownMethod(NamedTuple):
    """A method as it is shown: one colour, its runs by seed."""

    name: str
    place: int  # among the methods
    runs: list[Reported]

    @property
    def colour(self) -> str:
        """Of its lines."""
        return SERIES[self.place % len(SERIES)]


def by_method(runs: Sequence[Reported], comparison: Comparison | None = None) -> list[ShownMethod]:
    """Runs that differ in their seed alone together, in the order of the comparison."""
    groups: dict[tuple[str, str], list[Reported]] = {}
    for run in runs:
        subject = run.results.subject
        groups.setdefault((subject.method, subject.settings), []).append(run)
    names = {}
    if comparison:
        names = {(m.method, m.settings): m.name for m in comparison.methods}
    order = [key for key in names if key in groups] + [key for key in groups if key not in names]
    return [
        ShownMethod(
            plain(names.get(key, key[0]), 60),
            place,
            sorted(groups[key], key=lambda run: run.results.subject.seed),
        )
        for place, key in enumerate(order)
    ]
