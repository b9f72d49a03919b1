"""Apply the mutants one at a time to copies of the tree, and see whether their tests notice.

    python -m tests.mutants          all, in two processes; writes the table of docs/reliability.md
    python -m tests.mutants sgnht    those with the word in their file or description; no table

The working tree is copied, never edited. All named tests must first pass on the copy as it is.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import NamedTuple

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Mutant

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- mutants: begin -->", "<!-- mutants: end -->"
PROCESSES = 2
LONGEST = 900  # seconds of one run of pytest
LEFT_OUT = (".git", ".venv", "runs", "__pycache__", "*.egg-info", ".*_cache", ".hypothesis")


class Outcome(NamedTuple):
    """What became of one mutant."""

    mutant: Mutant
    word: str  # "killed", "survived" or "not run: ..."
    seconds: float


def source_of(mutant: Mutant, root: Path = ROOT) -> Path:
    """The file that a mutant changes."""
    return root / "src" / "pxsgmcmc" / mutant.file


def killed_in_words(code: int | None) -> str:
    """What an exit code of pytest says about a mutant; None is that of a run that was stopped."""
    if code is None:
        return "not run: it took too long"
    return {0: "survived", 1: "killed"}.get(code, f"not run: pytest ended with {code}")


def run_tests(root: Path, tests: list[str], programs: Path) -> tuple[int | None, str]:
    """Exit code and last lines of pytest on the copy at `root`; runs share compiled programs."""
    environment = os.environ | {
        "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}",
        "PYTHONDONTWRITEBYTECODE": "1",  # two edits within a second would share their bytecode
        "JAX_COMPILATION_CACHE_DIR": str(programs),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    chosen = [f"tests/{test}" for test in tests]
    try:
        done = subprocess.run(
            [*pytest, "-m", "not slow", *chosen],
            cwd=root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        return done.returncode, "\n".join(done.stdout.splitlines()[-5:])
    except subprocess.TimeoutExpired:
        return None, f"stopped after {LONGEST} s"


@contextmanager
def edited(mutant: Mutant, root: Path) -> Iterator[None]:
    """The copy at `root` with the mutant's edit in it."""
    path = source_of(mutant, root)
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.file} has not exactly one {mutant.old!r}.")
    path.write_text(text.replace(mutant.old, mutant.new))
    try:
        yield
    finally:
        path.write_text(text)


def hunt(mutants: list[Mutant], folder: Path) -> list[Outcome]:
    """What becomes of each mutant, in `PROCESSES` copies of the tree below `folder`."""
    copies: Queue[Path] = Queue()
    for number in range(PROCESSES):
        copy = folder / str(number)
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        copies.put(copy)
    programs = folder / "programs"

    def as_it_is(tests: list[str]) -> str:
        copy = copies.get()
        code, text = run_tests(copy, tests, programs) if tests else (0, "")
        copies.put(copy)
        return "" if code == 0 else text

    def fate(mutant: Mutant) -> Outcome:
        copy, start = copies.get(), time.monotonic()
        try:
            with edited(mutant, copy):
                code, _ = run_tests(copy, list(mutant.tests), programs)
        finally:
            copies.put(copy)
        word, seconds = killed_in_words(code), time.monotonic() - start
        print(f"{word:>10} {seconds:6.1f} s  {mutant.file}: {mutant.breaks}", flush=True)
        return Outcome(mutant, word, seconds)

    tests = sorted({test for mutant in mutants for test in mutant.tests})
    with ThreadPoolExecutor(PROCESSES) as pool:
        halves = [tests[number::PROCESSES] for number in range(PROCESSES)]
        faults = "\n".join(filter(None, pool.map(as_it_is, halves)))
        if faults:
            raise SystemExit(f"The tests must pass on the tree as it is, and do not:\n{faults}")
        print(f"{len(tests)} tests or files of tests pass on the tree as it is", flush=True)
        return list(pool.map(fate, mutants))


def table(outcomes: list[Outcome]) -> str:
    """The table as Markdown."""
    killed = sum(outcome.word == "killed" for outcome in outcomes)
    lines = ["| room | wrong edit | found |", "|---|---|---|"]
    for mutant, word, _ in outcomes:
        lines.append(f"| `{mutant.file}` | {mutant.breaks} | {word} |")
    minutes = sum(outcome.seconds for outcome in outcomes) / 60
    head = f"{killed} of {len(outcomes)} killed, in {minutes:.0f} minutes of two processes together"
    return "\n".join([f"{head}, by `make mutants`.", "", *lines])


def main(words: list[str]) -> int:
    """Run the mutants that `words` name, or all; 1 if any is not killed."""
    mutants = [
        mutant
        for mutant in MUTANTS
        if not words or any(word in f"{mutant.file} {mutant.breaks}" for word in words)
    ]
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    try:
        outcomes = hunt(mutants, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not words:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{table(outcomes)}\n{END}{rest.partition(END)[2]}")
    left = [outcome for outcome in outcomes if outcome.word != "killed"]
    print(f"{len(outcomes) - len(left)} of {len(outcomes)} killed")
    return bool(left)
