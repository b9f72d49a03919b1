"""The command `pxsgmcmc predict`: what a run says about new inputs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import tyro

from pxsgmcmc.cli.new_inputs import check_readable, read_new_inputs
from pxsgmcmc.cli.opening import Directory, ProblemName, run_at
from pxsgmcmc.cli.outputs import check_target, writing_output
from pxsgmcmc.cli.saying import say
from pxsgmcmc.errors import UserError, check_count, printable

if TYPE_CHECKING:
    from pxsgmcmc.problem import Problem


def predict_file(
    directory: Directory,
    inputs: Annotated[str, tyro.conf.arg(metavar="INPUTS")],
    out: Annotated[str | None, tyro.conf.arg(metavar="OUT.npy", aliases=["-o"])] = None,
    force: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    skip: int = 0,
    problem: ProblemName = None,
    batch_size: int = 500,
) -> None:
    """Predict new inputs, averaged over all draws of a run.

    pxsgmcmc predict runs/mine new.npy -o probabilities.npy
    pxsgmcmc predict runs/mine new.csv -o all.npz --skip 10

    Inputs are as the training data are stored, and are prepared in the same way: uint8 images
    (rows, height, width, channels), or floats on the same scale, 0 to 255; features as they are.
    For a run that learned from a table with names, columns of a table are found by their names.
    For classes, OUT.npy gets the probabilities (rows, classes); OUT.npz these, the names of the
    classes and, in nats, the entropy of each row and its two parts: aleatoric, which every draw
    finds, and epistemic, which they disagree about. For numbers, OUT.npy gets the mean alone
    (rows, targets); OUT.npz this, the standard deviation, the two parts of the variance and the
    quantiles 5, 25, 50, 75 and 95 %.

    Args:
      directory: of the run.
      inputs: the file to read, .npy, .npz, .csv, .tsv or .parquet; an npy file is mapped, and may
        be larger than memory.
      out: the file to write, .npy or .npz.
      force: replace it if it is there.
      skip: leave out so many draws at the start of each chain.
      problem: for a run made from Python, the function that returns its problem.
      batch_size: inputs at a time.
    """
    check_count("batch_size", batch_size, at_least=1)
    if out is None:
        raise UserError("`-o` must name the file to write, as in -o probabilities.npy.")
    target = check_target(out, force=force, endings=(".npy", ".npz"), example="probabilities.npy")
    check_readable(inputs)
    run = run_at(directory, problem, skip, data=False)
    x = read_new_inputs(inputs, run)
    predicted = run.predict(x, batch_size=batch_size, progress=True)
    known = run.need_problem("predict")
    arrays = _arrays(predicted, known)
    with writing_output(target, force=force) as file:
        if target.suffix == ".npy":
            np.save(file, next(iter(arrays.values())), allow_pickle=False)
        else:
            np.savez(file, allow_pickle=False, **arrays)
    say(_summary(target, predicted, len(x), known, run.summary))


def _arrays(predicted: Any, problem: "Problem") -> dict[str, np.ndarray]:
    """What is written, the most important first."""
    if hasattr(predicted, "probabilities"):
        names = ("probabilities", "entropy", "aleatoric", "epistemic")
        arrays = {name: getattr(predicted, name) for name in names}
        return {**arrays, "classes": np.array(problem.names)}
    if hasattr(predicted, "quantile"):
        names = ("mean", "std", "aleatoric", "epistemic")
        levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
        return {
            **{name: getattr(predicted, name) for name in names},
            "quantiles": predicted.quantile(levels),
            "levels": levels,
        }
    return {"mean": predicted.mean, "std": predicted.std}


def _summary(target: Path, predicted: Any, rows: int, problem: "Problem", run: str) -> str:
    first = f"{printable(target)}: {rows} inputs, from {run}"
    if hasattr(predicted, "probabilities"):
        chosen = np.bincount(predicted.probabilities.argmax(axis=1), minlength=problem.targets)
        often = f"{problem.names[chosen.argmax()]!r} ({chosen.max()} inputs)"
        return (
            f"{first}\nentropy {predicted.entropy.mean():.3g} nats on average, "
            f"{predicted.epistemic.mean():.3g} of it disagreement among draws; most often {often}"
        )
    return f"{first}\nstandard deviation {predicted.std.mean():.3g} on average"
