"""Tables of an experiment: our mean and spread over seeds beside the published value."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from pxsgmcmc.reproduce.experiment import Experiment, TableSpec
from pxsgmcmc.reproduce.plan import Planner
from pxsgmcmc.reproduce.record import Record
from pxsgmcmc.reproduce.verdicts import ClaimVerdict, judge, value

MISSING = "–"
_WORDS = {
    "test": "test",
    "validation": "validation",
    "train": "training",
    "corruptions": "corrupted",
    "counts": "",
    "draws": "",
    "layers": "",
    "lines": "",
    "chains": "",
    "burn_in": "",
    "modes": "",
    "cost": "",
    "first": "",
    "flow": "",
    "bound": "",
}
_INITIALS = ("err", "nll", "ece", "ind", "amb", "var")
_TITLES = {
    "auroc": "AUROC",
    "tnr95_inside": "TNR95",
    "tnr99_inside": "TNR99",
    "d": "d",
    "d_bar": "d̄",
    "largest": "largest singular value",
    "smallest": "smallest singular value",
    "condition": "condition number",
    "barrier": "barrier",
    "r_hat": "R-hat, median",
    "r_hat_worst": "R-hat, worst",
    "acceptance": "acceptance",
    "parameters": "parameters",
    "sampled": "parameters sampled",
    "needed": "draws to leave out",
    "settling": "draws to settle",
}
# Beginnings of the hashes of training rows whose pixels went through JPEG: a copy of CIFAR-10, at
# 16 and at 32 pixels a side.
JPEG_TRAIN = ("ab44a0223be8", "3e4aadb93100")


class PublishedCell(NamedTuple):
    """Our value and the published one, as text."""

    ours: str
    published: str = ""


class ShownTable(NamedTuple):
    """A table, ready to be printed."""

    caption: str
    head: list[str]
    rows: list[tuple[str, list[PublishedCell]]]
    note: str


class Made(NamedTuple):
    """An experiment with what is known of it.

    Attributes:
      experiment: which.
      planner: of its scale.
      records: of each arm.
      tables: beside published values.
      verdicts: by claim.
      notes: sentences on what a reader must know: seeds, health, settings.
    """

    experiment: Experiment
    planner: Planner
    records: Mapping[str, Sequence[Record]]
    tables: Sequence[ShownTable]
    verdicts: Mapping[str, ClaimVerdict]
    notes: Sequence[str]


def gather(experiment: Experiment, planner: Planner) -> Made:
    """Read what is kept of an experiment."""
    arms = experiment.arms(planner.scale)
    records = {arm.label: planner.records(arm) for arm in arms}
    shown = [_table(spec, experiment, records) for spec in experiment.tables(planner.scale)]
    absent = _absent_sets(experiment, planner, records)
    verdicts = {
        name: judge([p for p in parts if _set_of(p.measure) not in absent], records)
        for name, parts in experiment.claims(planner.scale).items()
    }
    notes = _notes(experiment, planner, records)
    if absent:
        notes.append(f"Not evaluated, since they are not there: {', '.join(sorted(absent))}.")
    return Made(experiment, planner, records, shown, verdicts, notes)


def _set_of(measure: str) -> str:
    """The optional set that a measure is of; empty for those that are always there."""
    where = measure.partition("/")[0]
    return where.partition(" ")[2] if where.startswith(("shift ", "ood ")) else ""


def _absent_sets(
    experiment: Experiment, planner: Planner, records: Mapping[str, Sequence[Record]]
) -> set[str]:
    """Sets that the claims speak of and that no run was evaluated on, if there are runs at all."""
    made = [record for kept in records.values() for record in kept if record.outcome == "done"]
    parts = [part for claim in experiment.claims(planner.scale).values() for part in claim]
    known = {_set_of(measure) for record in made for measure in record.values}
    return {name for p in parts if (name := _set_of(p.measure))} - known if made else set()


def measure_title(measure: str) -> str:
    """A measure as a reader would name it.

    Example:
      >>> measure_title("test/nll"), measure_title("shift cifar10.1/err_1")
      ('test NLL', 'cifar10.1 ERR 1')
    """
    where, _, metric = measure.partition("/")
    where = where.removeprefix("shift ").removeprefix("ood ")
    where = where.replace("corruptions-", "severity ")
    where = _WORDS.get(where, where)
    words = [word.upper() if word in _INITIALS else word for word in metric.split("_")]
    return f"{where} {_TITLES.get(metric, ' '.join(words))}".strip()


def number(x: float) -> str:
    """To three or four digits.

    Example:
      >>> number(0.12345), number(274042.0), number(1234.5), number(12.0)
      ('0.123', '274,042', '1,234', '12')
    """
    if x == int(x) and abs(x) < 1e9:
        return f"{int(x):,}"
    if abs(x) >= 1000.0:
        return f"{x:,.0f}"
    if abs(x) >= 10.0:
        return f"{x:.1f}"
    return f"{x:.3f}" if abs(x) >= 1e-3 else f"{x:.1e}"


def with_spread(values: Sequence[float]) -> str:
    """Mean ± standard deviation, with n - 1; one value alone as it is."""
    if not values:
        return MISSING
    if len(values) == 1:
        return number(values[0])
    return f"{number(fmean(values))} ± {number(stdev(values))}"


def _table(
    spec: TableSpec, experiment: Experiment, records: Mapping[str, Sequence[Record]]
) -> ShownTable:
    rows = []
    for label, kept in records.items():
        cells = []
        for measure in spec.measures:
            values = [v for record in kept if (v := value(record, measure)) is not None]
            published = experiment.published.get((label, measure))
            spread = values[:1] if measure.startswith("counts/") else values  # none over seeds
            cells.append(PublishedCell(with_spread(spread), _published(published)))
        if any(cell.ours != MISSING or cell.published for cell in cells):
            rows.append((label, cells))
    return ShownTable(spec.caption, ["", *map(measure_title, spec.measures)], rows, spec.note)


def _published(known: tuple[float, float | None] | None) -> str:
    if known is None:
        return ""
    mean, sd = known
    return number(mean) + (f" ± {number(sd)}" if sd is not None else "")


def _notes(
    experiment: Experiment, planner: Planner, records: Mapping[str, Sequence[Record]]
) -> list[str]:
    notes = [f"At the {planner.scale.name} scale: {planner.scale.about}."]
    notes.append(_seeds(records))
    every = [record for kept in records.values() for record in kept]
    runs = [record for record in every if record.headline != "computed"]
    diverged = [record for record in runs if record.outcome == "diverged"]
    ill = [r for r in runs if r.healthy is False and r.outcome == "done"]
    unknown = [record for record in runs if record.healthy is None]
    if runs:
        well = len(runs) - len(diverged) - len(ill) - len(unknown)
        notes.append(
            f"Of {len(runs)} runs {well} are healthy, {len(ill)} are not, {len(unknown)} cannot be "
            f"told and {len(diverged)} diverged."
        )
    if ill:
        of = {
            label: sum(record.healthy is False for record in kept)
            for label, kept in records.items()
        }
        named = [f"{label} {bad} of {len(records[label])}" for label, bad in of.items() if bad]
        notes.append(f"Not healthy: {listed(named)}.")
    if planner.scale.name != "paper" and experiment.published:
        notes.append(
            "Published values are of another size: who is ahead can be compared, not how much."
        )
    if any(record.hashes.get("train", "").startswith(JPEG_TRAIN) for record in every):
        notes.append("The pixels of this copy of CIFAR-10 went through JPEG (quality 75).")
    chosen = {arm.method for arm in experiment.arms(planner.scale) if arm.method}
    made_by: dict[str, list[str]] = {}
    for method in sorted(chosen):
        if method in planner.chosen:
            made_by.setdefault(planner.chosen[method].made_by, []).append(method)
    notes += [f"Settings of {', '.join(names)}: {how}." for how, names in made_by.items()]
    return [*notes, *experiment.remarks]


def _seeds(records: Mapping[str, Sequence[Record]]) -> str:
    by_count: dict[int, list[str]] = {}
    for label, kept in records.items():
        by_count.setdefault(len(kept), []).append(label)
    if len(by_count) == 1:
        count = next(iter(by_count))
        seeds = f"{count} seed{'s' * (count != 1)} each"
        return f"{seeds}; ± is the standard deviation over them." if count > 1 else f"{seeds}."
    parts = [f"{n} seed{'s' * (n != 1)}: {listed(names)}." for n, names in by_count.items()]
    return f"{' '.join(parts)} ± is the standard deviation over seeds."


def listed(labels: Sequence[str]) -> str:
    """Labels one after the other, told apart also where they have commas themselves.

    Example:
      >>> listed(["SGLD", "SGHMC"]), listed(["c=0, d=0", "c=1, d=0"])
      ('SGLD, SGHMC', 'c=0, d=0; c=1, d=0')
    """
    return ("; " if any("," in label for label in labels) else ", ").join(labels)
