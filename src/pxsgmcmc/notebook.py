"""What a value looks like in a notebook: a line, a table, nothing that needs a script."""

from collections.abc import Mapping, Sequence
from html import escape

_CELL = 'style="text-align:left;padding:1px 12px 1px 0"'


def line(kind: str, text: str) -> str:
    """The kind of a value in bold, and what it is.

    Example:
      >>> line("Run", "3 draws < 4")
      '<div><b>Run</b> 3 draws &lt; 4</div>'
    """
    return f"<div><b>{escape(kind)}</b> {escape(text)}</div>"


def table(
    kind: str, text: str, head: Sequence[str], rows: Sequence[Sequence[str]], notes: str = ""
) -> str:
    """A line, a table below it, and what is to be said of it.

    Example:
      >>> table("Plan", "", ["layer"], [["a"]]).count("<td")
      1
    """
    top = "".join(f"<th {_CELL}>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td {_CELL}>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    below = f"<div>{escape(notes)}</div>" if notes else ""
    return f"{line(kind, text)}<table><tr>{top}</tr>{body}</table>{below}"


def facts(kind: str, text: str, values: Mapping[str, str]) -> str:
    """A line, and a table of two columns."""
    rows = "".join(
        f"<tr><th {_CELL}>{escape(name)}</th><td {_CELL}>{escape(value)}</td></tr>"
        for name, value in values.items()
    )
    return f"{line(kind, text)}<table>{rows}</table>"


def bar(label: str, share: float, text: str) -> str:
    """A bar that is filled to a share, on one line with its words."""
    filled = 100.0 * min(max(share, 0.0), 1.0)
    return (
        f'<div style="white-space:nowrap;overflow:hidden;text-overflow:ellipsis">{escape(label)} '
        '<span style="display:inline-block;width:8em;height:.7em;background:#8884">'
        f'<span style="display:block;width:{filled:.0f}%;height:100%;background:#2a7"></span>'
        f"</span> {share:.0%}, {escape(text)}</div>"
    )
