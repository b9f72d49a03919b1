"""The search for the settings of all methods at a scale: the same rules and effort for each.

Every trial is a chain, of the scale's own length at the desk and of 2,000 steps at the laptop. It
is scored by the NLL of the average of all its draws on the validation rows. At the desk one that is
not healthy cannot win while a healthy one exists; at the laptop no chain settles in so few steps,
from the smallest step size to the largest, and the score alone decides. Its seeds are not those of
the runs that are reported.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pxsgmcmc.config import Config
from pxsgmcmc.jobs import Engine
from pxsgmcmc.reproduce.estimate import chain_seconds
from pxsgmcmc.reproduce.methods import GROUPS, METHODS
from pxsgmcmc.reproduce.scale import Scale
from pxsgmcmc.reproduce.settings_file import Chosen, read_settings, settings_path, write_settings
from pxsgmcmc.store.files import make_folders, write_file
from pxsgmcmc.tuning.best_first import Rules
from pxsgmcmc.tuning.search import Book, Study, search

SEEDS = (1000, 1001)
MOST = {"desk": 14, "laptop": 8}  # chains a method may use
FIRST = ("SGHMC", "PX-SGHMC")  # five tables and figures need no others
_KEPT = (
    "validation_nll",
    "mean",
    "healthy",
    "settled",
    "over",
    "chains",
    "points",
    "inside",
    "tried",
)
# Where a whole chain takes long, trials are shorter: too short to settle.
_SHORT: dict[str, dict[str, Any]] = {
    "laptop": {"chain.burn_in": 1000, "chain.draws": 4, "chain.cycle_length": 250},
}


def study_of(scale: Scale, methods: Sequence[str]) -> Study:
    """What is searched: the axes of these methods."""

    def load(method: str, flags: list[str]) -> Config:
        settings: dict[str, Any] = dict(METHODS[method].settings_at(scale.name))
        settings |= _SHORT.get(scale.name, {}) | _one_member(scale, method)
        settings |= {"evaluate.corruptions": False, "evaluate.shifts": ()}
        settings |= {"evaluate.out_of_distribution": ()}
        # Before the flags of a trial put the searched values in, the centre of the grid stands.
        settings |= {axis.name: axis.centre for axis in METHODS[method].axes_at(scale.name)}
        pairs = zip(flags[::2], flags[1::2], strict=True)
        settings |= {flag.removeprefix("--"): _number(text) for flag, text in pairs}
        return scale.config(settings)

    axes = {m: METHODS[m].axes_at(scale.name) for m in methods}
    rules = Rules(axes, SEEDS, MOST[scale.name])
    health_first = scale.name not in _SHORT
    return Study({m: m for m in methods}, rules, load, health_first=health_first)


def _one_member(scale: Scale, method: str) -> dict[str, Any]:
    members = METHODS[method].settings.get("chains", 1)
    if members == 1:
        return {}
    chain = scale.config({"sampler.name": "sgd", "sampler.step_size": 1.0}).chain
    steps = (chain.burn_in + chain.draws * chain.cycle_length) // members
    return {"chains": 1, "chain.draws": 1, "chain.burn_in": 0, "chain.cycle_length": steps}


def _number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        return float(text)


def seconds_left(book: Book, scale: Scale) -> float:
    """Processor seconds of the chains that a search may still make, on one core of a CPU."""
    study = book.study
    made = Counter(chain.method for chain in book.trials)
    return sum(
        chain_seconds(study.load(method, []), scale) * max(0, study.rules.most - made[method])
        for method in study.rules.axes
    )


def book_of(scale: Scale, group: str, outcomes: Path) -> Book:
    """What is known of a search, from its file."""
    return Book(study_of(scale, GROUPS[group]), outcomes / f"{scale.name}-{group}.json")


def find_settings(
    scale: Scale, group: str, engine: Engine, runs: Path, outcomes: Path, command: str
) -> int | None:
    """Search, and write the outcome to the scale's settings.

    Those that most tables need come first, then all in one go: who settles first goes on with its
    runners-up until all have used equally many chains.

    Args:
      scale: the size.
      group: of methods that are searched together, a key of `GROUPS`.
      engine: that runs the trials.
      runs: folder of their run directories.
      outcomes: folder of the file of all outcomes, from which a search goes on anywhere.
      command: to be kept with the settings.

    Returns:
      The number of the signal that stopped it, None if it is over.
    """
    for folder in (runs, outcomes):
        make_folders(folder)
    book = book_of(scale, group, outcomes)
    first = [method for method in GROUPS[group] if method in FIRST]
    for methods in filter(None, (first, GROUPS[group])):
        stopped_by = search(book, engine, runs / scale.name, methods=methods)
        book.save()
        _keep(book, scale, command)
        if stopped_by is not None:
            return stopped_by
    return None


def _keep(book: Book, scale: Scale, command: str) -> None:
    """Write what leads to the settings of the scale."""
    if not (chosen := book.chosen()):
        return
    settings = read_settings(scale.name)
    for method, choice in chosen.items():
        outcome = {key: choice[key] for key in _KEPT}
        by = command if choice["over"] else f"{command}, which is not over yet"
        settings[method] = Chosen(choice["settings"], by, outcome)
    write_file(settings_path(scale.name), write_settings(scale.name, settings))
