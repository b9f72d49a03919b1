"""Figures of an experiment, drawn from what is kept of its runs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pxsgmcmc.report.drawing import DASHED, Drawing, DrawnCurve, draw, finished, panel, suited_scale
from pxsgmcmc.report.drawing import scale as set_scale
from pxsgmcmc.report.geometry_figures import FigureWords, plane_figure
from pxsgmcmc.report.svg import MUTED, SERIES
from pxsgmcmc.reproduce.experiment import FigureSpec
from pxsgmcmc.reproduce.record import Record
from pxsgmcmc.results import PlaneResult


class Series(NamedTuple):
    """An arm as it is drawn: its place decides its colour."""

    name: str
    place: int
    records: Sequence[Record]

    @property
    def colour(self) -> str:
        """Of its lines."""
        return SERIES[self.place % len(SERIES)]


def drawn(spec: FigureSpec, series: Sequence[Series], name: str) -> Drawing | None:
    """The figure, None if no run has what it shows.

    Args:
      spec: which figure.
      series: the arms.
      name: unique in the page.
    """
    shown = [s for s in series if not spec.arms or s.name in spec.arms]
    kinds = {
        "lines": _lines,
        "layers": _layers,
        "roc": _roc,
        "histograms": _histograms,
        "boxes": _boxes,
    }
    if spec.kind == "plane":
        return _plane(spec, shown, name)
    axes = panel(spec.x, spec.y)
    sentences = kinds[spec.kind](axes, spec, shown)
    if not sentences:
        return None
    if spec.kind == "boxes":
        set_scale(axes, "x", whole=True)
    if spec.kind in ("lines", "layers"):
        suited_scale(axes, percent=spec.percent)
    return finished(axes, name, spec.title, spec.caption, " ".join(sentences))


def _lines(axes, spec: FigureSpec, series: Sequence[Series]) -> list[str]:
    sentences = []
    for one in series:
        curves = [r.curves[spec.curve] for r in one.records if spec.curve in r.curves]
        if not curves:
            continue
        x = _x_of(one.records, spec, len(curves[0]))
        alike = [curve for curve in curves if len(curve) == len(x)]
        for curve in alike if len(alike) > 1 else []:
            draw(axes, DrawnCurve(x, curve), one.colour, linewidth=0.6, alpha=0.45)
        mean = _mean(alike)
        draw(axes, DrawnCurve(x, mean), one.colour, linewidth=1.7)
        sentences.append(f"{one.name}: from {mean[0]:.3g} to {mean[-1]:.3g}.")
    return sentences


def _x_of(records: Sequence[Record], spec: FigureSpec, length: int) -> list[float]:
    at = records[0].curves.get(f"{spec.curve.partition('/')[0]}/at")
    if at is not None and len(at) == length:
        return [float(v) for v in at if v is not None]
    return [float(number) for number in range(1, length + 1)]


def _layers(axes, spec: FigureSpec, series: Sequence[Series]) -> list[str]:
    for one in series:
        for record in one.records[:1]:
            for key, curve in record.curves.items():
                if key.startswith(f"{spec.curve}/"):
                    x = list(range(1, len(curve) + 1))
                    draw(axes, DrawnCurve(x, curve), one.colour, linewidth=0.4, alpha=0.3)
    return _lines(axes, spec, series)


def _roc(axes, spec: FigureSpec, series: Sequence[Series]) -> list[str]:
    sentences = []
    for one in series:
        for number, record in enumerate(one.records):
            x = record.curves.get(f"{spec.curve}/false_alarms")
            y = record.curves.get(f"{spec.curve}/detections")
            if x and y:
                look = {"linewidth": 1.5} if not number else {"linewidth": 0.6, "alpha": 0.4}
                draw(axes, DrawnCurve([float(v or 0.0) for v in x], y), one.colour, **look)
                if not number:
                    sentences.append(f"{one.name} is drawn.")
    for which in ("x", "y"):
        set_scale(axes, which, percent=True)
    return sentences


def _histograms(axes, spec: FigureSpec, series: Sequence[Series]) -> list[str]:
    sentences = []
    for one in series:
        kept = [r for r in one.records if f"{spec.curve}/edges" in r.curves]
        if not kept:
            continue
        edges = np.array(kept[0].curves[f"{spec.curve}/edges"], float)
        for side, style in (("inside", "-"), ("outside", DASHED)):
            counts = np.array(kept[0].curves[f"{spec.curve}/{side}"], float)
            share = counts / max(1.0, counts.sum())
            axes.stairs(share, edges, color=one.colour, linewidth=1.3, linestyle=style)
            middle = float((share * (edges[1:] + edges[:-1]) / 2).sum())
            sentences.append(f"{one.name}, {side}: mean entropy {middle:.2g}.")
    for which in ("x", "y"):
        set_scale(axes, which)
    return sentences


def _boxes(axes, spec: FigureSpec, series: Sequence[Series]) -> list[str]:
    sentences, width = [], 0.8 / max(1, len(series))
    for place, one in enumerate(series):
        for severity in range(1, 6):
            key = f"corruptions-{severity}/{spec.curve}"
            kept = [r.curves[key] for r in one.records if key in r.curves]
            if not kept:
                continue
            values = np.array(_mean(kept), float)
            x = severity - 0.4 + (place + 0.5) * width
            low, first, middle, third, high = np.percentile(values, (0, 25, 50, 75, 100))
            axes.plot([x, x], [low, high], color=one.colour, linewidth=0.6)
            axes.plot([x, x], [first, third], color=one.colour, linewidth=3.0)
            axes.plot([x], [middle], marker="_", markersize=4.0, color=MUTED)
            if severity == 5:
                sentences.append(f"{one.name}: median {middle:.3g} at severity 5.")
    set_scale(axes, "y")
    return sentences


def _plane(spec: FigureSpec, series: Sequence[Series], name: str) -> Drawing | None:
    """Planes cannot be averaged: that of the first record that has one."""
    for one in series:
        for record in one.records:
            kept = {
                key: [float(v or 0.0) for v in record.curves.get(f"{spec.curve}/{key}", ())]
                for key in ("x", "y", "error", "points", "draws")
            }
            if kept["error"]:
                first, second, third = map(int, kept["draws"])
                plane = PlaneResult(
                    draws=(first, second, third),
                    points=list(zip(kept["points"][::2], kept["points"][1::2], strict=True)),
                    x=kept["x"],
                    y=kept["y"],
                    error=np.reshape(kept["error"], (len(kept["y"]), len(kept["x"]))).tolist(),
                )
                words = FigureWords(name, spec.title, spec.caption)
                return plane_figure(plane, one.colour, words, error="error")
    return None


def _mean(curves: Sequence[Sequence[float | None]]) -> list[float]:
    table = np.array([[np.nan if v is None else v for v in curve] for curve in curves], float)
    known = np.isfinite(table)
    total = np.where(known, table, 0.0).sum(axis=0)
    counts = known.sum(axis=0)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan).tolist()
