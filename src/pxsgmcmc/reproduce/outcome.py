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
    """The page of claims: a table, then the parts that are told from chance.

    Scales without runs are named below the table; the parts that are within chance are counted.

    Args:
      verdicts: scale -> claim -> verdict.
      commands: claim -> the command that makes its experiment.
    """
    made = {s: v for s, v in verdicts.items() if any(map(_numbers, v.values()))} or verdicts
    lines = [
        f"| | claim | place | {' | '.join(made)} | command |",
        "|---|---|---|" + "---|" * (len(made) + 1),
    ]
    for name, text, place, *cells in claims_rows(made):
        command = f"`{commands[name]}`" if name in commands else ""
        verdict = " | ".join(map(_marked, cells))
        lines.append(f"| {name} | {text} | {place} | {verdict} | {command} |")
    if without := [scale for scale in verdicts if scale not in made]:
        lines += ["", f"No runs yet at these scales: {', '.join(without)}."]
    for scale, by_claim in made.items():
        for name in CLAIMS:
            if name in by_claim and _numbers(by_claim[name]):
                lines += ["", f"## {name} at the {scale} scale", ""]
                lines += _parts_lines(by_claim[name])
    return "\n".join(lines)


def _numbers(verdict: ClaimVerdict) -> list[Tested]:
    """Parts that have values."""
    return [tested for tested in verdict.parts if tested.first is not None]


def _parts_lines(verdict: ClaimVerdict) -> list[str]:
    """How many parts came out how, and a table of those that are told from chance."""
    known = _numbers(verdict)
    told = [tested for tested in known if tested.word != "cannot be told"]
    wrong = sum(t.right is False for t in known if t.word == "cannot be told")
    counts = {
        "hold": sum(t.word == "holds" for t in told),
        "do not hold": sum(t.word == "does not hold" for t in told),
        "have the right direction within chance": len(known) - len(told) - wrong,
        "have the wrong one within chance": wrong,
        "have no values": len(verdict.parts) - len(known),
    }
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    lines = [f"Of {len(verdict.parts)} parts {said}."]
    if told:
        lines += ["", "| measure | | | | p | |", "|---|---|---|---|---|---|"]
        lines += [_part_row(tested) for tested in told]
    return lines


def _part_row(tested: Tested) -> str:
    part = tested.part
    assert tested.first is not None and tested.second is not None
    second = f"{part.second} " if isinstance(part.second, str) else ""
    factor = f"{part.factor:g} x " if part.factor != 1.0 else ""
    cells = [
        " - ".join(map(measure_title, part.measure.split(" - "))),
        f"{part.first} {number(tested.first)}",
        _RELATIONS[part.relation],
        f"{factor}{second}{number(tested.second)}",
        "" if tested.p is None or part.exact else f"{tested.p:.2g}",
        _marked(tested.word),
    ]
    return f"| {' | '.join(cells)} |"


def _marked(text: str) -> str:
    return f"**{text}**" if text.startswith("does not hold") else text


def in_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of text with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
