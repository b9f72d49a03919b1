"""The command `pxsgmcmc predict`: what a run says about new inputs."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import numpy as np
import tyro

from pxsgmcmc.errors import UserError, check_count

if TYPE_CHECKING:
    from pxsgmcmc.predict import Predictive


def predict_file(
    directory: Annotated[str, tyro.conf.arg(metavar="DIR")],
    inputs: Annotated[str, tyro.conf.arg(metavar="INPUT.npy")],
    out: Annotated[str | None, tyro.conf.arg(metavar="OUT.npy", aliases=["-o"])] = None,
    force: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    batch_size: int = 500,
) -> None:
    """Predict the classes of new inputs, averaged over all draws of a run.

    pxsgmcmc predict runs/mine new.npy -o probabilities.npy
    pxsgmcmc predict runs/mine new.npy -o all.npz

    Inputs are as the data set stores them: uint8 images (rows, height, width, channels), or floats
    on the same scale, 0 to 255; features as they are. They are normalised as in training. OUT.npy
    gets the probabilities (rows, classes); OUT.npz these and, in nats, the entropy of each row and
    its two parts: aleatoric, which every draw finds, and epistemic, which they disagree about.

    Args:
      directory: of the run.
      inputs: the file to read; it is mapped, and may be larger than memory.
      out: the file to write, .npy or .npz.
      force: replace it if it is there.
      batch_size: inputs at a time.
    """
    check_count("batch_size", batch_size, at_least=1)
    target = _target(out, force)
    x = _mapped(Path(inputs))
    from pxsgmcmc.evaluation.inputs import check_inputs
    from pxsgmcmc.evaluation.load import open_experiment
    from pxsgmcmc.evaluation.progress import work_for

    run = open_experiment(directory)
    check_inputs(x, run.experiment, inputs)
    with closing(work_for(f"predict {directory}", progress=True)) as work:
        count = run.subject.draws
        found = run.predict(
            x,
            batch_size=batch_size,
            report=lambda done: work.tell(done / count, f"draw {done}/{count}"),
        )
    with _replacing(target) as file:
        if target.suffix == ".npy":
            np.save(file, found.probabilities, allow_pickle=False)
        else:
            np.savez(
                file,
                allow_pickle=False,
                probabilities=found.probabilities,
                entropy=found.entropy,
                aleatoric=found.aleatoric,
                epistemic=found.epistemic,
            )
    print(_summary(target, found, run.subject.method, run.experiment.dataset.classes))


def _summary(target: Path, found: "Predictive", method: str, classes: tuple[str, ...]) -> str:
    rows = len(found.probabilities)
    chosen = np.bincount(found.probabilities.argmax(axis=1), minlength=len(classes))
    return (
        f"{target}: probabilities of {len(classes)} classes for {rows} inputs, from {found.draws} "
        f"draws of {method}\n"
        f"entropy {found.entropy.mean():.3g} nats on average, {found.epistemic.mean():.3g} of it "
        f"disagreement among draws; most often {classes[chosen.argmax()]!r} ({chosen.max()} inputs)"
    )


def _target(out: str | None, force: bool) -> Path:
    if out is None:
        raise UserError("`-o` must name the file to write, as in -o probabilities.npy.")
    target = Path(out)
    if target.suffix not in (".npy", ".npz"):
        raise UserError(f"`-o` must name a file ending in .npy or .npz, got {out!r}.")
    if not target.parent.is_dir():
        raise UserError(f"`-o` must name a file in a folder that is there, got {out!r}.")
    if target.is_dir() or (target.exists() and not force):
        raise UserError(f"`{target}` is there already: name another file, or give --force.")
    return target


def _mapped(path: Path) -> np.ndarray:
    """The array in an npy file, mapped; nothing in it is executed."""
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except FileNotFoundError:
        raise UserError(f"There is no file `{path}`.") from None
    except OSError as error:
        raise UserError(f"`{path}` cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise UserError(
            f"`{path}` must be an npy file of numbers, as `numpy.save` writes: {error}."
        ) from None


@contextmanager
def _replacing(target: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name when it is whole."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except OSError as error:
        raise UserError(f"`{target}` could not be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
