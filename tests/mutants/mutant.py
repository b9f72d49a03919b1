"""A mutant: one wrong edit of the library, and the tests that must notice it."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """One edit.

    Attributes:
      breaks: what the edit makes wrong, in a few words.
      file: below `src/pxsgmcmc`.
      old: text that occurs in it exactly once.
      new: what takes its place.
      tests: as pytest names them, below `tests`; at least one has to fail.
    """

    breaks: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
