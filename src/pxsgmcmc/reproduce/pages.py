"""A page for each experiment, and one that leads to all of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pxsgmcmc.report.drawing import style
from pxsgmcmc.report.page import Folded, PageSection, render
from pxsgmcmc.report.tables import Cell, Table
from pxsgmcmc.report.verdicts import Judgement
from pxsgmcmc.reproduce.catalogue import MODULES, experiment_named
from pxsgmcmc.reproduce.claims import CLAIMS
from pxsgmcmc.reproduce.figures import Series, drawn
from pxsgmcmc.reproduce.outcome import part_sentence
from pxsgmcmc.reproduce.page_files import INDEX, KIND, check_pages, page_path
from pxsgmcmc.reproduce.record import Record
from pxsgmcmc.reproduce.tables import Made, ShownTable, gather
from pxsgmcmc.reproduce.verdicts import ClaimVerdict
from pxsgmcmc.store.files import write_file, writing

_FEW = 3  # claims whose reasons stand on top of a page
_SEVERAL = {"holds": "hold", "does not hold": "do not hold"}
_HEALTH = {True: Cell("yes"), False: Cell("no", tone="wrong"), None: Cell("cannot be told")}
_TONES = {"holds": "right", "does not hold": "wrong", "cannot be told": ""}


def write_pages(made: Sequence[Made], folder: Path) -> list[Path]:
    """Write the pages of these experiments, and the index over all pages in the folder.

    Args:
      made: experiments of one scale.
      folder: where pages go, below the name of the scale.
    """
    target = folder / made[0].planner.scale.name
    check_pages([one.experiment.name for one in made], target)
    with writing(target):
        target.mkdir(parents=True, exist_ok=True)
    paths = []
    for one in made:
        path = page_path(target, one.experiment.name)
        write_file(path, page_of(one).encode())
        paths.append(path)
    index = page_path(target, INDEX)
    write_file(index, index_of([*made, *_older(made, target)]).encode())
    return [*paths, index]


def _older(made: Sequence[Made], folder: Path) -> list[Made]:
    """Experiments that have a page in the folder and are not made anew, as they are kept."""
    new = {one.experiment.name for one in made}
    there = [name for name in MODULES if name not in new and page_path(folder, name).exists()]
    return [gather(experiment_named(name), made[0].planner) for name in there]


def page_of(made: Made) -> str:
    """The page of one experiment."""
    series = [
        Series(label, place, records)
        for place, (label, records) in enumerate(made.records.items())
        if records
    ]
    with style():
        figures = [
            drawing
            for number, spec in enumerate(made.experiment.figures(made.planner.scale))
            if (drawing := drawn(spec, series, f"figure-{number}")) is not None
        ]
    sections = [
        PageSection("values", "Values", tables=[_table(table) for table in made.tables]),
        PageSection("figures", "Figures", figures=figures),
        PageSection(
            "claims",
            "Claims",
            tables=[_claims_table(made.verdicts)],
            folded=[
                Folded(f"Every part of {name}", warnings=[part_sentence(t) for t in v.parts])
                for name, v in made.verdicts.items()
            ],
        ),
        PageSection("notes", "What to know", remarks=list(made.notes)),
        PageSection(
            "runs",
            "The runs",
            tables=[_runs_table(made)],
            folded=[Folded("What was said of each", warnings=_headlines(made))],
        ),
    ]
    return render(
        title=made.experiment.title,
        lead=made.experiment.about,
        verdict=_judgement(made.verdicts),
        sections=[s for s in sections if any(s[2:]) and _is_filled(s)],
        methods=series if figures and len(series) > 1 else [],
        kind=f"{KIND} {made.experiment.name} --scale {made.planner.scale.name}",
    )


def index_of(made: Sequence[Made]) -> str:
    """The page that leads to the others, in the order of the catalogue.

    Args:
      made: all experiments that have a page.
    """
    made = sorted(made, key=lambda one: list(MODULES).index(one.experiment.name))
    rows = [
        [
            Cell(one.experiment.title, link=f"{one.experiment.name}.html"),
            Cell(str(_fewest_seeds(one))),
            Cell(_names(one.verdicts)),
        ]
        for one in made
    ]
    known = {name: v for one in made for name, v in one.verdicts.items()}
    verdicts = {name: known[name] for name in CLAIMS if name in known}
    sections = [
        PageSection(
            "experiments",
            "Experiments",
            tables=[Table("Tables and figures", ["", "seeds", "claims"], rows)],
        ),
        PageSection("claims", "Claims", tables=[_claims_table(verdicts)]),
    ]
    scale = made[0].planner.scale
    return render(
        title="The paper, reproduced",
        lead=f"At the {scale.name} scale: {scale.about}.",
        verdict=_judgement(verdicts),
        sections=[s for s in sections if _is_filled(s)],
        kind=f"{KIND} --scale {scale.name}",
    )


def _is_filled(section: PageSection) -> bool:
    return bool(section.figures or section.remarks or any(table.rows for table in section.tables))


def _table(table: ShownTable) -> Table:
    """Our values, and those published below them in a row of their own."""
    rows = []
    for label, cells in table.rows:
        rows.append([Cell(label), *(Cell(cell.ours, strong=True) for cell in cells)])
        if any(cell.published for cell in cells):
            rows.append([Cell("  published"), *(Cell(cell.published) for cell in cells)])
    return Table(table.caption, table.head, rows, table.note)


def _claims_table(verdicts: Mapping[str, ClaimVerdict]) -> Table:
    rows = []
    for name, verdict in verdicts.items():
        p = "" if verdict.p is None else f"{verdict.p:.2g}"
        holding = sum(t.word == "holds" for t in verdict.parts)
        rows.append(
            [
                Cell(f"{name}: {CLAIMS[name].text}"),
                _word_cell("", verdict),
                Cell(f"{holding} of {len(verdict.parts)}"),
                Cell(p),
            ]
        )
    note = (
        "A claim holds if every part of it has the right direction and corrected p < 0.05 over "
        "seeds; it does not hold if any part has the wrong one. p is the one that decided."
    )
    return Table("Claims of the paper", ["", "verdict", "parts that hold", "p"], rows, note)


def _word_cell(name: str, verdict: ClaimVerdict) -> Cell:
    return Cell(f"{name} {verdict.word}".strip(), strong=True, tone=_TONES[verdict.word])


def _runs_table(made: Made) -> Table:
    rows = []
    for label, records in made.records.items():
        for record in records:
            rows.append(
                [
                    Cell(f"{label}, seed {record.seed}"),
                    _health_cell(record),
                    Cell(f"{record.seconds / 60.0:.1f}"),
                    Cell(record.digest),
                    Cell(record.revision[:7]),
                ]
            )
    return Table("Runs", ["", "healthy", "minutes", "settings", "revision"], rows)


def _health_cell(record: Record) -> Cell:
    if record.headline == "computed":
        return Cell("")
    if record.outcome == "diverged":
        return Cell("diverged", tone="wrong")
    return _HEALTH[record.healthy]


def _headlines(made: Made) -> list[str]:
    return [
        f"{label}, seed {record.seed}: {record.headline}"
        for label, records in made.records.items()
        for record in records
        if record.headline not in ("", "computed")
    ]


def _judgement(verdicts: Mapping[str, ClaimVerdict]) -> Judgement | None:
    if not verdicts:
        return None
    words = [verdict.word for verdict in verdicts.values()]
    counts = ", ".join(
        f"{words.count(w)} {_SEVERAL.get(w, w) if words.count(w) > 1 else w}"
        for w in _TONES
        if w in words
    )
    healthy = False if "does not hold" in words else True if set(words) == {"holds"} else None
    reasons = [f"{name}: {v.reason}" for name, v in verdicts.items() if v.reason]
    shown = reasons if len(verdicts) <= _FEW else []
    return Judgement(healthy, f"Claims: {counts}", _names(verdicts), shown, 0)


def _names(verdicts: Mapping[str, ClaimVerdict]) -> str:
    """The claims by verdict."""
    by_word: dict[str, list[str]] = {}
    for name, verdict in verdicts.items():
        by_word.setdefault(verdict.word, []).append(name)
    return "; ".join(
        f"{', '.join(names)} {_SEVERAL.get(word, word) if len(names) > 1 else word}"
        for word in _TONES
        if (names := by_word.get(word))
    )


def _fewest_seeds(made: Made) -> int:
    """Of the arms that are made with every seed."""
    arms = [arm for arm in made.experiment.arms(made.planner.scale) if not arm.once]
    return min((len(made.records[arm.label]) for arm in arms), default=0)
