"""The commands `pxsgmcmc run` and `pxsgmcmc resume`."""

import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import tyro

from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.cli.parallel import run_chains
from pxsgmcmc.config import Config, parse_config, read_config, started_from_python
from pxsgmcmc.errors import UserError
from pxsgmcmc.store.layout import CONFIG, MANIFEST, chain_folders

BEFORE = "Interrupted before the run began\n"


def run(
    config: Annotated[str, tyro.conf.arg(metavar="CONFIG")],
    out: Annotated[str | None, tyro.conf.arg(metavar="DIR")] = None,
    resume: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    settings: Annotated[list[str], tyro.conf.Suppress] = [],  # noqa: B006 - never changed
) -> int:
    """Run a configuration: sample, keep draws, survive.

    pxsgmcmc run digits/px_sghmc
    pxsgmcmc run my.toml --out runs/mine --seed 1
    pxsgmcmc run my.toml --chain.draws 10 --sampler.temperature 0.1 --chains 4

    Any setting of the configuration can be given as --section.key value; `pxsgmcmc config check`
    prints them all. Ctrl-C or SIGTERM stops after the current chunk with everything saved, and
    `pxsgmcmc resume` goes on as if nothing had happened.

    Args:
      config: a TOML file, or the name of a bundled configuration.
      out: run directory to make; runs/NAME if not given.
      resume: go on with the run in it, if there is one.
      settings: flags over the configuration.
    """
    chosen = load_config(config, settings)
    folder = Path(out) if out is not None else Path("runs") / Path(config).stem
    if (folder / MANIFEST).exists() and not resume:
        raise UserError(
            f"`{folder}` already holds a run: go on with --resume, or choose another directory "
            "with --out."
        )
    if chosen.chains > 1:
        return _many(chosen, folder, resume)
    return run_one(chosen, folder, resume=resume)


def resume(directory: Annotated[str, tyro.conf.arg(metavar="DIR")]) -> int:
    """Go on with a run that was stopped, killed or lost its machine.

    pxsgmcmc resume runs/mine

    The draws are those the run would have made without the stop, bit for bit.

    Args:
      directory: of the run, as given to `pxsgmcmc run --out`.
    """
    from pxsgmcmc.store import open_run

    folder = Path(directory)
    if chain_folders(folder):
        return _many(read_config(folder / CONFIG), folder, resume=True)
    stored = open_run(folder)
    if started_from_python(stored.config):
        raise UserError(
            f"`{folder}` was started from Python: go on with `sample(..., out={str(folder)!r}, "
            "resume=True)` and the same arguments."
        )
    config = parse_config(stored.config, name=f"{folder}/config.toml")
    if stored.status == "done":
        print(f"{folder} is done, with {len(stored.draws)} draws")
        return 0
    return run_one(config, folder, chain=stored.manifest["origin"]["chain"], resume=True)


def run_one(
    config: Config,
    folder: Path,
    *,
    chain: int = 0,
    resume: bool = False,
    progress: bool | Literal["plain"] = True,
) -> int:
    """Run one chain in this process and say how it ended; returns the exit code."""
    if "jax" not in sys.modules:  # it reads this when it starts
        os.environ["PJRT_NPROC"] = str(config.threads)
    go_on = f"go on with:\n  pxsgmcmc resume {shlex.quote(str(folder))}"
    begun = f"Interrupted; {go_on}\n"
    with _ended_by_signals(lambda: begun if (folder / MANIFEST).exists() else BEFORE):
        from pxsgmcmc.experiment import run_chain

        samples = run_chain(config, folder, chain=chain, resume=resume, progress=progress)
    if samples.stopped_by is not None:
        print(f"Stopped with {len(samples)} of {config.chain.draws} draws kept; {go_on}")
        return 128 + samples.stopped_by
    print(f"{len(samples)} draws in {folder}")
    return 0


@contextmanager
def _ended_by_signals(message: Callable[[], str]) -> Iterator[None]:
    """Let SIGTERM and Ctrl-C end the process at once while the chain does not listen itself.

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
    before = {number: signal.signal(number, leave) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _many(config: Config, folder: Path, resume: bool) -> int:
    done = run_chains(config, folder, resume=resume)
    print(f"{config.chains} chains in {folder}: {done.summary}")
    if done.code >= 128:
        print(f"go on with:\n  pxsgmcmc resume {shlex.quote(str(folder))}")
    return done.code
