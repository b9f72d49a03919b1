"""The command `pxsgmcmc predict`: what a run says about new inputs."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import tyro

from pxsgmcmc.cli.opened import Directory, ProblemName, opened
from pxsgmcmc.cli.outputs import check_target, writing_output
from pxsgmcmc.errors import UserError, check_count

if TYPE_CHECKING:
    from pxsgmcmc.problem import Problem


def predict_file(
    directory: Directory,
    inputs: Annotated[str, tyro.conf.arg(metavar="INPUT.npy")],
    out: Annotated[str | None, tyro.conf.arg(metavar="OUT.npy", aliases=["-o"])] = None,
    force: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    skip: int = 0,
    problem: ProblemName = None,
    batch_size: int = 500,
) -> None:
    """Predict new inputs, averaged over all draws of a run.

    pxsgmcmc predict runs/mine new.npy -o probabilities.npy
    pxsgmcmc predict runs/mine new.npy -o all.npz --skip 10

    Inputs are as the training data are stored, and are prepared in the same way: uint8 images
    (rows, height, width, channels), or floats on the same scale, 0 to 255; features as they are.
    For classes, OUT.npy gets the probabilities (rows, classes); OUT.npz these and, in nats, the
    entropy of each row and its two parts: aleatoric, which every draw finds, and epistemic, which
    they disagree about. For numbers, OUT.npy gets the mean (rows, targets); OUT.npz this, the
    standard deviation, the two parts of the variance and the quantiles 5, 25, 50, 75 and 95 %.

    Args:
      directory: of the run.
      inputs: the file to read; it is mapped, and may be larger than memory.
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
    x = _mapped(Path(inputs))
    run = opened(directory, problem, skip)
    predicted = run.predict(x, batch_size=batch_size, progress=True)
    arrays = _arrays(predicted)
    with writing_output(target, force=force) as file:
        if target.suffix == ".npy":
            np.save(file, next(iter(arrays.values())), allow_pickle=False)
        else:
            np.savez(file, allow_pickle=False, **arrays)
    print(_summary(target, predicted, len(x), run.need_problem("predict"), run.summary))


def _arrays(predicted: Any) -> dict[str, np.ndarray]:
    """What is written, the most important first."""
    if hasattr(predicted, "probabilities"):
        names = ("probabilities", "entropy", "aleatoric", "epistemic")
        return {name: getattr(predicted, name) for name in names}
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
    first = f"{target}: {rows} inputs, from {run}"
    if hasattr(predicted, "probabilities"):
        chosen = np.bincount(predicted.probabilities.argmax(axis=1), minlength=problem.targets)
        often = f"{problem.names[chosen.argmax()]!r} ({chosen.max()} inputs)"
        return (
            f"{first}\nentropy {predicted.entropy.mean():.3g} nats on average, "
            f"{predicted.epistemic.mean():.3g} of it disagreement among draws; most often {often}"
        )
    return f"{first}\nstandard deviation {predicted.std.mean():.3g} on average"


def _mapped(path: Path) -> np.ndarray:
    """The array in an npy file, mapped; nothing in it is executed."""
    from pxsgmcmc.data.user_files import map_npy

    if not os.path.lexists(path):
        raise UserError(f"There is no file `{path}`.")
    if not path.is_file():  # a pipe would be waited for, and a device may have no end
        reason = "Is a directory" if path.is_dir() else "it is not a regular file"
        raise UserError(f"`{path}` cannot be read: {reason}.")
    try:
        x = map_npy(path)
        if x.dtype.kind not in "biuf" or not x.ndim:
            raise UserError(f"`{path}` holds {x.dtype} of shape {x.shape}.")
    except UserError as error:
        message = f"`inputs` must be an npy file of numbers, a row for each input: {error}"
        raise UserError(message) from error
    return x
