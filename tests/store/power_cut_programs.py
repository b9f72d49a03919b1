"""Programs that write runs, and what a power cut in the middle of them has cost."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from power_cuts import Disk, PowerCut, write_tree
from store_samples import contents_of

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store import create_run, lock_file, open_run, verify
from pxsgmcmc.store.sealed import digest

RUN = "above/runs/mine"  # two folders have to be made on the way to it
CHUNKS = 6
RESULT = "eval/shift/blur.json"


def draw_values(chunk: int, shift: float = 0.0) -> dict[str, np.ndarray]:
    return {"w": np.random.default_rng(chunk).standard_normal(90) + shift}


def write_whole(folder: Path, promise: Callable[..., None]) -> None:
    """Make the run or go on with it: a log line a chunk, a draw after the first, a state every 2nd.

    The lines of the index are longer than half a sector, so that most lie in two.
    """
    begun = (folder / "manifest.json").exists()
    run = open_run(folder, writable=True) if begun else create_run(folder, "seed = 1\n", {})
    with run:
        promise(created=True)
        saved = run.load_state()
        for chunk in range(saved.meta["chunks"] + 1 if saved else 1, CHUNKS + 1):
            run.append_log({"chunk": chunk, "note": "l" * 300})
            if chunk > 1:
                draw = run.commit_draw(draw_values(chunk), step=chunk, note="d" * 120)
                promise(draws=draw.number)
            if chunk % 2 == 0:
                run.commit_state(draw_values(chunk), {"chunks": chunk})
                promise(state=chunk)
        kept = run.read_artifact(RESULT) if RESULT in run.manifest["artifacts"] else b""
        for result in (b"first", b"second"):
            if kept != b"second":
                run.write_artifact(RESULT, result)
            promise(result=result)
        run.update(status="done")
        promise(status="done")


def write_others(folder: Path, promise: Callable[..., None]) -> None:
    """Go on with a run whose draws after its state come out other than they did, or fewer."""
    with open_run(folder, writable=True) as run:
        for step in (2, 3):
            draw = run.commit_draw(draw_values(step, shift=9.0), step=step)
            promise(draws=draw.number)


def write_state(folder: Path, promise: Callable[..., None]) -> None:
    """Go on with a run of which the last state is damaged, and save one."""
    with open_run(folder, writable=True) as run:
        saved = run.load_state()
        serial = saved.serial if saved else 0
        if serial < 2:
            run.commit_state({"q": np.full(3, 2.0)}, {"chunks": 2})
        promise(state=2)


class Program(NamedTuple):
    """Something to be cut short: what is there before, what it does, and what it comes to."""

    folder: Path
    write: Callable[[Path, Callable[..., None]], None]
    disk: Disk
    before: dict[str, bytes]
    whole: dict[str, bytes]


def nothing(root: Path) -> None:
    """An empty disk."""


def a_run_that_went_past_its_state(root: Path) -> None:
    with create_run(root / RUN, "", {}) as run:
        run.commit_draw(draw_values(1), step=1)
        run.commit_state({"q": np.zeros(3)}, {"chunks": 1})
        for step in (2, 3, 4):
            run.commit_draw(draw_values(step), step=step)


def a_run_with_a_damaged_state(root: Path) -> None:
    with create_run(root / RUN, "", {}) as run:
        for number in (1.0, 1.5):
            run.commit_state({"q": np.full(3, number)}, {"chunks": 1})
    last = root / RUN / "state/last"
    last.write_bytes(last.read_bytes()[:-1])


PROGRAMS = {
    "a damaged state": (a_run_with_a_damaged_state, write_state),
    "draws that are replaced": (a_run_that_went_past_its_state, write_others),
    "a run": (nothing, write_whole),
}


def record(folder: Path, prepare: Callable[[Path], None], write: Callable) -> Program:
    """Run a program on a disk that is prepared, and note what it does."""
    root = folder / "disk"
    root.mkdir(parents=True)
    prepare(root)
    before = contents_of(root / RUN) if (root / RUN).exists() else {}
    disk = Disk(root)
    with disk.recording():
        write(root / RUN, disk.promise)
    return Program(folder, write, disk, before, contents_of(root / RUN))


def harm(program: Program, cut: PowerCut) -> str:
    """What a power cut has cost, or "" if the run goes on as if it had not been."""
    try:
        folder = put_back(program, cut, program.folder / "after")
        if (folder / "manifest.json").exists():
            if lost := what_is_lost(program, folder, cut.promised):
                return f"lost: {lost}"
        elif cut.promised:
            return "lost: the run"
        program.write(folder, lambda **_: None)
    except CorruptRun as error:
        return f"torn: {error}"
    except UserError as error:
        return f"refused: {error}"
    return "" if contents_of(folder) == program.whole else "another run came of it"


def put_back(program: Program, cut: PowerCut, place: Path) -> Path:
    """The run directory as the power cut left it; the process of its lock went with the power."""
    shutil.rmtree(place, ignore_errors=True)
    write_tree(cut.tree, place)
    path = place / RUN / "lock"
    if holds := lock_file.peek(path):
        path.write_bytes(lock_file.encode(msgspec.structs.replace(holds, process=2**30)))
    return place / RUN


def what_is_lost(program: Program, folder: Path, promised: dict) -> str:
    problems = verify(folder).problems
    if problems and program.write is not write_state:  # there, one is damaged from the beginning
        raise CorruptRun(problems[0])
    run = open_run(folder)
    list(run.iter_draws())
    list(run.read_log())
    hashes = [(f"draws/{draw.name}", draw.sha256) for draw in run.draws]
    for made in (program.before, program.whole):
        if all(name in made and digest(made[name]) == sha256 for name, sha256 in hashes):
            break
    else:
        return "draws, the others are not the beginning of the run"
    if len(run.draws) < promised.get("draws", 0):
        return f"draw {promised['draws']}"
    saved = run.load_state()
    if (saved.meta["chunks"] if saved else 0) < promised.get("state", 0):
        return "the state"
    if "result" in promised and run.read_artifact(RESULT) not in (promised["result"], b"second"):
        return "the result"
    return "" if promised.get("status", run.status) == run.status else "the status"
