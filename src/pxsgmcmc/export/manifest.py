"""What an exported file says of itself and of the run it came from."""

from importlib import metadata
from typing import Any

import jax

from pxsgmcmc import __version__
from pxsgmcmc.export.options import ExportOptions
from pxsgmcmc.export.program import PLATFORMS
from pxsgmcmc.export.selection import ChosenDraw
from pxsgmcmc.problem import Problem
from pxsgmcmc.run import Run

_ORIGIN = ("method", "data", "data_sha256", "rows", "likelihood", "task", "model", "prior", "code")
_AXES = {"quantiles": ["row", "level", "target"], "probabilities": ["row", "class"]}


def manifest_of(
    run: Run,
    problem: Problem,
    options: ExportOptions,
    chosen: list[ChosenDraw],
    outputs: list[str],
    loss: dict[str, Any],
) -> dict[str, Any]:
    """All but the hashes.

    Args:
      run: whose draws they are.
      problem: its problem.
      options: as they were checked.
      chosen: the draws that are averaged.
      outputs: names of what is predicted.
      loss: as measured.
    """
    axes = ["row"] if problem.likelihood.task == "classification" else ["row", "target"]
    return {
        "input": {"shape": list(problem.train.x.shape[1:]), "dtype": str(problem.train.x.dtype)},
        "outputs": {name: _AXES.get(name, axes) for name in outputs},
        "names": list(problem.names),
        "levels": list(options.levels) if "quantiles" in outputs else [],
        "precision": options.precision,
        "choose": options.choose if len(chosen) < len(run) else "all",
        "draws": [
            {
                "file": f"draws/{number:06}.npy",
                "chain": draw.chain,
                "number": draw.number,
                "sha256_in_run": draw.sha256,
            }
            for number, draw in enumerate(chosen, 1)
        ],
        "loss": loss,
        "run": {
            "draws": len(run),
            "chains": run.chains,
            "skipped": run.skipped,
            "verdict": run.verdict.headline,
            **{name: run.origin[name] for name in _ORIGIN if name in run.origin},
        },
        "written_by": {
            "pxsgmcmc": __version__,
            "jax": jax.__version__,
            "jaxlib": metadata.version("jaxlib"),
            "platforms": list(PLATFORMS),
        },
    }
