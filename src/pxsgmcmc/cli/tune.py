"""The command `pxsgmcmc tune`: settings found on the validation rows."""

import re
import shlex
import signal
from pathlib import Path
from typing import Annotated

import tyro

from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.cli.leaving import ended_by_signals
from pxsgmcmc.cli.opening import WholeNumber
from pxsgmcmc.cli.saying import say
from pxsgmcmc.cli.startup_checks import check_devices, check_single_precision
from pxsgmcmc.errors import UserError
from pxsgmcmc.results import Tuning

SHOWN = 5  # trials of a kind in the table at the end
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def tune_config(
    config: Annotated[str, tyro.conf.arg(metavar="CONFIG")],
    trials: WholeNumber = None,
    budget: Annotated[str | None, tyro.conf.arg(metavar="TIME")] = None,
    space: Annotated[list[str], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="SETTING")] = [],  # noqa: B006 - never changed
    search: str = "auto",
    engine: str = "local",
    at_once: WholeNumber = None,
    out: Annotated[str | None, tyro.conf.arg(metavar="DIR")] = None,
    settings: Annotated[list[str], tyro.conf.Suppress] = [],  # noqa: B006 - never changed
) -> int:
    """Find step size, friction and prior variance on the validation rows; test rows are not read.

    pxsgmcmc tune digits/px_sghmc --budget 30m
    pxsgmcmc tune my.toml --trials 12 --out runs/my-tune
    pxsgmcmc tune my.toml --space prior.variance=0.01:1 --space sampler.temperature
    pxsgmcmc run runs/my-tune/best.toml

    Begins at what the pilot recommends. A trial is a run directory, scored by the NLL of the
    average of its draws; the best third is made longer, and longer again. A chain that is too hot,
    has not settled or diverged cannot win. Writes best.toml (runs as it is), trials.json,
    trials.csv and tune.html. However it was stopped, the same command goes on, and with more
    --trials or a larger --budget it goes on from its end.

    Args:
      config: a TOML file, or the name of a bundled configuration.
      trials: settings to try; 24 if no budget is given.
      budget: time that the search may take, as in 90s, 30m or 1h30m.
      space: a setting to search as well, with its bounds if they are to be others: NAME,
        NAME=LOW:HIGH, or NAME=VALUE to keep it there. Can be given several times; a section
        [tune.space] of the configuration says the same.
      search: tpe (needs Optuna), best-first (built in, all trials of equal length), or auto.
      engine: where trials run: local (processes on this machine), slurm or ray (clusters; what
        follows the name are options). See docs/engines.md.
      at_once: trials that run at the same time; as many as there are cores if not given, and 32 on
        a cluster.
      out: folder of the search; runs/NAME-tune if not given.
      settings: flags over the configuration.
    """
    from pxsgmcmc.jobs.engines import engine_named
    from pxsgmcmc.store.targets import check_own_folder
    from pxsgmcmc.tuning.space import from_flags
    from pxsgmcmc.tuning.trial_book import TRIALS

    seconds = None if budget is None else parse_time(budget)
    ranges, chosen_engine = from_flags(space), engine_named(engine, at_once)
    chosen = load_config(config, settings)
    folder = Path(out) if out is not None else Path("runs") / f"{Path(config).stem}-tune"
    check_own_folder(folder, "--out", "an earlier search", sign=TRIALS)

    places = _flags(engine=engine if engine != "local" else None)
    places += ["--at-once", str(at_once)] if at_once is not None else []
    places += _flags(out=out)
    again = [config, *_flags(trials=trials, budget=budget, search=search), *places]
    again += [word for setting in space for word in ("--space", setting)]
    go_on = f"go on with:\n  pxsgmcmc tune {shlex.join([*again, *settings])}"
    kept = f"Stopped, and everything kept; {go_on}"
    before = "Interrupted before the search began"
    with ended_by_signals(lambda: f"{kept if (folder / TRIALS).exists() else before}\n"):
        check_devices()
        check_single_precision()
        from pxsgmcmc.tuning.tune import tune

        try:
            outcome = tune(
                chosen,
                space=ranges,
                trials=trials,
                budget=seconds,
                search=search,
                engine=chosen_engine,
                out=folder,
            )
        except KeyboardInterrupt:  # the second Ctrl-C, while trials were being saved
            say(kept)
            return 128 + signal.SIGINT
    _print_table(outcome.tuning)
    for note in outcome.tuning.notes:
        say(f"  {note}")
    if outcome.stopped_by is not None:
        say(f"Stopped with {len(outcome.tuning.trials)} trials, all kept; {go_on}")
        return 128 + outcome.stopped_by
    say(f"{folder / 'tune.html'} has the figures, {folder / 'trials.csv'} all trials")
    if outcome.best is None:
        return 3
    say(f"Run the chosen settings with:\n  pxsgmcmc run {shlex.quote(str(folder / 'best.toml'))}")
    return 0


def parse_time(text: str) -> float:
    """Seconds in a time such as 90s, 30m or 1h30m.

    Example:
      >>> parse_time("90s"), parse_time("1h30m"), parse_time("45")
      (90.0, 5400.0, 45.0)
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        raise UserError(f"`--budget` must be a time such as 90s, 30m or 1h30m, got {text!r}.")
    return sum(float(number) * _UNITS[unit or "s"] for number, unit in parts)


def _flags(**given: object) -> list[str]:
    """What was typed, without what is usual."""
    return [
        word
        for name, value in given.items()
        if value not in (None, "auto")
        for word in (f"--{name}", str(value))
    ]


def _print_table(tuning: Tuning) -> None:
    """The trials that got furthest, the chosen one marked, then those without a score."""
    names = [place.name for place in tuning.ranges]
    lost = [t for t in tuning.trials if tuning.state_of(t) in ("diverged", "no score")]
    scored = [t for t in tuning.trials if t.scores and t not in lost]
    scored.sort(key=lambda trial: (-len(trial.scores), trial.scores[-1].nll or 0.0))
    rows = [["trial", "NLL", *(name.partition(".")[2] for name in names), "draws", "state"]]
    for trial in (*scored[:SHOWN], *lost[:SHOWN]):
        mark = "* " if trial.number == tuning.chosen else ""
        values = [f"{trial.settings[name]:g}" for name in names]
        last = trial.scores[-1] if trial not in lost else None
        score = ["-", "-"] if last is None else [f"{last.nll:.4f}", str(last.draws)]
        row = [f"{mark}{trial.number}", score[0], *values, score[1], tuning.state_of(trial)]
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        say("  ".join([*map(str.rjust, row[:-1], widths), row[-1]]))
    if tuning.best is not None and tuning.best.verdict is not None:
        say(f"Chosen: trial {tuning.best.number}; {tuning.best.verdict.headline}")
