"""How closely a run is looked at; none of it changes a draw."""

from dataclasses import dataclass

from pxsgmcmc.errors import UserError, check_count


@dataclass(frozen=True)
class EvaluateOptions:
    """Settings of `evaluate`.

    Attributes:
      corruptions: true for all 19 at 5 severities made from the test rows; or a set in the layout
        of CIFAR-10-C by name, "cifar10-c" or one that `pxsgmcmc data corrupt` made.
      corrupted_rows: only the first so many of each corruption; all of them if None.
      train_rows: only so many training rows, evenly spaced; all of them if None.
      subset: rows of each side of a pair of sets to be told apart, drawn at random; fewer where a
        set is smaller.
      subsets: how often such rows are drawn, for the spread.
      seed: of the corruptions and the subsets.
      batch_size: inputs at a time.
      root: folder of the corrupted set, as in `px.data.load`.
    """

    corruptions: bool | str = False
    corrupted_rows: int | None = None
    train_rows: int | None = None
    subset: int = 1000
    subsets: int = 5
    seed: int = 0
    batch_size: int = 500
    root: str | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("subset", "subsets", "batch_size"):
            check_count(name, getattr(self, name), at_least=1)
        check_count("seed", self.seed)
        for name in ("corrupted_rows", "train_rows"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), at_least=1)
        if not isinstance(self.corruptions, bool | str):
            raise UserError(
                f"`corruptions` must be true, false or a set's name, got {self.corruptions!r}."
            )


@dataclass(frozen=True)
class DiagnoseOptions:
    """Settings of `diagnose`.

    Attributes:
      rows: training rows, at most, on which the error on lines between draws is measured; half as
        many for the plane, which has far more points.
      lines: between so many pairs of consecutive draws, at most, evenly chosen.
      line_points: on each line, its ends among them.
      plane_points: on each side of the grid over the plane; 0 leaves the plane out.
      probes: test rows whose predictions are followed over the draws.
    """

    rows: int = 1000
    lines: int = 10
    line_points: int = 11
    plane_points: int = 21
    probes: int = 50

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_count("rows", self.rows, at_least=1)
        check_count("lines", self.lines, at_least=1)
        check_count("line_points", self.line_points, at_least=2)
        check_count("plane_points", self.plane_points)
        check_count("probes", self.probes, at_least=1)
