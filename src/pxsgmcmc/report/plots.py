"""The figures of a report one by one, as matplotlib axes in colours of their own."""

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.colors import ListedColormap, to_hex, to_rgba
from matplotlib.figure import Figure

from pxsgmcmc.report.chain_figures import chain_figures
from pxsgmcmc.report.drawing import Drawing, style
from pxsgmcmc.report.geometry_figures import geometry_figures
from pxsgmcmc.report.prediction_figures import prediction_figures
from pxsgmcmc.report.regression_figures import regression_figures
from pxsgmcmc.report.reported import Reported, by_method
from pxsgmcmc.report.stress_figures import corruption_figures, outside_figures
from pxsgmcmc.report.svg import MUTED, VARIABLES

_STYLE = (Path(__file__).parent / "style.css").read_text("utf-8")  # light colours come first
_COLOURS = {
    stand_in: re.findall(rf"{variable}: (#\w+);", _STYLE)[0]
    for stand_in, variable in VARIABLES.items()
}
_PARTS = ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor")
_FAMILIES = (
    regression_figures,
    prediction_figures,
    corruption_figures,
    outside_figures,
    chain_figures,
    geometry_figures,
)


def draw_figures(run: Reported) -> dict[str, Drawing]:
    """Every figure that there is of one run, by name."""
    methods = by_method([run])
    with style():
        drawings: Iterable[Drawing] = (one for family in _FAMILIES for one in family(methods))
        return {drawing.name: drawing for drawing in drawings}


def as_axes(drawing: Drawing) -> Axes:
    """Its axes, coloured, under its title, and known to pyplot, which shows them."""
    axes = drawing.axes
    figure = axes.figure
    assert isinstance(figure, Figure)
    figure.set_dpi(130)
    for artist in sorted(figure.findobj(), key=lambda artist: not _is_mapped(artist)):
        _recolour(artist)
    axes.tick_params(axis="x", color=_COLOURS[MUTED], labelcolor=_COLOURS[MUTED])
    axes.tick_params(axis="y", labelcolor=_COLOURS[MUTED])
    with suppress(ValueError):  # before matplotlib 3.11 it takes its own alone
        pyplot.figure(figure)
    return axes


def _is_mapped(artist: Any) -> bool:
    """Contours, whose colours and those of their labels come from a map when they are drawn."""
    return isinstance(artist, Collection) and artist.get_array() is not None


def _recolour(artist: Any) -> None:
    if _is_mapped(artist):
        known = artist.get_cmap()
        artist.set_cmap(ListedColormap([_own(known(place)) for place in range(known.N)]))
        return
    for part in _PARTS:
        read, write = getattr(artist, f"get_{part}", None), getattr(artist, f"set_{part}", None)
        if read is None or write is None:
            continue
        with suppress(ValueError, TypeError):  # "none", or what is no colour
            colours = read()
            if isinstance(colours, np.ndarray) and colours.ndim == 2:
                write([_own(colour) for colour in colours])
            else:
                write(_own(colours))


def _own(colour: Any) -> Any:
    """A stand-in's own colour, as transparent as it was."""
    known = _COLOURS.get(to_hex(colour))
    return colour if known is None else to_rgba(known, to_rgba(colour)[3])
