"""Sheets: jobs that were handed to a queue, as files in a folder that all hosts see.

    RUNS/.jobs/NAME/sheet.json    the engine, how many jobs, the folder in which it was started
    RUNS/.jobs/NAME/lock          of the process that looks after them, for as long as it does
    RUNS/.jobs/NAME/0007.job      a job
    RUNS/.jobs/NAME/0007.out      how far it says it is; 0007.err has everything else it says
    RUNS/.jobs/NAME/0007.end      how its process ended last, once it has
    RUNS/.jobs/NAME/0007.node     where Ray runs it
    RUNS/.jobs/NAME/names         what the queue calls them
    RUNS/.jobs/NAME/stop          they are to stop, and not to be started again

RUNS is the folder in which the run directories are. A sheet whose jobs are all done is removed:
what a job made is in its run directory, and that alone decides what is still to be done.
"""

import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.jobs.engine import Ended
from pxsgmcmc.jobs.job import Job
from pxsgmcmc.store import files
from pxsgmcmc.store.chains import CHAINS
from pxsgmcmc.store.layout import MANIFEST

SHEETS = ".jobs"
_FACTS, _NAMES, _STOP = "sheet.json", "names", "stop"
_FILE = re.compile(r"([0-9]{4,9})\.([a-z]+)", re.ASCII)
_MOST = 1 << 24  # bytes of a file that is read
_TAIL = 20_000  # bytes of a job's errors that are read


class Facts(msgspec.Struct, frozen=True):
    """The contents of `sheet.json`."""

    engine: str
    count: int
    cwd: str
    python: str


class End(msgspec.Struct, frozen=True):
    """The contents of a file `.end`.

    Attributes:
      code: exit code of the process; negative if it was given up, see `Ended`.
      host: where it ran.
      why: what is not among its errors.
    """

    code: int
    host: str = ""
    why: str = ""


class Sheet(NamedTuple):
    """Jobs handed to a queue together, numbered from 0."""

    folder: Path
    facts: Facts

    def path(self, number: int, kind: str) -> Path:
        """The file of a job; `kind` is "job", "out", "err", "end" or "node"."""
        return self.folder / f"{number:04}.{kind}"

    def job(self, number: int) -> Job:
        """One of the jobs."""
        path = self.path(number, "job")
        try:
            return msgspec.json.decode(_read(path), type=Job)
        except msgspec.MsgspecError as error:
            raise CorruptRun(f"`{path}` is not as it was written: {error}.") from error

    def numbers(self) -> list[int]:
        """The jobs whose files are there."""
        return sorted(self._numbers_with("job"))

    def end(self, number: int) -> End | None:
        """How the job's process ended; None if it has not, or was killed."""
        try:
            return msgspec.json.decode(_read(self.path(number, "end")), type=End)
        except (CorruptRun, UserError, msgspec.MsgspecError):  # of the latter: it is being replaced
            return None

    def write_end(self, number: int, code: int, why: str = "") -> None:
        """Say how it ended."""
        end = End(code, socket.gethostname(), why)
        files.write_file(self.path(number, "end"), msgspec.json.encode(end))

    def forget_end(self, number: int) -> None:
        """It begins anew."""
        self.path(number, "end").unlink(missing_ok=True)

    def ended_numbers(self) -> set[int]:
        """The jobs that have a file `.end`, by one look at the folder."""
        return self._numbers_with("end")

    def _numbers_with(self, kind: str) -> set[int]:
        names = map(_FILE.fullmatch, os.listdir(self.folder))
        numbers = (int(name[1]) for name in names if name and name[2] == kind)
        return {number for number in numbers if number < self.facts.count}

    def size(self, number: int, kind: str) -> int:
        """Of a file of a job, in bytes; 0 if it is not there."""
        try:
            return self.path(number, kind).stat().st_size
        except OSError:
            return 0

    def errors(self, number: int, since: int = 0) -> str:
        """The last of what a job wrote to standard error, after its first `since` bytes."""
        try:
            with os.fdopen(files.open_plain(self.path(number, "err")), "rb") as file:
                file.seek(max(since, file.seek(0, os.SEEK_END) - _TAIL))
                return file.read().decode(errors="replace")
        except (OSError, CorruptRun, UserError):
            return ""

    def sentence(self, number: int) -> str:
        """Why a job failed, for people."""
        end = self.end(number) or End(0)
        ended = Ended(end.code, self.errors(number))
        return end.why or ended.sentence or ended.how

    def add_names(self, names: dict[int, str]) -> None:
        """Note what the queue calls jobs."""
        with (self.folder / _NAMES).open("ab") as file:
            file.write(msgspec.json.encode(names) + b"\n")

    def names(self) -> dict[int, str]:
        """What the queue called each job last."""
        names: dict[int, str] = {}
        # None yet, or a line is being written.
        with suppress(CorruptRun, UserError, msgspec.MsgspecError):
            for line in _read(self.folder / _NAMES).splitlines():
                names |= msgspec.json.decode(line, type=dict[int, str])
        return names

    @property
    def stopping(self) -> bool:
        """Whether its jobs are to stop."""
        return (self.folder / _STOP).exists()

    def stop(self) -> None:
        """Keep its jobs from being started again."""
        (self.folder / _STOP).touch()

    def remove(self) -> None:
        """Remove it, and the folder of sheets if it was the last."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):
            self.folder.parent.rmdir()


def new_sheet(engine: str, jobs: Sequence[Job], python: str) -> Sheet:
    """Write a sheet beside the runs of these jobs, which are `placed`."""
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    sheet = Sheet(place_of(jobs) / name, Facts(engine, len(jobs), os.getcwd(), python))
    with files.writing(sheet.folder):
        sheet.folder.mkdir(parents=True)
        for number, job in enumerate(jobs):
            sheet.path(number, "job").write_bytes(msgspec.json.encode(job))
    files.write_file(sheet.folder / _FACTS, msgspec.json.encode(sheet.facts))
    return sheet


def placed(job: Job) -> Job:
    """The job with the whole path of its folder, for processes that start in other folders."""
    return replace(job, folder=os.path.abspath(job.folder))


def place_of(jobs: Sequence[Job]) -> Path:
    """The folder of the sheets of these jobs, which is beside their runs and in none of them."""
    return Path(os.path.commonpath([_above(Path(job.folder)) for job in jobs])) / SHEETS


def _above(folder: Path) -> Path:
    """The folder in which a run is: of one of several chains, the one above all of them."""
    return folder.parents[1] if (folder.parent / CHAINS).exists() else folder.parent


def read_sheet(folder: Path) -> Sheet:
    """The sheet in a folder."""
    try:
        return Sheet(folder, msgspec.json.decode(_read(folder / _FACTS), type=Facts))
    except (CorruptRun, UserError, msgspec.MsgspecError) as error:
        raise UserError(f"`{folder}` must be a sheet of jobs, and it cannot be read.") from error


def _read(path: Path) -> bytes:
    """Whoever can write to a folder can put a sheet there: no link, pipe or device is opened."""
    return files.read_file(path, at_most=_MOST)


def sheets_in(place: Path) -> list[Sheet]:
    """The sheets in a folder of sheets, oldest first; what cannot be read is passed over."""
    sheets = []
    for path in sorted(place.glob(f"*/{_FACTS}")):
        with suppress(UserError):
            sheets.append(read_sheet(path.parent))
    return sheets


def progress_mark(job: Job) -> tuple[int, ...]:
    """Something that changes whenever a job gets further: its draws, its state, its results."""
    marks = []
    for name in ("index.jsonl", "state/last", MANIFEST):
        try:
            facts = os.stat(os.path.join(job.folder, name))
            marks += [facts.st_size, facts.st_mtime_ns if name == "state/last" else 0]
        except OSError:
            marks += [0, 0]
    return tuple(marks)
