"""The command `pxsgmcmc demo`: two methods side by side on embedded data, in a few minutes."""

import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import tyro

from pxsgmcmc.cli.demo.crew import Failed, work_off
from pxsgmcmc.cli.demo.process import DIAGNOSE, EVALUATE, SAMPLE
from pxsgmcmc.cli.demo.under_way import DemoRun
from pxsgmcmc.errors import CorruptRun, Diverged, UserError, check_count
from pxsgmcmc.store import files, lock
from pxsgmcmc.store.layout import MANIFEST

METHODS = {"digits/sghmc": "SGHMC", "digits/px_sghmc": "PX-SGHMC"}
OUT, SEEDS, REPORT = "runs/demo", 2, "report.html"
_NEEDED = ("flax", "sklearn", "skimage", "mlxtend", "PIL", "matplotlib", "jinja2")
_MOST_AT_ONCE = 4  # each takes most of a gigabyte
_SHOWS_MORE = {SAMPLE: "show", EVALUATE: "evaluate", DIAGNOSE: "diagnose"}


def demo(
    out: Annotated[str, tyro.conf.arg(metavar="DIR")] = OUT,
    seeds: int = SEEDS,
    settings: Annotated[list[str], tyro.conf.Suppress] = [],  # noqa: B006 - never changed
) -> int:
    """See it work: SGHMC and PX-SGHMC on digits, compared in a table and a report.

    pxsgmcmc demo
    pxsgmcmc demo --seeds 4 --out runs/four

    Takes a few minutes on two cores and downloads nothing. Both methods take equally many steps,
    with settings from the same search; `pxsgmcmc config show digits/px_sghmc` prints them. However
    it was stopped, it goes on when called again, and what is done is not done again.

    Args:
      out: folder for the runs and report.html.
      seeds: runs of each method.
      settings: flags over both configurations.
    """
    check_count("seeds", seeds, at_least=1)
    _check_packages()
    _check_settings(settings)
    folder = Path(out)
    with _alone_in(folder):
        runs = [
            DemoRun(name, method, seed, folder, settings)
            for seed in range(seeds)
            for name, method in METHODS.items()
        ]
        code = _work(runs, folder)
    if code >= 128:
        again = ["--out", out] * (out != OUT) + ["--seeds", str(seeds)] * (seeds != SEEDS)
        print("Stopped; all that was done is kept. Go on with:")
        print(f"  {_spell(['demo', *again, *settings])}")
    if code:
        return code
    from pxsgmcmc.cli.compare import compare_runs

    compare_runs([str(run.folder) for run in runs])
    print("\n" + "\n".join(_how_to_open(folder / REPORT)))
    return 0


def _work(runs: list[DemoRun], folder: Path) -> int:
    """Do what is missing and write the page; returns the exit code."""
    from pxsgmcmc.cli.demo.display import Display

    config, todo = runs[0].config, [run for run in runs if run.todo]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    at_once = max(1, min(cores or 1, _MOST_AT_ONCE))
    with closing(Display(runs, at_once)) as display:
        display.say(
            f"{' and '.join(METHODS.values())} on {config.data.name}: "
            f"{config.chain.draws} draws of {config.chain.steps} steps a run, "
            f"{len(runs) // len(METHODS)} runs each"
        )
        if len(todo) < len(runs):
            display.say(f"{len(runs) - len(todo)} of {len(runs)} runs are done already")
        try:
            stopped = work_off([run.worker for run in todo], at_once, _looking(todo, display.look))
        except Failed as failure:
            run = next(run for run in todo if run.worker is failure.worker)
            display.close()
            return _fail(run, failure)
        if stopped is not None:
            return 128 + stopped
        display.say("Writing the report")
        _write_page(runs, folder / REPORT)
    return 0


def _looking(runs: list[DemoRun], show: Callable[[], None]) -> Callable[[], None]:
    def look() -> None:
        for run in runs:
            run.look()
        show()

    return look


def _check_packages() -> None:
    """Hear of it now, not after minutes of work."""
    absent = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        raise UserError(
            f"The demo needs the packages of the extra `all`, and {', '.join(absent)} cannot be "
            "found: pip install 'pxsgmcmc[all]'."
        )


def _check_settings(settings: list[str]) -> None:
    for flag in settings:
        if flag.partition("=")[0] in ("--seed", "--chains", "--threads"):
            raise UserError(
                f"`{flag}` is not for the demo to be told: it runs one chain for each of --seeds."
            )


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """See that no other demo works in the same folder."""
    if (folder / MANIFEST).exists():
        raise UserError(f"`{folder}` holds a run: give another folder with --out.")
    with files.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    lock.acquire(folder)
    try:
        yield
    finally:
        lock.release(folder)


def _fail(run: DemoRun, failure: Failed) -> int:
    """Pass on the sentence of a run that failed, with the command that shows more."""
    code, command = failure.code, _SHOWS_MORE.get(run.part, "show")
    more = f"`{_spell([command, str(run.folder)])}` shows more."
    kind = {2: UserError, 3: Diverged, 4: CorruptRun}.get(code)
    said = [line for line in failure.errors.splitlines() if line.startswith("pxsgmcmc: ")]
    if kind is not None and said:
        raise kind(f"{run.label}: {said[-1].removeprefix('pxsgmcmc: ')} {more}")
    sys.stderr.write(failure.errors)
    end = f"died of signal {-code}" if code < 0 else f"ended with exit code {code}"
    print(f"pxsgmcmc: {run.label} {end}; {more}", file=sys.stderr)
    return code if code > 0 else 1


def _write_page(runs: list[DemoRun], target: Path) -> None:
    from pxsgmcmc.cli.report import page_on

    title = f"{' and '.join(METHODS.values())} on {runs[0].config.data.name}"
    page = page_on([run.folder for run in runs], title)
    files.write_file(target.absolute(), page.encode())


def _how_to_open(page: Path) -> list[str]:
    programs = ("open", "xdg-open") if sys.platform == "darwin" else ("xdg-open",)
    program = next(filter(shutil.which, programs), None)
    command = [program] if program else [sys.executable, "-m", "webbrowser", "-t"]
    size = page.stat().st_size / 1e6
    return [
        f"{page}, {size:.2f} MB, has the figures and explains the words. Open it with",
        f"  {shlex.join([*command, str(page)])}",
        "or give a browser this address:",
        f"  {page.absolute().as_uri()}",
    ]


def _spell(arguments: list[str]) -> str:
    """The command as it can be typed, also where the environment is not activated."""
    script = Path(sys.executable).parent / "pxsgmcmc"
    found = shutil.which("pxsgmcmc") is None and script.exists()
    program = os.path.relpath(script) if found else "pxsgmcmc"
    return shlex.join([program, *arguments])
