"""What an experiment is: runs to make, tables and figures, published values, claims.

An experiment is one file of `experiments/` that ends in `EXPERIMENT = Experiment(...)`; adding one
takes that file and its name in `catalogue.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pxsgmcmc.data.cache import cache_folder
from pxsgmcmc.errors import UserError
from pxsgmcmc.reproduce.scale import Scale

Relation = Literal["below", "above", "about"]
Published = Mapping[tuple[str, str], tuple[float, float | None]]  # (arm, measure) -> mean, sd
_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Times(NamedTuple):
    """A setting of an arm that is another one of its method's, as chosen, times a factor."""

    setting: str
    factor: float


class Needed(NamedTuple):
    """A setting that is the path of a file which users bring, below their folder of data sets.

    Attributes:
      place: of the file in that folder, which stands for it in the digest of a run.
      what: it is and who published it, for the sentence of a user who does not have it.
    """

    place: str
    what: str

    @property
    def path(self) -> Path:
        """Where it is looked for."""
        return cache_folder() / self.place

    def check(self) -> None:
        """Raise `UserError` if it is not there."""
        if not self.path.is_file():
            raise UserError(f"`{self.path}` is needed and not there: place {self.what} there.")


class LastDraw(NamedTuple):
    """A setting that is the last draw of another arm: of its chain number s for seed s."""

    arm: "Arm"


class Arm(NamedTuple):
    """One way to sample, or to compute something, repeated over seeds.

    Attributes:
      label: as tables name it.
      method: whose settings it takes, a key of `METHODS`; empty for what is computed, and for what
        has all settings of its own.
      over: settings over these, by their full name.
      compute: "module:function" below this package, called with `over` and a seed in a process of
        its own; it returns values by measure. Empty for a run.
      once: made with seed 0 alone, however many are asked for.
    """

    label: str
    method: str = ""
    over: Mapping[str, Any] = _NOTHING
    compute: str = ""
    once: bool = False


class TableSpec(NamedTuple):
    """A table: arms as rows, measures as columns."""

    caption: str
    measures: Sequence[str]
    note: str = ""


class ClaimPart(NamedTuple):
    """One statement of a claim.

    Attributes:
      measure: such as "test/nll", or a difference of two, "corruptions-5/ece - corruptions-1/ece".
      first: an arm.
      relation: of the first to the second; "about" is within 5 %.
      second: an arm, or a number.
      factor: the second is multiplied by it, for "within 5 % of".
      exact: a statement without chance: it holds if every seed agrees.
    """

    measure: str
    first: str
    relation: Relation
    second: str | float
    factor: float = 1.0
    exact: bool = False


class FigureSpec(NamedTuple):
    """A figure: a curve of every arm, by seed and on average.

    Attributes:
      title: what is shown.
      curve: which curve of a record is drawn.
      x: name of its x axis.
      y: name of its y axis.
      caption: how to read it.
      arms: only these; all if empty.
      percent: y is a share.
      kind: "lines", "histograms" of entropy, "roc", "boxes" over corruptions, "layers": every
        layer faintly and the extreme one, or "plane": contours of the first arm's first seed.
    """

    title: str
    curve: str
    x: str
    y: str
    caption: str
    arms: Sequence[str] = ()
    percent: bool = False
    kind: Literal["lines", "histograms", "roc", "boxes", "layers", "plane"] = "lines"


class Experiment(NamedTuple):
    """A table or figure of the paper.

    Attributes:
      name: as typed.
      title: as read.
      about: what is compared and how, in a sentence or two.
      arms: at a scale.
      tables: at a scale.
      published: the paper's values, by arm and measure.
      claims: at a scale, id -> its statements.
      figures: at a scale.
      diagnosed: whether its runs need singular values, distances and connectivity.
      stressed: whether they need shifts, corruptions and out-of-distribution sets.
      scales: where it can be made.
      remarks: what a reader must know.
    """

    name: str
    title: str
    about: str
    arms: Callable[[Scale], Sequence[Arm]]
    tables: Callable[[Scale], Sequence[TableSpec]]
    published: Published = _NOTHING
    claims: Callable[[Scale], Mapping[str, Sequence[ClaimPart]]] = lambda scale: {}
    figures: Callable[[Scale], Sequence[FigureSpec]] = lambda scale: ()
    diagnosed: bool = False
    stressed: bool = False
    scales: tuple[str, ...] = ("desk", "laptop", "paper")
    remarks: tuple[str, ...] = ()
