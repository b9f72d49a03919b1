"""A report: one HTML page that needs nothing but itself."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pxsgmcmc.errors import UserError
from pxsgmcmc.report import chain_tables, gallery, summary, tables
from pxsgmcmc.report.chain_figures import chain_figures
from pxsgmcmc.report.drawing import Drawing, style
from pxsgmcmc.report.explanations import glossary
from pxsgmcmc.report.formatting import listed, plain
from pxsgmcmc.report.geometry_figures import geometry_figures
from pxsgmcmc.report.markup import with_code
from pxsgmcmc.report.prediction_figures import prediction_figures
from pxsgmcmc.report.regression_figures import regression_figures
from pxsgmcmc.report.reported import Reported, ShownMethod, by_method
from pxsgmcmc.report.stress_figures import corruption_figures, outside_figures
from pxsgmcmc.report.tables import Table
from pxsgmcmc.report.verdicts import Judgement, judge, warnings_of
from pxsgmcmc.results import Comparison, Skipped

_HERE = Path(__file__).parent


class Folded(NamedTuple):
    """Something to open."""

    summary: str
    tables: Sequence[Table] = ()
    walls: Sequence[gallery.Wall] = ()
    facts: Mapping[str, str] = MappingProxyType({})
    warnings: Sequence[str] = ()
    text: str = ""


class PageSection(NamedTuple):
    """A heading with what belongs to it."""

    name: str
    title: str
    tables: Sequence[Table] = ()
    figures: Sequence[Drawing] = ()
    walls: Sequence[gallery.Wall] = ()
    folded: Sequence[Folded] = ()
    warnings: Sequence[str] = ()
    remarks: Sequence[str] = ()

    @property
    def table_among_figures(self) -> bool:
        """A single narrow table stands beside the first figures."""
        return bool(self.figures) and len(self.tables) == 1 and self.tables[0].narrow

    @property
    def note_beside(self) -> bool:
        """A single table that leaves room has its note, if there is one, to its right."""
        if len(self.tables) != 1:
            return False
        return bool(self.tables[0].note) and len(self.tables[0].head) <= 5

    @property
    def places(self) -> list[str]:
        """How wide each cell of the figures' grid is, so that no row is left two-thirds empty.

        Three to a row, on a wide screen; the last two or four in pairs, with their words beside.
        """
        many = len(self.figures) + self.table_among_figures
        if many == 1:
            return ["whole"]
        pairs = {0: 0, 1: 4, 2: 2}[many % 3]
        return ["third"] * (many - pairs) + ["half"] * pairs


def write_report(
    runs: Sequence[Reported], comparison: Comparison | None = None, title: str | None = None
) -> str:
    """The report on one run, or on several side by side, as HTML.

    Args:
      runs: what was found out about each.
      comparison: of the same runs, shown first.
      title: of the page; made from the methods and the data unless told.
    """
    if not runs:
        raise UserError("A report needs at least one run, got none.")
    methods = by_method(runs, comparison)
    with style():
        sections = [s for s in _sections(methods, comparison) if any(s[2:])]
    return render(
        title=title or summary.heading(methods),
        lead=summary.sentences(methods),
        verdict=judge(methods),
        tiles=summary.tiles(runs[0]) if len(runs) == 1 else [],
        facts=summary.facts(runs[0]) if len(runs) == 1 else {},
        config=runs[0].config if len(runs) == 1 else "",
        methods=methods if len(methods) > 1 else [],
        sections=sections,
        glossary=glossary(methods),
    )


def render(
    *,
    title: str,
    lead: str,
    sections: Sequence[PageSection],
    verdict: Judgement | None = None,
    tiles: Sequence[Any] = (),
    facts: Mapping[str, str] = MappingProxyType({}),
    config: str = "",
    methods: Sequence[Any] = (),
    glossary: Sequence[tuple[str, str]] = (),
    kind: str = "pxsgmcmc report",
) -> str:
    """A page of sections that needs nothing but itself, as HTML.

    Args:
      title: of the page.
      lead: the sentences below it.
      sections: with their tables and figures.
      verdict: what stands first; none if not given.
      tiles: large numbers beside it.
      facts: of a single run.
      config: of a single run.
      methods: name and place of each, for the key of colours.
      glossary: words and their meanings.
      kind: the line above the title.
    """
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["with_code"] = with_code
    return environment.get_template("page.html").render(
        title=plain(title, 160),
        lead=lead,
        verdict=verdict,
        tiles=tiles,
        facts=facts,
        config=config,
        methods=methods,
        sections=sections,
        glossary=glossary,
        kind=kind,
        css=Markup((_HERE / "style.css").read_text("utf-8")),
        safe_svg=Markup,
    )


def _sections(
    methods: Sequence[ShownMethod], comparison: Comparison | None
) -> Iterable[PageSection]:
    runs = [run for method in methods for run in method.runs]
    single = runs[0] if len(runs) == 1 else None
    if comparison:
        yield _comparison(comparison)
    splits = tables.splits_tables(methods, explained=comparison is None)
    yield PageSection(
        "predictions",
        "What it predicts",
        tables=splits[:1] if single else splits[:2],
        figures=[*regression_figures(methods), *prediction_figures(methods)],
        folded=[Folded("On training data", tables=splits[2:])] if splits[2:] else [],
    )
    yield PageSection(
        "images",
        "Where it is sure, and where not",
        walls=list(gallery.walls(single.results.gallery)) if single else [],
        folded=[] if single else list(_galleries(methods)),
    )
    corrupted = any(run.results.corruptions for run in runs)
    yield PageSection(
        "shift",
        "Under shift and corruption" if corrupted else "Under shift",
        tables=_there(tables.shifts_table(methods), tables.corruptions_table(methods)),
        figures=list(corruption_figures(methods)),
        folded=[
            Folded(f"Every corruption, {method.name}", tables=by_corruption)
            for method in methods
            if (by_corruption := list(tables.every_corruption(method)))
        ],
    )
    yield PageSection(
        "outside",
        "On data of another kind",
        tables=_there(tables.detection_table(methods)),
        figures=list(outside_figures(methods)),
    )
    yield _chain(methods, single)
    if not single:
        yield PageSection("runs", "The runs", folded=[_run(run) for run in runs])


def _chain(methods: Sequence[ShownMethod], single: Reported | None) -> PageSection:
    """Of many runs, what is said of each is folded."""
    warnings = list(_warnings(methods, single))
    run_tables = _there(
        chain_tables.convergence_table(methods), chain_tables.temperature_table(methods)
    )
    folded = (
        _layers(single)
        if single
        else [
            Folded(f"What looks wrong, run by run ({len(warnings)})", warnings=warnings),
            Folded("Convergence and temperatures, run by run", tables=run_tables),
        ]
    )
    return PageSection(
        "chain",
        "Should you believe it?",
        tables=run_tables if single else [],
        figures=[*chain_figures(methods), *geometry_figures(methods)],
        folded=[part for part in folded if any(part[1:])],
        warnings=warnings if single else [],
        remarks=list(_missing(methods)),
    )


def _there(*optional: Table | None) -> list[Table]:
    return [table for table in optional if table]


def _comparison(comparison: Comparison) -> PageSection:
    tested = _there(tables.differences_table(comparison))
    return PageSection(
        "comparison",
        "Side by side",
        tables=[tables.comparison_table(comparison)],
        folded=[Folded("Every difference, tested", tables=tested)] if tested else [],
        remarks=[plain(note, 1000) for note in comparison.notes],
    )


def _galleries(methods: Sequence[ShownMethod]) -> Iterable[Folded]:
    """One a method, of its first seed."""
    for method in methods:
        run = method.runs[0]
        pictures = list(gallery.walls(run.results.gallery))
        if pictures:
            yield Folded(f"{method.name}, seed {run.results.subject.seed}", walls=pictures)


def _layers(run: Reported) -> list[Folded]:
    layer_tables = _there(
        chain_tables.layers_table(run, "spectra", "Singular values of the layers, last draw"),
        chain_tables.layers_table(run, "factors", "Singular values of the factors, last state"),
    )
    return [Folded("Singular values, layer by layer", tables=layer_tables)] if layer_tables else []


def _run(run: Reported) -> Folded:
    subject = run.results.subject
    name = f"{plain(subject.method, 60)}, seed {subject.seed}"
    return Folded(name, facts=summary.facts(run), text=run.config)


def _warnings(methods: Sequence[ShownMethod], single: Reported | None) -> Iterable[str]:
    """What looks wrong, of a single run only what the first screen does not say already."""
    above = judge(methods).warnings if single else []
    for of, run in _named(methods):
        yield from (of + warning for warning in warnings_of(run) if warning not in above)


def _missing(methods: Sequence[ShownMethod]) -> Iterable[str]:
    """Which diagnostics there are none of, and why; a reason that runs share is given once."""
    shared: dict[str, list[str]] = {}
    for of, run in _named(methods):
        if run.diagnostics is None:
            first = "distances" if of else "Distances"
            yield (
                f"{of}{first}, singular values, connectivity, the plane, convergence and "
                f"temperature bands appear here after `pxsgmcmc diagnose {plain(run.place)}`."
            )
            continue
        for name in type(run.diagnostics).__struct_fields__:
            if isinstance(part := getattr(run.diagnostics, name), Skipped):
                shared.setdefault(f"no {name}: {plain(part.reason, 500)}", []).append(of)
    for reason, of in shared.items():
        runs = listed([name.removesuffix(": ") for name in of])
        yield f"{runs}: {reason}" if runs else reason


def _named(methods: Sequence[ShownMethod]) -> Iterable[tuple[str, Reported]]:
    """Every run with how its sentences begin."""
    several = sum(len(method.runs) for method in methods) > 1
    for method in methods:
        for run in method.runs:
            seed = run.results.subject.seed
            yield (f"{method.name}, seed {seed}: " if several else ""), run
