"""Several chains on one machine: a process each, so that none can touch another.

    OUT/config.toml        what all chains run
    OUT/chain-0000/ ...    a run directory each, with its own stream of randomness

A chain that dies of a signal is resumed, a few times; the others do not notice. The cores are dealt
out, since two chains that fight for the same ones are slower than two that do not. If this process
is killed itself, the chains go on without it.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from pxsgmcmc.config import Config, read_config, write_config
from pxsgmcmc.errors import UserError
from pxsgmcmc.store import files
from pxsgmcmc.store.layout import CONFIG, chain_folder

MOST_DEATHS = 3  # of one chain, before it is given up
_WORDS = {0: "done", 2: "input", 3: "diverged", 4: "damaged"}


class Outcome(NamedTuple):
    """How several chains ended."""

    code: int  # exit code of the whole
    summary: str


def run_chains(config: Config, folder: Path, *, resume: bool) -> Outcome:
    """Run all chains to their end, or until a signal."""
    from pxsgmcmc.chain.stop import StopWish

    _claim(config, folder, resume)
    chains = config.chains
    with StopWish() as wish:
        running = {chain: _start(folder, chain, chains) for chain in range(chains)}
        ended: dict[int, int] = {}
        deaths = dict.fromkeys(running, 0)
        told = False
        while running:
            if wish.signal is not None and not told:
                told = True
                for process in running.values():
                    process.send_signal(signal.SIGTERM)
            for chain, process in list(running.items()):
                code = process.poll()
                if code is None:
                    continue
                del running[chain]
                if code < 0 and not told and deaths[chain] < MOST_DEATHS:
                    deaths[chain] += 1
                    print(f"chain {chain} died of signal {-code}; resuming it", file=sys.stderr)
                    running[chain] = _start(folder, chain, chains)
                else:
                    ended[chain] = code
            time.sleep(0.05)
    return _outcome(list(ended.values()), wish.signal)


def _outcome(codes: list[int], stopped_by: int | None) -> Outcome:
    """A chain that failed counts most, then one that was stopped."""
    words = [_WORDS.get(code, "stopped" if code >= 128 else "died") for code in codes]
    summary = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    failures = [code if code > 0 else 1 for code in codes if code and code < 128]
    if stopped_by is not None and any(codes):
        return Outcome(128 + stopped_by, summary)
    return Outcome(max(failures or codes), summary)


def _claim(config: Config, folder: Path, resume: bool) -> None:
    """Make the folder with its configuration, or see that the one there is the same."""
    stored = folder / CONFIG
    if stored.exists() and not resume:
        raise UserError(
            f"`{folder}` already holds a run: go on with --resume, or choose another directory "
            "with --out."
        )
    if stored.exists() and read_config(stored) != config:
        raise UserError(f"`{folder}` holds a run with other settings: choose another directory.")
    for chain in range(config.chains):
        with files.writing(folder):
            chain_folder(folder, chain).mkdir(parents=True, exist_ok=True)
    if not stored.exists():
        files.write_file(stored, write_config(config).encode())


def _start(folder: Path, chain: int, chains: int) -> subprocess.Popen[bytes]:
    """A process for one chain, in a session of its own: Ctrl-C reaches it through us alone."""
    command = [sys.executable, "-m", "pxsgmcmc.cli.one_chain", str(folder), str(chain)]
    # On a GPU each process would otherwise take most of the memory for itself.
    share_of_memory = {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{0.9 / chains:.3f}"}
    process = subprocess.Popen(
        command,
        start_new_session=True,
        stdout=subprocess.DEVNULL,  # we say how all of them ended
        env=share_of_memory | os.environ,
    )
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        share = cores[chain % len(cores) :: min(chains, len(cores))]
        try:
            os.sched_setaffinity(process.pid, share)
        except OSError:  # it ended already, or the machine does not allow it
            pass
    return process
