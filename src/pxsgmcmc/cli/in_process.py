"""Chains that run in the process of the command itself: one, or several side by side."""

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pxsgmcmc.cli.leaving import BEFORE, ended_by_signals
from pxsgmcmc.cli.saying import say
from pxsgmcmc.cli.startup_checks import check_devices, check_single_precision
from pxsgmcmc.config import Config
from pxsgmcmc.store.chains import CHAINS
from pxsgmcmc.store.layout import MANIFEST

if TYPE_CHECKING:
    from pxsgmcmc.run import Run


def run_one(
    config: Config,
    folder: Path,
    *,
    chain: int = 0,
    resume: bool = False,
    accept_changes: bool = False,
    prints: bool = True,
) -> int:
    """Run one chain in this process and say how it ended; returns the exit code."""
    _set_threads(config)
    go_on = f"go on with:\n  pxsgmcmc resume {shlex.quote(str(folder))}"
    begun = f"Interrupted; {go_on}\n"
    with ended_by_signals(lambda: begun if (folder / MANIFEST).exists() else BEFORE):
        from pxsgmcmc.config.run_config import run_config

        check_devices()
        check_single_precision()
        made = run_config(config, folder, chain=chain, resume=resume, accept_changes=accept_changes)
    if not prints:  # the first of several processes says it
        return 0 if made.stopped_by is None else 128 + made.stopped_by
    return _say_how_it_ended(made, config.chain.draws, go_on)


def run_side_by_side(config: Config, folder: Path, *, resume: bool, accept_changes: bool) -> int:
    """Run all chains in this process and say how they ended; returns the exit code."""
    from pxsgmcmc.jobs.chains import begin_chains

    _set_threads(config)
    go_on = f"go on with:\n  pxsgmcmc resume {shlex.quote(str(folder))}"
    begun = f"Interrupted; {go_on}\n"
    with ended_by_signals(lambda: begun if (folder / CHAINS).exists() else BEFORE):
        from pxsgmcmc.config import run_config

        check_devices()
        check_single_precision()
        config, text = begin_chains(config, folder, resume=resume)
        made = run_config.run_side_by_side(
            config, folder, text, resume=resume, accept_changes=accept_changes
        )
    return _say_how_it_ended(made, config.chain.draws * config.chains, go_on)


def _set_threads(config: Config) -> None:
    if "jax" not in sys.modules:  # it reads this when it starts
        os.environ["PJRT_NPROC"] = str(config.threads)


def _say_how_it_ended(made: "Run", draws: int, go_on: str) -> int:
    """Of chains that ran in this process; returns the exit code."""
    if made.stopped_by is not None:
        say(f"Stopped with {len(made)} of {draws} draws kept; {go_on}")
        return 128 + made.stopped_by
    say(f"{made.summary}; {made.verdict.headline}")
    for warning in made.verdict.warnings:
        say(f"  {warning}")
    return 0
