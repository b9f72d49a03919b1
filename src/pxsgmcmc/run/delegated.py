"""Methods of a run that rooms above it do."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pxsgmcmc.progress import Show

if TYPE_CHECKING:
    from pxsgmcmc.evaluate.plots import Plots
    from pxsgmcmc.export import Exported


class DelegatedMethods:
    """What a run can do besides what it does itself; `Run` is one."""

    @property
    def plot(self) -> "Plots":
        """Figures of the report one by one: `run.plot.reliability()` returns matplotlib axes."""
        from pxsgmcmc.evaluate.plots import Plots

        return Plots(self)  # pyright: ignore

    def report(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write one HTML page on it, evaluating and diagnosing first what has not been.

        Args:
          path: of the file to write.
          title: of the page.
        """
        from pxsgmcmc.evaluate.report import report_on

        return report_on(self, path, title)  # pyright: ignore

    def export(
        self,
        path: str | Path,
        *,
        draws: int | None = None,
        choose: str = "evenly",
        precision: str = "single",
        levels: Any = None,
        progress: Show = False,
    ) -> "Exported":
        """Write what it predicts as one file that needs JAX alone, or ONNX; see docs/export.md.

        Args:
          path: of the file to write, model.px or model.onnx; one that is there is replaced.
          draws: how many to keep; all if None.
          choose: which: "evenly" from every chain, or "greedily" by the validation rows.
          precision: of the stored weights, "single" or "half".
          levels: of the quantiles of numbers; 5, 25, 50, 75 and 95 % if None.
          progress: show it.

        Returns:
          Size, how well the file agrees with the run, and what leaving out draws has lost.
        """
        from pxsgmcmc.export.frozen import export_run
        from pxsgmcmc.export.options import LEVELS, ExportOptions

        levels = LEVELS if levels is None else levels
        options = ExportOptions(draws, choose, precision, levels)  # pyright: ignore
        return export_run(self, path, options, progress)  # pyright: ignore
