"""Chains that run in the process of the command itself: one, or several side by side."""

import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pxsgmcmc.cli.saying import say
from pxsgmcmc.cli.startup_checks import check_devices, check_single_precision
from pxsgmcmc.config import Config
from pxsgmcmc.store.chains import CHAINS
from pxsgmcmc.store.layout import MANIFEST

if TYPE_CHECKING:
    from pxsgmcmc.run import Run

BEFORE = "Interrupted before the run began\n"


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
    with _ended_by_signals(lambda: begun if (folder / MANIFEST).exists() else BEFORE):
        from pxsgmcmc.config.run_config import run_config

        check_devices()
        check_single_precision()
        made = run_config(config, folder, chain=chain, resume=resume, accept_changes=accept_changes)
    if not prints:  # the first of several processes says it
        return 0 if made.stopped_by is None else 128 + made.stopped_by
    return _say_how_it_ended(made, config.chain.draws, go_on)


@contextmanager
def _ended_by_signals(message: Callable[[], str]) -> Iterator[None]:
    """Let signals end the process at once while the chain does not listen itself.

    An exception raised by a handler can be lost: a library that is being imported, or code called
    from C, may swallow it, and the run would go on. Nothing is lost by leaving on the spot: the
    store is made for it, and takes over the lock of a process that is gone.
    """

    def leave(number: int, frame: object) -> None:
        os.write(1, message().encode())  # `print` may be what was interrupted
        os._exit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # The names in `chain.graceful_stop`, which cannot be imported yet: JAX would come with it.
    numbers = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]
    before = {
        number: signal.signal(number, leave)
        for number in numbers
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN  # as under nohup
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_side_by_side(config: Config, folder: Path, *, resume: bool, accept_changes: bool) -> int:
    """Run all chains in this process and say how they ended; returns the exit code."""
    from pxsgmcmc.jobs.chains import begin_chains

    _set_threads(config)
    go_on = f"go on with:\n  pxsgmcmc resume {shlex.quote(str(folder))}"
    begun = f"Interrupted; {go_on}\n"
    with _ended_by_signals(lambda: begun if (folder / CHAINS).exists() else BEFORE):
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
