"""An environment of its own for PyTorch, which only the benchmark needs."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / ".bench-venv"
PINNED = (
    "torch==2.13.0",
    "posteriors==0.1.3",
    "tensordict==0.15.3",
    "torchopt==0.7.3",
    "optree==0.20.0",
    "numpy==2.4.6",
)


class NoTorch(Exception):
    """The environment cannot be made; the message is one sentence."""


def python_of(folder: Path = FOLDER) -> Path:
    """The interpreter of the environment, which is made if it is not there as pinned."""
    python = folder / "bin" / "python"
    ready = folder / "ready"  # written last: an environment that was cut off is made anew
    wanted = "\n".join(PINNED)
    if not (python.exists() and ready.exists() and ready.read_text() == wanted):
        _run([sys.executable, "-m", "venv", "--clear", str(folder)], f"make {folder}")
        _run([str(python), "-m", "pip", "install", "--quiet", *PINNED], f"install {PINNED[0]}")
        ready.write_text(wanted)
    return python


def _run(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no reason was given"]
        reason = next((line for line in said if line.startswith("ERROR")), said[-1])
        raise NoTorch(f"Could not {what} for the benchmark: {reason.removeprefix('ERROR: ')}")


if __name__ == "__main__":
    print(python_of())
