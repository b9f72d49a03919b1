"""Which draws of which chains a run shows, and in which order."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from pxsgmcmc.errors import UserError, check_count, one_line


class NoSuchDraw(UserError, IndexError):
    """An index or a slice that has no draws."""


class DrawPlace(NamedTuple):
    """Where a draw is."""

    chain: int  # among the chains of this run, from 0
    number: int  # in its chain, from 1


def in_turns(records: Sequence[Any]) -> list[DrawPlace]:
    """The first draw of each chain, then the second of each, and so on."""
    chains = [
        [DrawPlace(chain, draw.number) for draw in record.draws]
        for chain, record in enumerate(records)
    ]
    return [place for turn in zip_longest(*chains) for place in turn if place is not None]


def one_of(places: Sequence[DrawPlace], index: int) -> DrawPlace:
    """The place with this index; negative ones count from the end.

    Example:
      >>> one_of([DrawPlace(0, 1), DrawPlace(0, 2)], -1)
      DrawPlace(chain=0, number=2)
    """
    if not hasattr(index, "__index__"):
        raise UserError(f"`run[...]` takes a whole number or a slice, got {one_line(index)}.")
    if not -len(places) <= index < len(places):
        raise NoSuchDraw(f"`run[{index}]` is not there: {_there_are(places)}.")
    return places[index]


def chosen(places: Sequence[DrawPlace], index: slice) -> Sequence[DrawPlace]:
    """The places of a slice, of which there must be some."""
    if not places[index]:
        raise NoSuchDraw(f"`run[{_spell(index)}]` has no draws: {_there_are(places)}.")
    return places[index]


def after_first(places: Sequence[DrawPlace], draws: int) -> list[DrawPlace]:
    """Without the first so many draws of each chain."""
    check_count("skip", draws)
    left = [place for place in places if place.number > draws]
    if not left:
        most = max((place.number for place in places), default=0)
        raise NoSuchDraw(f"`skip` must be less than the {most} draws of a chain, got {draws}.")
    return left


def _there_are(places: Sequence[DrawPlace]) -> str:
    if not places:
        return "the run has none yet"
    return f"the run has {len(places)}, from 0 to {len(places) - 1}"


def _spell(index: slice) -> str:
    parts = [index.start, index.stop] + ([index.step] if index.step is not None else [])
    return ":".join("" if part is None else str(part) for part in parts)
