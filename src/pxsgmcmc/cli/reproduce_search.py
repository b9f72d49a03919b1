"""The command `pxsgmcmc reproduce search`: settings of all methods, with equal effort."""

from pathlib import Path

from pxsgmcmc.cli.opening import WholeNumber
from pxsgmcmc.cli.reproduce import (
    OUTCOMES,
    SEARCHES,
    Folder,
    Switch,
    check_places,
    cores_of,
    machine_for,
    say_stopped,
)
from pxsgmcmc.cli.saying import say
from pxsgmcmc.errors import UserError, did_you_mean
from pxsgmcmc.reproduce.estimate import spelt
from pxsgmcmc.reproduce.running import check_sets
from pxsgmcmc.reproduce.scale import scale_named
from pxsgmcmc.reproduce.settings_file import read_settings


def search(
    scale: str = "desk",
    methods: str = "table1",
    engine: str = "local",
    at_once: WholeNumber = None,
    dry_run: Switch = False,
    runs: Folder = SEARCHES,
    outcomes: Folder = OUTCOMES,
) -> int:
    """Search the settings of all methods at a scale, with equal effort, on validation rows.

    pxsgmcmc reproduce search --scale desk
    pxsgmcmc reproduce search --scale desk --methods samplers

    The outcome replaces the settings in the package's file for the scale, with this command beside
    it. A search that was stopped goes on.

    Args:
      scale: desk or laptop; at the paper's size its own settings are used.
      methods: table1 for the seven methods of Table 1, samplers for expansion under the others as
        well, l2e for the learned sampler without and with expansion.
      engine: where trials run, as for `pxsgmcmc reproduce`.
      at_once: trials at the same time; one for each core unless told, and 32 on a cluster.
      dry_run: say how many chains there may be, and what they would cost.
      runs: folder of the trials.
      outcomes: folder of the file of all outcomes, from which a search goes on anywhere.
    """
    from pxsgmcmc.reproduce.methods import GROUPS
    from pxsgmcmc.reproduce.searches import book_of, find_settings, seconds_left

    check_places(runs=runs, outcomes=outcomes)
    size = scale_named(scale)
    if size.name == "paper":
        raise UserError("`--scale` must be desk or laptop: the paper's own settings are used.")
    if methods not in GROUPS:
        raise UserError(f"`--methods` cannot be {methods!r}; {did_you_mean(methods, GROUPS)}")
    command = f"pxsgmcmc reproduce search --scale {scale} --methods {methods}"
    machine = machine_for(engine, at_once)
    book = book_of(size, methods, Path(outcomes))
    check_sets([book.study.load(method, []) for method in GROUPS[methods]])
    many = cores_of(machine)
    most, made = book.study.rules.most * len(GROUPS[methods]), len(book.trials)
    left = f"; the others take about {spelt(seconds_left(book, size) / many)} on {many} cores"
    say(
        f"{made} of at most {most} chains are made{left if made < most else ''}",
        to_errors=not dry_run,
    )
    if dry_run:
        return 0
    stopped_by = find_settings(size, methods, machine, Path(runs), Path(outcomes), command)
    for method, entry in read_settings(scale).items():
        values = ", ".join(f"{key} {value:g}" for key, value in entry.settings.items())
        say(f"{method}: {values} ({entry.made_by})")
    if stopped_by is not None:
        return say_stopped(stopped_by, command, engine=engine, runs=runs, outcomes=outcomes)
    return 0
