"""The command `pxsgmcmc demo`: two methods side by side on embedded data, in a few minutes."""

import importlib.util
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import tyro

from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.cli.outputs import check_folder_target
from pxsgmcmc.cli.saying import say
from pxsgmcmc.config import write_config
from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.jobs import DIAGNOSE, EVALUATE, SAMPLE, Ended, Job, JobFailed, Local
from pxsgmcmc.jobs.display import Display
from pxsgmcmc.jobs.local import cores
from pxsgmcmc.store import files, lock, open_run
from pxsgmcmc.store.layout import MANIFEST

METHODS = {"digits/sghmc": "SGHMC", "digits/px_sghmc": "PX-SGHMC"}
OUT, SEEDS, REPORT = "runs/demo", 2, "report.html"
_NEEDED = ("flax", "sklearn", "skimage", "mlxtend", "PIL", "matplotlib", "jinja2")
_RUN = re.compile(r"(px_)?sghmc-[0-9]+")
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
        jobs = [demo_job(name, seed, folder, settings) for seed in range(seeds) for name in METHODS]
        code = _work(jobs)
        if not code:
            _write_page(jobs, folder / REPORT)
    if code >= 128:
        again = ["--out", out] * (out != OUT) + ["--seeds", str(seeds)] * (seeds != SEEDS)
        say("Stopped; all that was done is kept. Go on with:")
        say(f"  {_spell(['demo', *again, *settings])}")
    if code:
        return code
    _say_what_came_of_it(jobs, folder / REPORT)
    return 0


def demo_job(name: str, seed: int, folder: Path, settings: list[str]) -> Job:
    """One run of the demo; refused if its folder holds another one.

    Args:
      name: of its configuration, a key of `METHODS`.
      seed: of the run; the first is also diagnosed.
      folder: of the demo.
      settings: flags over the configuration.
    """
    # One thread a chain, since several chains share the machine. Draws depend on that.
    config = write_config(load_config(name, [*settings, "--seed", str(seed), "--threads", "1"]))
    place = folder / f"{Path(name).name}-{seed}"
    if (place / MANIFEST).exists() and open_run(place).config != config:
        raise UserError(
            f"`{place}` holds a run with other settings: remove it, or give another folder with "
            "--out."
        )
    stages = (SAMPLE, EVALUATE, DIAGNOSE) if seed == 0 else (SAMPLE, EVALUATE)
    return Job(config, str(place), f"{METHODS[name]}, seed {seed}", stages=stages)


def _work(jobs: list[Job]) -> int:
    """Do what is missing; returns the exit code."""
    config = jobs[0].settings()
    assert config.data is not None

    def on_end(job: Job, ended: Ended) -> None:
        if ended.code and ended.code < 128:
            raise JobFailed(job, ended)

    with closing(Display("demo", jobs, on_end)) as display:
        todo = display.todo
        display.announce(
            f"{' and '.join(METHODS.values())} on {config.data.name}: {config.chain.draws} draws "
            f"of {config.chain.cycle_length} steps a run, {len(jobs) // len(METHODS)} runs each"
        )
        if len(todo) < len(jobs):
            display.announce(f"{len(jobs) - len(todo)} of {len(jobs)} runs are done already")
        try:
            stopped_by = Local(min(len(cores()), _MOST_AT_ONCE)).run(todo, display)
        except JobFailed as failure:
            display.close()
            return _fail(failure, display.rows[failure.job].stage or SAMPLE)
        if not stopped_by and not display.todo:
            display.announce("Writing the report")
            return 0
    return 128 + (stopped_by or 15)  # somebody stopped one of them, which stops the demo


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
    _check_folder(folder)
    with files.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with lock.acquire(folder, say=say):
        yield


def _check_folder(folder: Path) -> None:
    """Refuse a folder with anything but an earlier demo in it."""
    check_folder_target(str(folder), "--out", may_exist=True)
    names = set(os.listdir(folder)) if folder.is_dir() else set()
    runs = {name for name in names if _RUN.fullmatch(name) and (folder / name).is_dir()}
    ours = runs | {lock.LOCK, lock.LOCK + files.PART}
    if runs:
        ours |= {REPORT, REPORT + files.PART}
    if strangers := names - ours:
        raise UserError(
            f"`--out` must be a new or empty folder, or one with an earlier demo, but `{folder}` "
            f"has {min(strangers)!r}: name another."
        )


def _fail(failure: JobFailed, stage: str) -> int:
    """Pass on the sentence of a run that failed, with the command that shows more."""
    job, ended = failure.job, failure.ended
    more = f"`{_spell([_SHOWS_MORE[stage], job.folder])}` shows more."
    error = failure.as_error(more)
    if error is not failure:
        raise error
    say(ended.errors, end="", to_errors=True)
    say(f"pxsgmcmc: {job.label} {ended.how}; {more}", to_errors=True)
    return ended.code if ended.code > 0 else 1


def _write_page(jobs: list[Job], target: Path) -> None:
    from pxsgmcmc.config.opening import open_any
    from pxsgmcmc.evaluate.report import page_on

    runs = [open_any(job.folder) for job in jobs]
    title = f"{' and '.join(METHODS.values())} on digits"
    files.write_file(target.absolute(), page_on(runs, title).encode())


def _say_what_came_of_it(jobs: list[Job], page: Path) -> None:
    from pxsgmcmc.cli.compare import compare_runs
    from pxsgmcmc.evaluate.read_results import read_results

    compare_runs([job.folder for job in jobs])
    say()
    for job in jobs:
        verdict = read_results(job.folder).verdict
        assert verdict is not None
        say(f"{job.label}: {verdict.headline}")
        for warning in verdict.warnings:
            say(f"  {warning}")
    say("\n" + "\n".join(_how_to_open(page)))


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
    beside_python = shutil.which("pxsgmcmc") is None and script.exists()
    program = os.path.relpath(script) if beside_python else "pxsgmcmc"
    return shlex.join([program, *arguments])
