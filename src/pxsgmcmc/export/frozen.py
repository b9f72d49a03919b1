"""A run's predictions as one file that needs nothing of this package."""

import os
from pathlib import Path
from typing import IO

import jax.numpy as jnp
import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.export.checking import checked_difference, rows_to_check
from pxsgmcmc.export.container import Writer
from pxsgmcmc.export.manifest import manifest_of
from pxsgmcmc.export.onnx import write_onnx
from pxsgmcmc.export.options import Exported, ExportOptions
from pxsgmcmc.export.program import (
    DrawLayout,
    average_program,
    draw_program,
    layout_of,
    row_numbers,
)
from pxsgmcmc.export.reader import FrozenPredictor
from pxsgmcmc.export.selection import ChosenDraw, choose, loss_of, telling
from pxsgmcmc.predict import predict
from pxsgmcmc.progress import Show
from pxsgmcmc.run import Run
from pxsgmcmc.store import files


def export_run(
    run: Run, path: str | Path, options: ExportOptions, progress: Show = False
) -> Exported:
    """Write a frozen predictor, read it back, and compare it with the run.

    Args:
      run: whose draws are averaged.
      path: of the file; one that is there is replaced. A name that ends in .onnx gives a file for
        ONNX runtimes.
      options: which draws, in which precision.
      progress: show it.
    """
    target = Path(path)
    write = write_onnx if target.suffix == ".onnx" else write_predictor
    try:
        with files.whole_file(target, replace=True) as file:
            written = write(run, file, options, progress)
    except OSError as error:
        raise UserError(f"`{target}` could not be written: {error.strerror}.") from error
    return written._replace(path=target)


def write_predictor(
    run: Run, file: IO[bytes], options: ExportOptions, progress: Show = False
) -> Exported:
    """The same, into a file that is open for writing."""
    need_flatbuffers()
    options, problem = options.checked(), run.need_problem("export")
    with telling(progress) as tell:
        chosen = choose(run, problem, options, tell)
        first = chosen[0].load()
        layout = layout_of(first, half=options.precision == "half")
        programs = {
            "draw": draw_program(problem, layout),
            "average": average_program(
                problem, len(chosen), row_numbers(problem, first), options.levels
            ),
        }
        loss = loss_of(run, problem, chosen, layout, tell)
        with Writer(file) as writer:
            for name, program in programs.items():
                writer.add(f"{name}.stablehlo", bytes(program.serialize()))
            for number, draw in enumerate(chosen, 1):
                writer.add_array(f"draws/{number:06}.npy", _stored(draw, layout))
            out = programs["average"]
            names = list(out.out_tree.unflatten(range(len(out.out_avals))))
            manifest = manifest_of(run, problem, options, chosen, names, loss)
            manifest["parameters"] = layout.described()
            manifest["written_by"]["calling_convention"] = out.calling_convention_version
            writer.finish(manifest)
        file.flush()
        x = rows_to_check(problem)
        stored = (layout.unflatten(jnp.asarray(_stored(draw, layout))) for draw in chosen)
        expected = predict(problem, stored, x)
        difference = checked_difference(FrozenPredictor(file.name)(x), expected, options.levels)
    size = os.stat(file.name).st_size
    return Exported(Path(file.name), size, len(chosen), len(run), difference, loss)


def need_flatbuffers() -> None:
    """Say which extra brings what `jax.export` writes with."""
    try:
        import flatbuffers  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError as error:
        raise UserError(
            "An export needs the package 'flatbuffers': pip install 'pxsgmcmc[export]'."
        ) from error


def _stored(draw: ChosenDraw, layout: DrawLayout) -> np.ndarray:
    with np.errstate(over="ignore"):
        flat = layout.flatten(draw.load())
    if not np.isfinite(flat).all():
        raise UserError(
            f"Draw {draw.number} of chain {draw.chain} has weights that {layout.dtype} cannot "
            "hold: use `precision` = 'single'."
        )
    return flat
