"""Commands in processes of their own: start them, watch what they write, wait for their end."""

import subprocess
import sys
from pathlib import Path

from pxsgmcmc.store import open_run
from tests.helpers.waiting import PATIENCE, wait_until


def start_command(folder: Path, *arguments: object, **options) -> subprocess.Popen[str]:
    """Start `pxsgmcmc arguments` in a folder; `options` are those of `Popen`."""
    return subprocess.Popen(
        [sys.executable, "-m", "pxsgmcmc", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        **options,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for the end; exit code, output and errors, none of which is a traceback."""
    out, err = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in err, err
    return process.returncode, out, err


def wait_for_draws(process: subprocess.Popen[str], run: Path, count: int) -> None:
    """Wait until the index of a run directory has so many lines."""
    index = run / "index.jsonl"

    def happened() -> bool:
        ended = process.poll() is not None  # asked first: what it wrote before it ended counts
        there = index.exists() and index.read_bytes().count(b"\n") >= count
        assert there or not ended, process.communicate()
        return there

    wait_until(happened, f"draw {count} of {run.name}")


def hashes(run: Path) -> list[str]:
    """Of all draws."""
    return [draw.sha256 for draw in open_run(run).draws]
