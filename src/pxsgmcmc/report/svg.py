"""A matplotlib figure as inline SVG: small, in the page's own colours and type, safe beside others.

Figures are drawn in stand-in colours, each of which becomes a CSS variable here, so that one
drawing serves light and dark. Text stays text: it takes the page's font, can be searched and is
escaped by the serialiser. Names that several drawings would share are made unique or dropped.
"""

import io
import re
import warnings
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.figure import Figure
from matplotlib.text import Text

INK, MUTED, RULE, PAPER = "#a10001", "#a10002", "#a10003", "#a10004"
SERIES = tuple(f"#a1001{i}" for i in range(8))  # colour-blind safe, in style.css

VARIABLES = {INK: "--ink", MUTED: "--muted", RULE: "--rule", PAPER: "--paper"} | {
    colour: f"--series-{i}" for i, colour in enumerate(SERIES)
}
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "pxsgmcmc",  # the same figure gives the same bytes
    "font.family": "DejaVu Sans",  # for measuring only, and wider than what a page will use
    "font.size": 8.0,
    "axes.unicode_minus": True,
    "path.simplify": True,
    "path.simplify_threshold": 0.3,
}
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_INERT = ("font-family", "text-anchor: start")


def to_svg(figure: Figure, name: str, label: str) -> str:
    """The figure as an `<svg>` element for an HTML page.

    Args:
      figure: drawn in the colours above, under `SETTINGS`.
      name: unique in the page: a word of letters, digits and "-".
      label: what the figure shows, for those who do not see it.
    """
    written = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    for text in figure.findobj(Text):
        text.set_parse_math(False)  # a name such as "$x$" is a name
    with matplotlib.rc_context(SETTINGS), warnings.catch_warnings():
        # Matplotlib's font lacks some scripts; the reader's browser has them.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(written, format="svg", metadata=nothing, transparent=True)
    root = ElementTree.fromstring(written.getvalue())
    _strip_namespaces(root)
    _drop(root, {"metadata", "style"})
    _rename(root, name)
    for element in root.iter():
        _tidy(element)
    _drop_empty_groups(root)
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    root.attrib |= {"role": "img", "aria-label": label, "class": "drawing"}
    return ElementTree.tostring(root, encoding="unicode")


def _strip_namespaces(root: ElementTree.Element) -> None:
    """HTML knows SVG's names without them, and `href` for `xlink:href`."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {key.rpartition("}")[2]: v for key, v in element.attrib.items()}


def _drop(root: ElementTree.Element, tags: set[str]) -> None:
    for parent in list(root.iter()):
        for child in [c for c in parent if c.tag in tags]:
            parent.remove(child)


def _rename(root: ElementTree.Element, name: str) -> None:
    """Names that are referred to start with the figure's own; others go."""
    used = set()
    for element in root.iter():
        used |= set(re.findall(r"url\(#(.+?)\)", element.get("clip-path", "")))
        used |= {element.get("href", "").removeprefix("#")}
    short = {old: f"{name}-{i}" for i, old in enumerate(sorted(used - {""}))}
    for element in root.iter():
        if (old := element.attrib.pop("id", None)) in short:
            element.set("id", short[old])
        if clip := re.fullmatch(r"url\(#(.+)\)", element.get("clip-path", "")):
            element.set("clip-path", f"url(#{short[clip[1]]})")
        if href := element.get("href"):
            element.set("href", f"#{short[href.removeprefix('#')]}")


def _tidy(element: ElementTree.Element) -> None:
    """Colours as variables, two decimals, no spaces that say nothing."""
    if not (element.text or "").strip():
        element.text = None
    element.tail = None
    if style := element.get("style"):
        kept = [part for part in style.split("; ") if not part.startswith(_INERT)]
        text = "; ".join(kept)
        for colour, variable in VARIABLES.items():
            text = text.replace(colour, f"var({variable})")
        element.set("style", text)
    if (turn := element.get("transform", "")).startswith("rotate(-0 "):
        del element.attrib["transform"]
    elif turn:
        element.set("transform", _rounded(turn))
    for key in ("d", "x", "y", "width", "height"):
        if key in element.attrib:
            element.set(key, _rounded(" ".join(element.attrib[key].split())))


def _drop_empty_groups(element: ElementTree.Element) -> None:
    for child in list(element):
        _drop_empty_groups(child)
        if child.tag in ("g", "defs") and not len(child):
            element.remove(child)


def _rounded(text: str) -> str:
    return _NUMBER.sub(lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), text)
