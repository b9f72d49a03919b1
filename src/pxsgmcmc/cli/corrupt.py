"""The command `pxsgmcmc data corrupt`: a corrupted copy of an image set, in CIFAR-10-C's layout."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pxsgmcmc.cli.opening import Folder, WholeNumber
from pxsgmcmc.cli.outputs import check_folder_target, saying_what_failed
from pxsgmcmc.cli.saying import say
from pxsgmcmc.data import Split, load
from pxsgmcmc.data.corruptions import CORRUPTIONS, SEVERITIES, corrupt
from pxsgmcmc.errors import UserError, check_count, printable

_SAFE = "PYTHONSAFEPATH"


def corrupt_set(
    name: str,
    out: str,
    *,
    split: str = "test",
    seed: int = 0,
    processes: int = 2,
    limit: WholeNumber = None,
    root: Folder = None,
) -> None:
    """Write all 19 corruptions of an image set at 5 severities, as in CIFAR-10-C.

    pxsgmcmc data corrupt digits corrupted/digits-c
    pxsgmcmc data corrupt cifar10 corrupted/cifar10-c --seed 1

    One npy file per corruption holds five blocks of images, severity 1 first; labels.npy repeats
    the labels five times. The folder appears when it is complete. The number of processes does not
    change the result.

    Args:
      name: as in `pxsgmcmc data list`.
      out: the folder to make.
      split: which rows.
      seed: of the noise.
      processes: how many corruptions to make at a time.
      limit: only the first so many rows.
      root: for official sets, the folder to look in.
    """
    check_count("seed", seed)
    check_count("processes", processes, at_least=1)
    target = Path(os.path.abspath(check_folder_target(out, "out")))
    rows = _rows(name, split, limit, root)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise UserError(f"`out` cannot be made at `{target}`: {error.strerror}.") from error
    try:
        with saying_what_failed(target):
            _write_labels(partial, rows)
            _write_images(partial, rows.x, seed, processes)
            partial.chmod(0o755)
            os.replace(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    many = f"{len(CORRUPTIONS)} corruptions of {len(rows.x):,} images"
    say(f"{printable(target)} holds {many} from {printable(name)}")


def _rows(name: str, split: str, limit: int | None, root: str | None) -> Split:
    dataset = load(name, root=root)
    if split not in dataset.splits:
        known = ", ".join(dataset.splits)
        raise UserError(f"`split` must be one of {known} for {name!r}, got {split!r}.")
    x, y = dataset.splits[split]
    if x.dtype != np.uint8 or x.ndim != 4:
        raise UserError(f"Only sets of images can be corrupted, and {name!r} is not one.")
    if limit is not None:
        check_count("limit", limit, at_least=1)
    return Split(x[:limit], None if y is None else y[:limit])


def _write_labels(folder: Path, rows: Split) -> None:
    """Labels five times over; a set without labels gets no file."""
    if rows.y is not None:
        kind = np.uint8 if rows.y.max() < 256 else np.int32
        np.save(folder / "labels.npy", np.tile(rows.y.astype(kind), len(SEVERITIES)))


def _write_images(folder: Path, images: np.ndarray, seed: int, processes: int) -> None:
    """One task per corruption, the images handed over through a file that all processes map."""
    source = folder / "source.npy"
    np.save(source, images)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    # Fresh processes: a fork of one that runs JAX may hang in its locks.
    with (
        _safe_path(),
        Progress(*columns, TimeElapsedColumn()) as progress,
        ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool,
    ):
        bar = progress.add_task("corrupting", total=len(CORRUPTIONS))
        tasks = {pool.submit(write_corruption, source, name, seed): name for name in CORRUPTIONS}
        try:
            for task in as_completed(tasks):
                task.result()
                progress.update(bar, advance=1, description=tasks[task])
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    source.unlink()


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep new processes from looking for modules in the current folder while they start."""
    before = os.environ.get(_SAFE)
    os.environ[_SAFE] = "1"
    try:
        yield
    finally:
        del os.environ[_SAFE]
        if before is not None:
            os.environ[_SAFE] = before


def write_corruption(source: Path, name: str, seed: int) -> None:
    """Write `name`.npy, all severities of one corruption, beside the npy file of the images."""
    images = np.load(source, mmap_mode="r", allow_pickle=False)
    n = len(images)
    shape = (len(SEVERITIES) * n, *images.shape[1:])
    head = {"descr": "|u1", "fortran_order": False, "shape": shape}
    # Written, not mapped: a full disk is then an error to tell, not the end of the process.
    with open(source.with_name(f"{name}.npy"), "xb") as file:
        np.lib.format.write_array_header_1_0(file, head)
        for severity in SEVERITIES:
            file.write(np.ascontiguousarray(corrupt(images, name, severity, seed=seed)).data)
        file.flush()
        os.fsync(file.fileno())
