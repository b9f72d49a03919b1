"""Runs side by side: grouped by method, averaged over seeds, differences tested."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean, stdev

from pxsgmcmc.errors import UserError, did_you_mean
from pxsgmcmc.evaluate.differences import differences, notes_on_tests
from pxsgmcmc.metrics import METRICS, REGRESSION_METRICS, lower_is_better, title_of
from pxsgmcmc.results import ComparedMethod, Comparison, Results, Row, SplitResult, Summary

_SHOWN = {  # set -> metrics, unless told which
    "test": (
        *("err", "nll", "ece", "brier", "ind", "amb", "var"),
        *("rmse", "mae", "crps", "coverage90", "width90"),
    ),
    "shift": ("err", "rmse", "nll"),
    "corruptions": ("err", "nll", "ece"),
    "ood": ("auroc",),
}


def compare(
    results: Sequence[Results],
    *,
    metrics: Iterable[str] | None = None,
    paired: bool | None = None,
) -> Comparison:
    """Put runs side by side.

    Args:
      results: of runs on the same data with the same network; those of one method and the same
        settings are repetitions, which differ in their seed.
      metrics: which rows: a key such as "test/nll", all of a set, "test" or "train", or a metric
        of all sets to predict, "nll". None shows the usual ones.
      paired: compare methods seed by seed. None does so where two methods have the same seeds, at
        least six of them: with fewer, tests of pairs cannot tell anything.

    Example:
      >>> from pxsgmcmc.results import SplitResult, Subject
      >>> def run(method, seed, nll):
      ...     subject = Subject(method=method, settings="", data="digits", model="mlp", seed=seed,
      ...         chains=1, draws=20, steps=4000, parameters=10, sampled=10, version="0.1.0")
      ...     scores = SplitResult(rows=100, metrics={"nll": nll})
      ...     return Results(subject=subject, train=scores, test=scores)
      >>> found = compare([run("SGHMC", 0, 0.25), run("SGHMC", 1, 0.75), run("SGLD", 0, 0.625)])
      >>> [(s.mean, s.best) for s in found.rows[0].methods]
      [(0.5, True), (0.625, False)]
    """
    if not results:
        raise UserError("There must be at least one run to compare, got none.")
    _check_comparable(results)
    groups = _grouped(results)
    methods = _methods(groups)
    unlike = _sets_that_differ(results)
    rows = [
        row
        for row in _rows(groups)
        if any(row.methods) and row.key.rpartition("/")[0] not in unlike
    ]
    rows = _chosen(rows, None if metrics is None else list(metrics))
    tested = differences(methods, rows, paired)
    return Comparison(
        data=results[0].subject.data,
        model=results[0].subject.model,
        methods=methods,
        rows=rows,
        differences=tested,
        notes=[
            *(f"Left out: the rows of {name} are not the same for all runs." for name in unlike),
            *_notes(groups, methods, rows),
            *notes_on_tests(methods, tested),
        ],
    )


def _check_comparable(results: Sequence[Results]) -> None:
    facts: dict[str, Callable[[Results], object]] = {
        "the same data": lambda result: result.subject.data,
        "the same model": lambda result: result.subject.model,
        "equally many test rows": lambda result: result.test.rows,
    }
    for what, read in facts.items():
        seen = list(dict.fromkeys(map(read, results)))
        if len(seen) > 1:
            raise UserError(
                f"Runs can be compared on {what} only, got {seen[0]!r} and {seen[1]!r}."
            )
    _check_same_test_rows(results)
    seeds = set()
    for result in results:
        subject = result.subject
        if (who := (subject.method, subject.settings, subject.seed)) in seeds:
            raise UserError(
                f"Two runs are of {subject.method} with the same settings and seed "
                f"{subject.seed}; give one of them."
            )
        seeds.add(who)


def _check_same_test_rows(results: Sequence[Results]) -> None:
    """Other rows, in the same number and under the same name, are noticed by their hash."""
    # Results made elsewhere, or by an earlier version, may have none.
    known = [result.subject for result in results if result.subject.test_sha256]
    for other in known[1:]:
        if other.test_sha256 != known[0].test_sha256:
            first, second = (f"{of.method} with seed {of.seed}" for of in (known[0], other))
            raise UserError(
                f"Runs can be compared on the same test rows only, but those of {first} and of "
                f"{second} differ, though both are called {other.data!r}: evaluate them on one "
                "test set."
            )


def _sets_that_differ(results: Sequence[Results]) -> list[str]:
    """Names of shifts and out-of-distribution sets whose rows are others in some of the runs."""
    hashes: dict[str, set[str]] = {}
    for result in results:
        for name, value in result.subject.sets_sha256.items():
            hashes.setdefault(name, set()).add(value)
    return [name for name, values in hashes.items() if len(values) > 1]


def _grouped(results: Sequence[Results]) -> list[list[Results]]:
    """Repetitions together, by seed; methods in the order in which they came."""
    groups: dict[tuple[str, str], list[Results]] = {}
    for result in results:
        groups.setdefault((result.subject.method, result.subject.settings), []).append(result)
    return [sorted(group, key=lambda result: result.subject.seed) for group in groups.values()]


def _methods(groups: list[list[Results]]) -> list[ComparedMethod]:
    subjects = [group[0].subject for group in groups]
    names = [subject.method for subject in subjects]
    return [
        ComparedMethod(
            name=f"{name} [{subject.settings}]" if names.count(name) > 1 else name,
            method=subject.method,
            settings=subject.settings,
            seeds=[result.subject.seed for result in group],
            chains=subject.chains,
            draws=subject.draws,
            steps=subject.steps,
            parameters=subject.parameters,
            sampled=subject.sampled,
        )
        for name, subject, group in zip(names, subjects, groups, strict=True)
    ]


def _values(result: Results) -> Iterator[tuple[str, float]]:
    """(key, value) of every metric of a run."""
    pooled = result.corruptions.pooled.get("all") if result.corruptions else None
    sets: list[tuple[str, SplitResult | None]] = [("test", result.test)]
    sets += [(f"shift {name}", split) for name, split in result.shifts.items()]
    sets += [("corruptions", pooled)]
    for name, split in sets:
        yield from ((f"{name}/{m}", v) for m, v in (split.metrics if split else {}).items())
    for name, detection in result.out_of_distribution.items():
        yield from ((f"ood {name}/{m}", v) for m, v in detection.metrics.items())
    for name, split in (("validation", result.validation), ("train", result.train)):
        yield from ((f"{name}/{m}", v) for m, v in (split.metrics if split else {}).items())


def _rows(groups: list[list[Results]]) -> Iterator[Row]:
    tables = [[dict(_values(by_method)) for by_method in group] for group in groups]
    for key in dict.fromkeys(key for group in tables for table in group for key in table):
        where, _, metric = key.rpartition("/")
        better_low = lower_is_better(metric)
        if where.startswith("ood "):
            better_low = False  # a larger share found is better, whatever the metric
        by_method = [
            [table[key] for table in group] if all(key in table for table in group) else None
            for group in tables
        ]
        means = [fmean(values) for values in by_method if values]
        best = None
        if better_low is not None and len(means) > 1:
            best = min(means) if better_low else max(means)
        yield Row(
            key=key,
            title=_title(where, metric),
            lower_is_better=better_low,
            methods=[_summary(values, best) if values else None for values in by_method],
        )


def _summary(values: list[float], best: float | None) -> Summary:
    mean = fmean(values)
    return Summary(
        values=values,
        mean=mean,
        sd=stdev(values) if len(values) > 1 else None,
        best=best is not None and abs(mean - best) <= 1e-12 * abs(best),
    )


def _title(where: str, metric: str) -> str:
    kind, _, name = where.partition(" ")
    places = {"test": "Test", "train": "Train", "validation": "Validation"}
    place = {**places, "corruptions": "Corrupted", "shift": name, "ood": name}[kind]
    if metric in METRICS or metric in REGRESSION_METRICS:
        return f"{place} {title_of(metric)}"
    word, _, side = metric.partition("_")
    spelt = word.upper() if not side else f"{word.upper()} ({side})"
    return f"{place} {spelt}"


def _chosen(rows: list[Row], wanted: list[str] | None) -> list[Row]:
    if wanted is None:
        shown = [row for row in rows if row.key.rpartition("/")[2] in _usual(row.key)]
        return shown or rows
    chosen = []
    for word in wanted:
        matching = [row for row in rows if _picks(word, row.key)]
        if not matching:
            hint = did_you_mean(word, [row.key for row in rows])
            raise UserError(f"`metrics` has {word!r}, which these runs do not all have; {hint}")
        chosen += [row for row in matching if row not in chosen]
    return chosen


def _picks(word: str, key: str) -> bool:
    """Whether a word means this row; training and validation rows are meant only by name."""
    where, _, metric = key.rpartition("/")
    return word in (key, where) or (word == metric and where not in ("train", "validation"))


def _usual(key: str) -> tuple[str, ...]:
    return _SHOWN.get(key.rpartition("/")[0].partition(" ")[0], ())


def _notes(
    groups: list[list[Results]], methods: list[ComparedMethod], rows: list[Row]
) -> list[str]:
    notes = _notes_on_training(groups, methods)
    for what in ("steps", "draws"):
        counts = {method.name: getattr(method, what) for method in methods}
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{name} {count:,}" for name, count in counts.items())
            notes.append(f"The methods did not have equally many {what}: {listed}.")
    for place, method in enumerate(methods):
        missing = [row.key for row in rows if row.methods[place] is None]
        if missing:
            notes.append(f"Not every run of {method.name} was evaluated on {', '.join(missing)}.")
    return notes


def _notes_on_training(groups: list[list[Results]], methods: list[ComparedMethod]) -> list[str]:
    # The hash of the training rows is part of the settings: repetitions share it.
    hashes = {
        method.name: group[0].subject.train_sha256
        for method, group in zip(methods, groups, strict=True)
        if group[0].subject.train_sha256
    }
    if len(set(hashes.values())) < 2:
        return []
    first = next(iter(hashes))
    others = ", ".join(name for name, value in hashes.items() if value != hashes[first])
    return [
        f"Not all methods had the same training rows: those of {others} are not those of {first}."
    ]
