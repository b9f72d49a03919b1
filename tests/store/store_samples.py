"""What the tests of the store share: a small finished run, and how each of its files is read."""

import json
import os
import shutil
from pathlib import Path

import numpy as np

from pxsgmcmc.errors import CorruptRun
from pxsgmcmc.store import create_run, open_run, verify


def make_run(folder: Path, *, seed: int = 0, draws: int = 5, size: int = 40) -> Path:
    """A run with every kind of file in it, which was closed properly."""
    rng = np.random.default_rng(seed)
    with create_run(folder, f"seed = {seed}\nsize = {size}\n", {"seed": seed}) as run:
        for number in range(1, draws + 1):
            position = rng.standard_normal(size).astype(np.float32)
            run.commit_draw({"w": position}, step=10 * number, energy=float(position[0]))
            run.append_log({"step": 10 * number, "speed": 2.5})
            run.commit_state({"q": position, "m": -position}, {"step": 10 * number})
        for name in ("results.json", "report.html", "eval/test.json", "eval/shift/blur.json"):
            run.write_artifact(name, f"result {name} of {seed}".encode())
        run.update(status="done")
    return folder


def copy_run(run: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(run, folder))


def files_of(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def contents_of(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in files_of(folder)}


def read_the_part_in(folder: Path, name: str) -> None:
    """Read what is stored in the file `name`; raises CorruptRun if the reader notices anything."""
    run = open_run(folder)
    if name.startswith("draws/"):
        run.load_draw(int(Path(name).stem))
    elif name.startswith("state/"):
        saved = run.load_state()
        if saved is None or saved.notes:
            raise CorruptRun(saved.notes[0] if saved else "no state")
    elif name == "log.jsonl":
        list(run.read_log())
        with open_run(folder, writable=True):
            pass
    elif name not in ("config.toml", "manifest.json", "index.jsonl"):
        run.read_artifact(name)


def read_everything(folder: Path) -> list[dict]:
    """All draws and the state; raises if any of it is not as it was written."""
    run = open_run(folder)
    assert run.load_state() is not None
    list(run.read_log())
    return [arrays for _, arrays in run.iter_draws()]


def notices(read, *arguments) -> bool:
    """Whether reading raises CorruptRun, in one line."""
    try:
        read(*arguments)
    except CorruptRun as error:
        assert "\n" not in str(error) and str(error)
        return True
    return False


def verify_notices(folder: Path) -> bool:
    problems = verify(folder).problems
    assert all(problem and "\n" not in problem for problem in problems)
    return bool(problems)


def record_proof(name: str, **counts: object) -> None:
    """Leave the counts of a proof where the reliability table is made from, if asked to."""
    folder = os.environ.get("PXSGMCMC_PROOF_DIR")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"store_{name}.json").write_text(json.dumps(counts, indent=2) + "\n")
