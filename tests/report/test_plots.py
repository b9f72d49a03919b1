"""Figures as matplotlib axes: drawn in colours of their own, not in the page's stand-ins."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra `report` is missing")

from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.text import Text

from pxsgmcmc.report.geometry_figures import FigureWords, plane_figure
from pxsgmcmc.report.plots import as_axes
from pxsgmcmc.report.svg import SERIES
from pxsgmcmc.results import PlaneResult


def test_shades_of_a_plane_are_grey_and_grow_with_the_error():
    pyplot.switch_backend("agg")
    places = np.linspace(0.0, 1.0, 21)
    error = 0.02 + 0.9 * places[None, :] * np.ones((21, 1))  # to the right it grows
    draws = [(0.1, 0.1), (0.9, 0.1), (0.5, 0.9)]
    plane = PlaneResult((1, 2, 3), draws, places.tolist(), places.tolist(), error.tolist())
    drawing = plane_figure(plane, SERIES[0], FigureWords("plane-0", "", ""), error="error")
    axes = as_axes(drawing)
    canvas = axes.figure.canvas
    canvas.draw()
    for text in axes.figure.findobj(Text):
        assert not to_hex(text.get_color()).startswith("#a100"), text
    pixels = np.asarray(canvas.buffer_rgba())[::-1, :, :3].astype(int)
    at = [axes.transData.transform((x, 0.37)).astype(int) for x in (0.03, 0.5, 0.97)]
    shades = np.array([pixels[y, x] for x, y in at])
    assert np.all(np.ptp(shades, axis=1) <= 2)  # as grey as the ink is
    # One shade in eight of half the ink apart, at least twice: 20 of 255.
    assert np.all(np.diff(shades[:, 0]) < -20) and shades[0, 0] > 240
    pyplot.close("all")
