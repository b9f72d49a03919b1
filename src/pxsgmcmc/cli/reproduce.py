"""The commands `pxsgmcmc reproduce ...`: tables and figures of the paper, beside its values."""

import shlex
from pathlib import Path
from typing import Annotated

import tyro

from pxsgmcmc.cli.opening import WholeNumber
from pxsgmcmc.cli.outputs import check_folder_target
from pxsgmcmc.cli.saying import say
from pxsgmcmc.cli.startup_checks import check_devices
from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.jobs.engines import engine_named
from pxsgmcmc.jobs.local import Local, cores
from pxsgmcmc.jobs.ray import Ray
from pxsgmcmc.jobs.slurm import Slurm
from pxsgmcmc.reproduce.catalogue import all_experiments, experiment_named
from pxsgmcmc.reproduce.estimate import check_patience, cost_lines, spelt, wall_seconds
from pxsgmcmc.reproduce.experiment import Experiment
from pxsgmcmc.reproduce.outcome import claims_markdown, claims_rows, in_columns, made_lines
from pxsgmcmc.reproduce.page_files import check_pages
from pxsgmcmc.reproduce.plan import Places, Planner, command_of, is_done
from pxsgmcmc.reproduce.running import check_data, make
from pxsgmcmc.reproduce.scale import SCALES, Scale, scale_named, sets_there
from pxsgmcmc.reproduce.settings_file import read_settings
from pxsgmcmc.reproduce.tables import Made, gather

RESULTS, RUNS, PAGES = "reproduce/results", "runs/reproduce", "runs/reproduce/pages"
SEARCHES, OUTCOMES = f"{RUNS}/search", "reproduce/search"
_USUAL = ("local", RESULTS, RUNS, PAGES, SEARCHES, OUTCOMES)
Folder = Annotated[str, tyro.conf.arg(metavar="DIR")]
Switch = Annotated[bool, tyro.conf.FlagCreatePairsOff]


def reproduce(
    name: Annotated[str, tyro.conf.arg(metavar="NAME")],
    scale: str = "desk",
    seeds: WholeNumber = None,
    engine: str = "local",
    at_once: WholeNumber = None,
    only: Annotated[str | None, tyro.conf.arg(metavar="METHOD")] = None,
    dry_run: Switch = False,
    yes: Switch = False,
    results: Folder = RESULTS,
    runs: Folder = RUNS,
    pages: Folder = PAGES,
) -> int:
    """Make a table or figure of the paper: our values beside the published ones, and verdicts.

    pxsgmcmc reproduce list
    pxsgmcmc reproduce table1
    pxsgmcmc reproduce table1 --scale laptop --seeds 4 --dry-run
    pxsgmcmc reproduce all --at-once 2

    However it was stopped, it goes on when called again, and no finished run is made twice: what is
    kept of each run is a small file below --results, named after its settings and its seed. Tables
    that need the same runs share them.

    Args:
      name: of the experiment, see `pxsgmcmc reproduce list`; all for all of them.
      scale: desk (minutes), laptop (hours, needs CIFAR-10) or paper (published size).
      seeds: of every method; 8 at the desk scale, otherwise 4.
      engine: where chains run: local (processes on this machine), slurm or ray (clusters; what
        follows the name are options). See docs/engines.md.
      at_once: runs at the same time; one for each core unless told, and 32 on a cluster.
      only: one method or row of the table; the others are left as they are.
      dry_run: list what would be run, and what it would cost.
      yes: start although it takes days.
      results: folder of what is kept of each run.
      runs: folder of run directories.
      pages: folder of the HTML pages.
    """
    places = {"results": results, "runs": runs, "pages": pages}
    check_places(**places)
    size = scale_named(scale)
    count = size.seeds if seeds is None else check_count("seeds", seeds, at_least=1)
    experiments = all_experiments(scale) if name == "all" else [_at(experiment_named(name), size)]
    machine = machine_for(engine, at_once)
    many = cores_of(machine)
    planner = planner_for(size, results, runs)
    experiments = _with_settings(experiments, planner, name)
    tasks = planner.tasks(experiments, range(count), only)
    seconds = wall_seconds(tasks, size, many)
    if dry_run:
        say("\n".join(cost_lines(tasks, size, seconds, many)))
        return 0
    todo = sum(not is_done(task) for task in tasks)
    check_pages([one.name for one in experiments], Path(pages) / scale)
    command = command_of(name, scale, count, only)
    check_patience(seconds, command, yes=yes)
    if todo:
        check_data(tasks)
        if any(task.config is None for task in tasks):
            check_devices()
        say(
            f"{todo} of {len(tasks)} runs to make, about {spelt(seconds)} on {many} cores of a "
            f"machine of its own, {size.cost.gigabytes * many:.1f} GB of memory",
            to_errors=True,
        )
        stopped_by = make(tasks, machine, title=name, command=command, scale=scale)
        if stopped_by is not None:
            return say_stopped(stopped_by, command, engine=engine, **places)
    made = [gather(experiment, planner) for experiment in experiments]
    for one in made:
        say("\n".join(made_lines(one)) + "\n")
    _write_pages(made, Path(pages))
    return 0


def list_experiments() -> None:
    """The experiments that can be made, with what they are about and where.

    pxsgmcmc reproduce list
    """
    rows = [[one.name, "/".join(one.scales), one.title] for one in all_experiments()]
    say("\n".join(in_columns(rows)))


def claims(results: Folder = RESULTS, markdown: Switch = False) -> None:
    """The 26 claims of the paper, with the verdict at each scale.

    pxsgmcmc reproduce claims
    pxsgmcmc reproduce claims --markdown > claims.md

    A claim holds if every part of it has the right direction with corrected p < 0.05 over seeds; it
    does not hold if any part has the wrong direction with p < 0.05; else it cannot be told.

    Args:
      results: folder of what is kept of each run.
      markdown: print a page, with the numbers of every part that is told from chance.
    """
    if not Path(results).is_dir():
        raise UserError(f"`--results` must be a folder, as in a checkout, got `{results}`.")
    verdicts, commands = {}, {}
    for scale in SCALES.values():
        planner = planner_for(scale, results, RUNS, look_for_sets=False)
        verdicts[scale.name] = {}
        for experiment in all_experiments(scale.name):
            judged = gather(experiment, planner).verdicts
            verdicts[scale.name] |= judged
            commands |= dict.fromkeys(judged, f"pxsgmcmc reproduce {experiment.name}")
    if markdown:
        say(claims_markdown(verdicts, commands))
        return
    for id, text, place, *cells in claims_rows(verdicts):
        say(f"{id} ({place}): {text}")
        for scale, cell in zip(verdicts, cells, strict=True):
            say(f"  {scale.ljust(6)}  {cell}")
        if id in commands:
            say(f"  command {commands[id]}")


def check_places(**folders: str) -> None:
    """Refuse folders that cannot be written, by the option that names them."""
    for option, folder in folders.items():
        check_folder_target(folder, f"--{option}", may_exist=True)


def machine_for(engine: str, at_once: int | None) -> Local | Slurm | Ray:
    """The engine that was named, with so many jobs at the same time."""
    if at_once is not None:
        check_count("at-once", at_once, at_least=1)
    return engine_named(engine, at_once)


def cores_of(machine: Local | Slurm | Ray) -> int:
    """How many jobs really run at the same time."""
    return min(machine.at_once, len(cores())) if isinstance(machine, Local) else machine.at_once


def say_stopped(signal: int, command: str, **flags: str) -> int:
    """Say how to go on; returns the exit code."""
    more = [f" --{name} {shlex.quote(word)}" for name, word in flags.items() if word not in _USUAL]
    say(f"Stopped; all that was done is kept. Go on with:\n  {command}{''.join(more)}")
    return 128 + signal


def _at(experiment: Experiment, scale: Scale) -> Experiment:
    if scale.name not in experiment.scales:
        raise UserError(
            f"{experiment.name!r} cannot be made at the {scale.name} scale, only at "
            f"{' and '.join(experiment.scales)}."
        )
    return experiment


def planner_for(scale: Scale, results: str, runs: str, *, look_for_sets: bool = True) -> Planner:
    """The planner of a scale, with the settings in the package."""
    sets = sets_there(scale) if look_for_sets else {}
    return Planner(scale, read_settings(scale.name), Places(Path(results), Path(runs)), sets)


def _with_settings(experiments: list[Experiment], planner: Planner, name: str) -> list[Experiment]:
    """Of all experiments, those whose methods have settings; a single one fails where it lacks."""
    if name != "all":
        return experiments
    ready, lacking = [], []
    for one in experiments:
        known = all(map(planner.has_settings, one.arms(planner.scale)))
        (ready if known else lacking).append(one)
    if lacking:
        names = ", ".join(one.name for one in lacking)
        say(
            f"Left out, since some of their methods have no settings yet: {names}; see `pxsgmcmc "
            f"reproduce search --scale {planner.scale.name}`.",
            to_errors=True,
        )
    return ready


def _write_pages(made: list[Made], folder: Path) -> None:
    try:
        from pxsgmcmc.reproduce.pages import write_pages
    except ModuleNotFoundError as error:
        raise UserError("Pages need the extra `report`: pip install 'pxsgmcmc[report]'.") from error
    for path in write_pages(made, folder):
        say(f"{path}, {path.stat().st_size / 1e6:.2f} MB")
