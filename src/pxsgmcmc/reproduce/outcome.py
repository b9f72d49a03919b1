"""What was made, as text: tables, verdicts and notes for a terminal, or Markdown for the docs."""

from collections.abc import Iterable, Mapping, Sequence

from pxsgmcmc.reproduce.claims import CLAIMS
from pxsgmcmc.reproduce.tables import Made, ShownTable, measure_title, number
from pxsgmcmc.reproduce.verdicts import ClaimVerdict, Tested

_RELATIONS = {"below": "<", "above": ">", "about": "≈"}


def table_lines(table: ShownTable) -> list[str]:
    """A table in columns, published values in brackets."""
    texts = [table.head]
    for label, cells in table.rows:
        texts.append(
            [label, *(c.ours + (f" [{c.published}]" if c.published else "") for c in cells)]
        )
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = [table.caption]
    for row in texts:
        first, *rest = row
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  " + "  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return lines


def part_sentence(tested: Tested) -> str:
    """One part of a claim with its numbers."""
    part = tested.part
    second = part.second if isinstance(part.second, str) else number(float(part.second))
    factor = f"{part.factor:g} x " if part.factor != 1.0 else ""
    values = "no values"
    if tested.first is not None and tested.second is not None:
        values = f"{number(tested.first)} and {number(tested.second)}"
    p = "" if tested.p is None or part.exact else f", p = {tested.p:.2g}"
    where = " - ".join(map(measure_title, part.measure.split(" - ")))
    relation = _RELATIONS[part.relation]
    return f"{where}: {part.first} {relation} {factor}{second}: {values}{p}: {tested.word}"


def verdict_sentence(name: str, verdict: ClaimVerdict) -> str:
    """A claim and what came of it, in a line."""
    counts = [sum(t.word == word for t in verdict.parts) for word in ("holds", "does not hold")]
    why = f" ({verdict.reason})" if verdict.reason else ""
    p = "" if verdict.p is None else f", p = {verdict.p:.2g}"
    parts = f"{counts[0]} of {len(verdict.parts)} parts hold, {counts[1]} do not{p}"
    return f"{name} {verdict.word}{why}: {CLAIMS[name].text}; {parts}"


def made_lines(made: Made) -> Iterable[str]:
    """All of an experiment."""
    yield made.experiment.title
    yield made.experiment.about
    for table in made.tables:
        yield ""
        yield from table_lines(table)
        if table.note:
            yield f"  {table.note}"
    yield ""
    if any(cell.published for table in made.tables for _, cells in table.rows for cell in cells):
        yield "Published values are in brackets."
    yield from made.notes
    for name, verdict in made.verdicts.items():
        yield verdict_sentence(name, verdict)


def claims_rows(verdicts: Mapping[str, Mapping[str, ClaimVerdict]]) -> list[list[str]]:
    """A row a claim, a column a scale.

    Args:
      verdicts: scale -> claim -> verdict.
    """
    rows = []
    for name, claim in CLAIMS.items():
        cells = []
        for by_claim in verdicts.values():
            verdict = by_claim.get(name)
            if verdict is None:
                cells.append("not built yet")
                continue
            p = "" if verdict.p is None else f", p = {verdict.p:.2g}"
            why = f": {verdict.reason}" if verdict.reason else ""
            cells.append(f"{verdict.word}{why}{p}")
        rows.append([name, claim.text, claim.place, *cells])
    return rows


def claims_markdown(
    verdicts: Mapping[str, Mapping[str, ClaimVerdict]], commands: Mapping[str, str]
) -> str:
    """The page of claims: a table, then every part with its numbers."""
    scales = list(verdicts)
    lines = [
        f"| | claim | place | {' | '.join(scales)} | command |",
        "|---|---|---|" + "---|" * (len(scales) + 1),
    ]
    for name, text, place, *cells in claims_rows(verdicts):
        marked = [f"**{cell}**" if cell.startswith("does not hold") else cell for cell in cells]
        command = f"`{commands[name]}`" if name in commands else ""
        lines.append(f"| {name} | {text} | {place} | {' | '.join(marked)} | {command} |")
    for scale, by_claim in verdicts.items():
        for name, verdict in by_claim.items():
            tested = [t for t in verdict.parts if t.first is not None]
            if tested:
                lines += ["", f"{name} at the {scale} scale:", ""]
                lines += [f"- {part_sentence(t)}" for t in tested]
    return "\n".join(lines)


def in_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of text with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
