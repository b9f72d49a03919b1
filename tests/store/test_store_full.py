"""A full disk, at whichever write it is met: one line, earlier draws readable, no half files."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import crash_writer
import pytest
from store_samples import contents_of, files_of, make_run, record_proof

from pxsgmcmc.store import StorageFull, open_run, verify

PROGRAM = Path(crash_writer.__file__)


def creates(path, flags, *_) -> bool:
    """Whether this call of `os.open` makes a new file."""
    return bool(flags & os.O_CREAT) and not os.path.lexists(path)


class FullDisk:
    """Calls of the system that fail from the n-th on, or the n-th alone; a write fails halfway."""

    def __init__(self, monkeypatch, call: int, *, stays: bool):
        self.call, self.stays, self.seen = call, stays, 0
        for name in ("open", "pwrite", "fsync", "replace", "mkdir"):
            if name != "fsync" or not stays:  # a disk that stays full still flushes what it took
                monkeypatch.setattr(os, name, self.failing(name, getattr(os, name)))

    def failing(self, name, real):
        def wrapped(*arguments, **options):
            if name == "open" and not creates(*arguments):
                return real(*arguments, **options)
            if name == "replace" and self.stays:
                return real(*arguments, **options)
            self.seen += 1
            if self.seen == self.call or (self.stays and self.seen > self.call):
                if name == "pwrite":
                    descriptor, data, offset = arguments
                    real(descriptor, data[: len(data) // 2], offset)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*arguments, **options)

        return wrapped


def fill_at(folder: Path, call: int, *, stays: bool, whole: dict[str, bytes]) -> bool:
    """Write until the disk is full at the n-th call; False if the run was done before that."""
    promised: list[int] = []
    with pytest.MonkeyPatch.context() as patches:
        FullDisk(patches, call, stays=stays)
        try:
            crash_writer.write_run(folder, said=promised.append)
            return False
        except StorageFull as error:
            assert "\n" not in str(error) and "full" in str(error)
    assert_earlier_draws_are_readable(folder, len(promised))
    crash_writer.write_run(folder)
    assert contents_of(folder) == whole
    return True


def assert_earlier_draws_are_readable(folder: Path, promised: int) -> None:
    if not (folder / "manifest.json").exists():
        assert promised == 0
        return
    assert verify(folder).problems == []
    run = open_run(folder)
    assert len(run.draws) >= promised
    list(run.iter_draws())
    run.load_state()
    assert "lock" not in files_of(folder)


@pytest.mark.parametrize("stays", [False, True], ids=["for one call", "for good"])
def test_a_disk_full_at_any_write_point_costs_nothing_that_was_committed(tmp_path, stays):
    crash_writer.write_run(tmp_path / "whole")
    whole = contents_of(tmp_path / "whole")
    call, more = 1, True
    while more:
        more = fill_at(tmp_path / str(call), call, stays=stays, whole=whole)
        call += 1 if call < 25 else 7
    assert call > 75


@pytest.mark.slow
def test_a_disk_full_at_every_write_point_costs_nothing_that_was_committed(tmp_path):
    crash_writer.write_run(tmp_path / "whole")
    whole = contents_of(tmp_path / "whole")
    points = 0
    for stays in (False, True):
        call = 1
        while fill_at(tmp_path / f"{stays}{call}", call, stays=stays, whole=whole):
            call += 1
            points += 1
    record_proof("disk_full_points", points=points, survived=points)
    assert points > 200


def test_a_disk_full_while_a_result_is_replaced_keeps_the_old_or_the_new(tmp_path):
    folder = make_run(tmp_path / "run", draws=1)
    failures = 0
    for call in range(1, 12):
        with pytest.MonkeyPatch.context() as patches, open_run(folder, writable=True) as run:
            FullDisk(patches, call, stays=False)
            try:
                run.write_artifact("results.json", f"new {call}".encode())
            except StorageFull:
                failures += 1
        assert verify(folder).problems == []
        open_run(folder).read_artifact("results.json")
    assert failures >= 7


def test_a_full_disk_leaves_no_half_files(tmp_path):
    for call in range(1, 60, 3):
        with pytest.MonkeyPatch.context() as patches:
            FullDisk(patches, call, stays=True)
            with pytest.raises(StorageFull):
                crash_writer.write_run(tmp_path / str(call))
    assert not [name for name in files_of(tmp_path) if name.endswith(".part")]


def run_with_limit(folder: Path, limit: int) -> subprocess.CompletedProcess:
    # The limit is set before the program runs, and without a fork of this process and its threads.
    limited = (
        "import os, resource, sys; limit = int(sys.argv[1]);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit));"
        "os.execv(sys.argv[2], sys.argv[2:])"
    )
    program = [sys.executable, str(PROGRAM), "fill", str(folder)]
    return subprocess.run(
        [sys.executable, "-c", limited, str(limit), *program],
        capture_output=True,
        text=True,
        check=False,
    )


def assert_ended_short(done: subprocess.CompletedProcess, folder: Path) -> None:
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "full" in done.stderr
    assert_earlier_draws_are_readable(folder, 0)


def test_a_limit_on_the_size_of_files_ends_a_run_in_one_line(tmp_path):
    for limit in (1200, 9000):
        assert_ended_short(run_with_limit(tmp_path / str(limit), limit), tmp_path / str(limit))


@pytest.mark.slow
def test_twenty_limits_on_the_size_of_files_end_a_run_in_one_line_each(tmp_path):
    limits = range(20, 12020, 600)
    for limit in limits:
        assert_ended_short(run_with_limit(tmp_path / str(limit), limit), tmp_path / str(limit))
    record_proof("file_size_limits", limits=len(limits), survived=len(limits))
    assert len(limits) == 20


@pytest.fixture
def small_disk(disk_path):
    """A file system of a few hundred kilobytes."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk_path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only the administrator can mount a small file system")
    yield disk_path
    subprocess.run(["umount", str(disk_path)], check=True)


@pytest.mark.slow
def test_a_small_file_system_filled_to_twenty_levels_ends_a_run_in_one_line_each(small_disk):
    for level in range(20):
        ballast, folder = small_disk / "ballast", small_disk / "run"
        ballast.write_bytes(bytes(400 * 1024 - 4096 * (2 + level)))
        done = subprocess.run(
            [sys.executable, str(PROGRAM), "fill", str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert_ended_short(done, folder)
        ballast.unlink()
        crash_writer.write_run(folder, size=3000)
        assert verify(folder).problems == [] and len(open_run(folder).draws) == 7
        subprocess.run(["rm", "-r", str(folder)], check=True)
    record_proof("small_file_system", levels=20, survived=20)
