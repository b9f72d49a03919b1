"""A run's predictions for ONNX runtimes, by jax2onnx: one graph with all draws in it."""

import json
import os
from pathlib import Path
from typing import IO, Any

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.errors import UserError, printable
from pxsgmcmc.export.checking import checked_difference, rows_to_check
from pxsgmcmc.export.manifest import manifest_of
from pxsgmcmc.export.options import Exported, ExportOptions
from pxsgmcmc.export.program import layout_of
from pxsgmcmc.export.selection import choose, loss_of, telling
from pxsgmcmc.predict import predict
from pxsgmcmc.progress import Show
from pxsgmcmc.run import Run
from pxsgmcmc.types import Array


def write_onnx(
    run: Run, file: IO[bytes], options: ExportOptions, progress: Show = False
) -> Exported:
    """Write an ONNX file, run it with onnxruntime, and compare it with the run.

    The input is called "inputs", outputs are named as in a .px file; there are no quantiles, whose
    search jax2onnx cannot turn into a graph. The metadata field "pxsgmcmc" has the manifest.

    Args:
      run: whose draws are averaged.
      file: open for writing, in binary.
      options: which draws.
      progress: show it.
    """
    to_onnx, runtime = _packages()
    options, problem = options.checked()._replace(levels=()), run.need_problem("export")
    if options.precision == "half":
        raise UserError("`precision` = 'half' is for .px files; an ONNX file needs 'single'.")
    with telling(progress) as tell:
        chosen = choose(run, problem, options, tell)
        draws = [draw.load() for draw in chosen]

        def average(x: Array) -> dict[str, Array]:
            rows = jnp.stack([problem.distribution(params, x) for params in draws])
            return problem.likelihood.average(rows, ())

        x = rows_to_check(problem)
        names = sorted(jax.eval_shape(average, x))
        like = jax.ShapeDtypeStruct(("rows", *x.shape[1:]), x.dtype)  # pyright: ignore
        tell(0.0, "converting")
        try:
            model = to_onnx(
                lambda x: tuple(average(x)[name] for name in names),
                [like],
                model_name="pxsgmcmc",
                input_names=["inputs"],
                output_names=names,
            )
        except Exception as error:
            reason = printable(str(error).strip().partition("\n")[0], 200)
            raise UserError(f"jax2onnx cannot convert this network: {reason}") from error
        loss = loss_of(run, problem, chosen, layout_of(draws[0], half=False), tell)
    manifest = manifest_of(run, problem, options, chosen, names, loss)
    field = model.metadata_props.add()
    field.key, field.value = "pxsgmcmc", json.dumps(manifest)
    data = model.SerializeToString()
    session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
    predicted = dict(zip(names, session.run(names, {"inputs": np.asarray(x)}), strict=True))
    difference = checked_difference(predicted, predict(problem, draws, x), ())
    file.write(data)
    file.flush()
    size = os.stat(file.name).st_size
    return Exported(Path(file.name), size, len(chosen), len(run), difference, loss)


def _packages() -> tuple[Any, Any]:
    try:
        import onnxruntime  # pyright: ignore[reportMissingImports]
        from jax2onnx import to_onnx  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError as error:
        raise UserError(
            f"An ONNX file needs the package {error.name!r}: pip install 'pxsgmcmc[onnx]'."
        ) from error
    return to_onnx, onnxruntime
