"""Tables of a report as plain text in cells; the page sets them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from pxsgmcmc.report.explanations import beside_a_table
from pxsgmcmc.report.formatting import (
    MISSING,
    count,
    metric_title,
    metric_value,
    number,
    plain,
    with_spread,
)
from pxsgmcmc.report.reported import Reported, ShownMethod
from pxsgmcmc.results import Comparison, Detection, SplitResult


class Cell(NamedTuple):
    """What a cell says, whether it stands out, its tone ("right", "wrong") and where it leads."""

    text: str
    strong: bool = False
    tone: str = ""
    link: str = ""


class Table(NamedTuple):
    """A caption, a head, and rows that begin with their names."""

    caption: str
    head: list[str]
    rows: list[list[Cell]]
    note: str = ""

    @property
    def narrow(self) -> bool:
        """Whether it is no wider than a figure."""
        return len(self.head) <= 4 and all(len(cell.text) < 10 for r in self.rows for cell in r[1:])


_SCORES = ("err", "rmse", "mae", "nll", "crps", "ece", "brier", "coverage90")
_ALL = (
    *("err", "rmse", "mae", "nll", "ece", "brier", "crps", "ind", "amb", "var"),
    *("coverage90", "width90", "coverage50", "std", "epistemic_share"),
    *("entropy", "aleatoric", "epistemic"),
)
_DETECTION = (
    "auroc",
    "tnr95_inside",
    "tnr99_inside",
    "aupr_inside",
    "tnr95_outside",
    "tnr99_outside",
    "aupr_outside",
)
_OVER_SEEDS = "Over seeds: mean ± standard deviation."


def comparison_table(comparison: Comparison) -> Table:
    """Metrics as rows, methods as columns, the best in bold."""
    told_apart = {d.row for d in comparison.differences if d.told_apart}
    rows = []
    for row in comparison.rows:
        arrow = {True: " ↓", False: " ↑", None: ""}[row.lower_is_better]
        star = " *" if row.key in told_apart else ""
        cells = [Cell(plain(row.title, 60) + arrow + star)]
        for summary in row.methods:
            if summary is None:
                cells.append(Cell(MISSING))
            else:
                text = with_spread(row.key.rpartition("/")[2], summary.mean, summary.sd)
                cells.append(Cell(text, summary.best))
        rows.append(cells)
    seeds = {m.name: len(m.seeds) for m in comparison.methods}
    heads = [f"{plain(name, 40)} ({count(many, 'seed')})" for name, many in seeds.items()]
    note = "↓ lower is better, ↑ higher is better; the best mean is bold"
    if told_apart:
        note += "; * at least two methods differ by more than their seeds do (p < 0.05, corrected)"
    meanings = beside_a_table({row.key.rpartition("/")[2] for row in comparison.rows})
    return Table("Methods side by side", ["", *heads], rows, f"{note}. {meanings}".strip())


def differences_table(comparison: Comparison) -> Table | None:
    """Every pair of methods on every row, with p-values."""
    titles = {row.key: row.title for row in comparison.rows}
    pairs = {d: f"{plain(d.second, 40)} − {plain(d.first, 40)}" for d in comparison.differences}
    one_pair = len(set(pairs.values())) == 1
    rows = [
        [
            Cell(plain(titles.get(d.row, d.row), 60) + ("" if one_pair else f": {pair}")),
            Cell(number(d.difference), d.told_apart),
            Cell(number(d.t, 2)),
            Cell(number(d.t_corrected, 2)),
            Cell(number(d.permutation, 2)),
            Cell(number(d.permutation_corrected, 2)),
        ]
        for d, pair in pairs.items()
    ]
    caption = next(iter(pairs.values())) if one_pair else "Differences between methods"
    head = ["", "difference", "p (t)", "corrected", "p (permutation)", "corrected"]
    note = (
        "Two-sided p-values over seeds; corrected by Holm's method over all rows; bold: told apart."
    )
    return Table(caption, head, rows, note) if rows else None


_PARTS: dict[str, Callable[[Reported], SplitResult | None]] = {
    "test": lambda run: run.results.test,
    "validation": lambda run: run.results.validation,
    "train": lambda run: run.results.train,
}


def splits_tables(methods: Sequence[ShownMethod], *, explained: bool) -> list[Table]:
    """Every metric on test, validation and training data: one table, or for methods one each.

    `explained` says what the less common metrics of the first table mean.
    """
    parts = [part for part, read in _PARTS.items() if any(map(read, all_runs(methods)))]
    if len(methods) == 1:
        columns = [(methods[0], part) for part in parts]
        tables = [_metrics_table("All draws together", columns, parts)]
    else:
        tables = _by_part(methods, parts)
    if not explained:
        return tables
    metrics = {name for run in all_runs(methods) for name in run.results.test.metrics}
    note = f"{tables[0].note} {beside_a_table(metrics)}".strip()
    return [tables[0]._replace(note=note), *tables[1:]]


def _by_part(methods: Sequence[ShownMethod], parts: Sequence[str]) -> list[Table]:
    return [
        _metrics_table(f"All draws together, {part} data", [(m, part) for m in methods], names)
        for part in parts
        if (names := [method.name for method in methods])
    ]


def _metrics_table(
    caption: str, columns: Sequence[tuple[ShownMethod, str]], head: Sequence[str]
) -> Table:
    rows = []
    for metric in _ALL:
        cells = [_metric(method, metric, _PARTS[part]) for method, part in columns]
        if any(cell.text != MISSING for cell in cells):
            rows.append([Cell(metric_title(metric)), *cells])
    return Table(caption, ["", *head], rows, _seeds([method for method, _ in columns]))


def shifts_table(methods: Sequence[ShownMethod]) -> Table | None:
    """A row for each shifted set, for each method."""
    shifts = [run.results.shifts for run in all_runs(methods)]
    names = dict.fromkeys(name for one in shifts for name in one)
    scores = _present(split for one in shifts for split in one.values())
    rows = [
        [Cell(_of(plain(name, 60), method, methods)), *_splits(method, name, scores)]
        for name in names
        for method in methods
    ]
    head = ["data", "rows", *map(metric_title, scores)]
    return Table("On shifted data", head, rows, _seeds(methods)) if rows else None


def _present(splits: Iterable[SplitResult]) -> list[str]:
    """The scores that any of the splits has: a table has no column of dashes."""
    names = {name for split in splits for name in split.metrics}
    return [name for name in _SCORES if name in names]


def _splits(method: ShownMethod, name: str, scores: Sequence[str]) -> list[Cell]:
    read: Callable[[Reported], SplitResult | None] = lambda run: run.results.shifts.get(name)  # noqa: E731
    first = next((s for run in method.runs if (s := read(run))), None)
    many = Cell(f"{first.rows:,}" if first else MISSING)
    return [many, *(_metric(method, metric, read) for metric in scores)]


def corruptions_table(methods: Sequence[ShownMethod]) -> Table | None:
    """A row for each severity, all corruptions pooled, for each method."""
    pooled = [c.pooled for m in methods for run in m.runs if (c := run.results.corruptions)]
    names = dict.fromkeys(severity for one in pooled for severity in one)
    scores = _present(split for one in pooled for split in one.values())

    def split(run: Reported, severity: str) -> SplitResult | None:
        corruptions = run.results.corruptions
        return corruptions.pooled.get(severity) if corruptions else None

    rows = [
        [
            Cell(_of(f"severity {plain(name, 20)}" if name != "all" else "all", method, methods)),
            *(_metric(method, metric, lambda run, n=name: split(run, n)) for metric in scores),
        ]
        for name in names
        for method in methods
    ]
    head = ["", *map(metric_title, scores)]
    return Table("Corrupted test data, pooled", head, rows, _seeds(methods)) if rows else None


def every_corruption(method: ShownMethod) -> Iterator[Table]:
    """A row for each corruption, a column for each severity, one table a metric."""
    corruptions = [c for run in method.runs if (c := run.results.corruptions)]
    for metric in ("err", "nll", "ece"):
        alike = [c for c in corruptions if metric in c.values and c.names == corruptions[0].names]
        if not alike:
            continue
        rows = []
        for place, name in enumerate(alike[0].names):
            columns = zip(*(c.values[metric][place] for c in alike), strict=True)
            cells = [Cell(metric_value(metric, fmean(values))) for values in columns]
            rows.append([Cell(plain(name.replace("_", " "), 40)), *cells])
        head = ["corruption", *(str(severity) for severity in alike[0].severities)]
        yield Table(f"{metric_title(metric)} by corruption and severity", head, rows)


def detection_table(methods: Sequence[ShownMethod]) -> Table | None:
    """A row for each out-of-distribution set, for each method."""
    names = dict.fromkeys(
        n for m in methods for run in m.runs for n in run.results.out_of_distribution
    )
    rows = []
    for name in names:
        for method in methods:
            detections = [d for r in method.runs if (d := r.results.out_of_distribution.get(name))]
            cells = [_detected(detections, metric) for metric in _DETECTION]
            rows.append([Cell(_of(plain(name, 60), method, methods)), *cells])
    note = (
        "(inside): the test data count as positive, (outside): the others do. ± is over seeds, or "
        "for one seed over subsets of the data."
    )
    head = ["data", *map(metric_title, _DETECTION)]
    return Table("Told apart by entropy", head, rows, note) if rows else None


def _detected(detections: Sequence[Detection], metric: str) -> Cell:
    values = [d.metrics[metric] for d in detections if metric in d.metrics]
    if not values:
        return Cell(MISSING)
    if len(values) > 1:
        return Cell(with_spread(metric, fmean(values), stdev(values)))
    over_subsets = detections[0].spread.get(metric) if detections[0].subsets > 1 else None
    return Cell(with_spread(metric, values[0], over_subsets))


def _metric(
    method: ShownMethod, metric: str, read: Callable[[Reported], SplitResult | None]
) -> Cell:
    """Over the seeds of a method."""
    values = [s.metrics[metric] for run in method.runs if (s := read(run)) and metric in s.metrics]
    if not values:
        return Cell(MISSING)
    return Cell(with_spread(metric, fmean(values), stdev(values) if len(values) > 1 else None))


def all_runs(methods: Sequence[ShownMethod]) -> list[Reported]:
    """The runs of all methods."""
    return [run for method in methods for run in method.runs]


def _seeds(methods: Sequence[ShownMethod]) -> str:
    return _OVER_SEEDS if any(len(method.runs) > 1 for method in methods) else ""


def _of(name: str, method: ShownMethod, methods: Sequence[ShownMethod]) -> str:
    return f"{name} – {method.name}" if len(methods) > 1 else name
