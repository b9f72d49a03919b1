"""The command `pxsgmcmc export`: what a run predicts, as one file."""

from typing import Annotated, Literal

import tyro

from pxsgmcmc.cli.opening import Directory, ProblemName, WholeNumber, run_at
from pxsgmcmc.cli.outputs import check_target, writing_output
from pxsgmcmc.cli.saying import say
from pxsgmcmc.errors import UserError


def export(
    directory: Directory,
    out: Annotated[str | None, tyro.conf.arg(metavar="MODEL.px", aliases=["-o"])] = None,
    draws: WholeNumber = None,
    choose: Literal["evenly", "greedily"] = "evenly",
    precision: Literal["single", "half"] = "single",
    levels: tuple[float, ...] = (0.05, 0.25, 0.5, 0.75, 0.95),
    force: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    skip: int = 0,
    problem: ProblemName = None,
) -> None:
    """Write what a run predicts as one file that needs JAX alone, or ONNX.

    pxsgmcmc export runs/mine -o model.px
    pxsgmcmc export runs/mine -o small.px --draws 20 --choose greedily --precision half
    pxsgmcmc export runs/mine -o model.onnx

    The file has the weights of the draws, the programs that prepare inputs, run the network and
    average the draws, for any number of rows on a CPU, a GPU or a TPU, and where it came from.
    src/pxsgmcmc/export/reader.py, 40 lines that need only numpy, jax and flatbuffers, reads it. It
    is read back before it gets its name. What fewer draws or half precision lose is measured on the
    test rows and printed. Such files stay readable for half a year of JAX: keep the run.

    Args:
      directory: of the run.
      out: the file to write, .px, or .onnx for ONNX runtimes.
      draws: how many to keep; all if not given.
      choose: which, "evenly" from every chain, or "greedily", one after the other, each the one
        that makes the average predict the validation rows best.
      precision: of the stored weights; half is float16, at half the size, computed in float32.
      levels: of the quantiles of numbers.
      force: replace the file if it is there.
      skip: leave out so many draws at the start of each chain.
      problem: for a run made from Python, the function that returns its problem.
    """
    from pxsgmcmc.export.frozen import write_predictor
    from pxsgmcmc.export.onnx import write_onnx
    from pxsgmcmc.export.options import ExportOptions

    if out is None:
        raise UserError("`-o` must name the file to write, as in -o model.px.")
    target = check_target(out, force=force, endings=(".px", ".onnx"), example="model.px")
    options = ExportOptions(draws, choose, precision, levels).checked()
    run = run_at(directory, problem, skip)
    write = write_onnx if target.suffix == ".onnx" else write_predictor
    with writing_output(target, force=force) as file:
        written = write(run, file, options, progress=True)
    say(written._replace(path=target))
