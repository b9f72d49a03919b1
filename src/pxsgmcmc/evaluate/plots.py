"""`run.plot`: figures of the report from Python, one by one."""

from collections.abc import Callable
from typing import Any

from pxsgmcmc.errors import UserError, did_you_mean
from pxsgmcmc.evaluate.report import reported_on
from pxsgmcmc.run import Run

_OFTEN = ("energy", "reliability", "risk_coverage", "step_size", "temperature_0", "coverage", "pit")


class Plots:
    """Figures of a run: `run.plot.reliability()` returns matplotlib axes.

    The run is evaluated first if it was not, and diagnosed for figures that need it. `names()` has
    what there is; a figure of the report whose name has hyphens is called with underscores.
    """

    def __init__(self, run: Run):
        self._run = run
        self._names: list[str] = []

    def names(self) -> list[str]:
        """Every figure there is of this run, diagnosing it first if it was not."""
        self._names = sorted(name.replace("-", "_") for name in self._drawn(diagnosed=True))
        return self._names

    def __getattr__(self, name: str) -> Callable[[], Any]:
        """The function that draws the figure of this name."""
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda: self._axes(name)

    def __dir__(self) -> list[str]:
        """What can be typed, without long work."""
        return sorted({"names", *(self._names or _OFTEN)})

    def __repr__(self) -> str:
        """How to use it."""
        return "run.plot.NAME() draws a figure, run.plot.names() lists them"

    def _drawn(self, *, diagnosed: bool) -> dict[str, Any]:
        try:
            from pxsgmcmc.report.plots import draw_figures
        except ModuleNotFoundError as error:
            raise UserError(
                f"A figure needs the package {error.name!r}: pip install 'pxsgmcmc[report]'."
            ) from error
        return draw_figures(reported_on(self._run, diagnosed))

    def _axes(self, name: str) -> Any:
        for diagnosed in (False, True):  # which is long work, and needed for some figures only
            drawings = self._drawn(diagnosed=diagnosed)
            drawing = drawings.get(name.replace("_", "-"))
            if drawing is not None:
                from pxsgmcmc.report.plots import as_axes

                return as_axes(drawing)
        known = [known.replace("-", "_") for known in drawings]
        raise UserError(f"There is no figure {name!r} of this run; {did_you_mean(name, known)}")
