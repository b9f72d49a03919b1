"""Faults of a cluster while chains run on it, and what they must not have done."""

import random
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from pxsgmcmc.config import parse_config, write_config
from pxsgmcmc.jobs import Ended, Job
from pxsgmcmc.jobs.sheet import place_of
from pxsgmcmc.store import create_chains, lock_file, open_run, verify
from pxsgmcmc.store.layout import chain_folder
from tests.helpers.small_settings import SMALL
from tests.helpers.waiting import wait_until
from tests.jobs import queued_chain
from tests.jobs.queued_chain import ALLOWED

PROGRAM = (sys.executable, queued_chain.__file__)


class Heard:
    """A watch that remembers."""

    def __init__(self, on_look: Callable[[], object] = lambda: None):
        self.sentences: list[str] = []
        self.ends: dict[str, Ended] = {}
        self.look = on_look

    @property
    def codes(self) -> dict[str, int]:
        return {label: ended.code for label, ended in self.ends.items()}

    def tell(self, job, stage, share, text):
        pass

    def say(self, job, sentence):
        self.sentences.append(f"{job.label} {sentence}")

    def ended(self, job, ended):
        assert job.label not in self.ends
        self.ends[job.label] = ended


def chains(folder: Path, count: int, draws: int = 12, config: str = SMALL) -> list[Job]:
    """Jobs of several chains in a new folder."""
    flags = [f"--chains={count}", f"--chain.draws={draws}"]
    text = write_config(parse_config(config, flags))
    create_chains(folder, count, text)
    places = [str(chain_folder(folder, chain)) for chain in range(count)]
    jobs = [Job(text, place, f"chain {n}", chain=n) for n, place in enumerate(places)]
    allow(jobs, draws // 2)
    return jobs


def allow(jobs: Sequence[Job], draws: int = 10**6) -> None:
    """Let chains make so many draws."""
    path = Path(jobs[0].folder).parent / ALLOWED
    path.with_suffix(".new").write_text(str(draws))
    path.with_suffix(".new").replace(path)


def undisturbed(folder: Path, count: int, draws: int = 12) -> list[Job]:
    """The same small chains where nothing goes wrong, in this process."""
    jobs, handler = chains(folder, count, draws), signal.getsignal(signal.SIGTERM)
    assert [queued_chain.small_chain(job) for job in jobs] == [0] * count
    signal.signal(signal.SIGTERM, handler)
    return jobs


def notes_of(job: Job) -> list[list[str]]:
    """Where in the index something was put, and by which process."""
    path = Path(f"{job.folder}.notes")
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def token_of(job: Job) -> str:
    """Which attempt has the right to write; empty if none has."""
    holder = lock_file.peek(Path(job.folder) / lock_file.LOCK)
    return "" if holder is None else holder.token


def wait_for_writer(job: Job, but: str = "") -> str:
    """Wait for an attempt that may write, another one than `but`; returns its token."""
    wait_until(lambda: token_of(job) not in ("", but), f"a writer of {job.label} after {but}")
    return token_of(job)


def harm(jobs: Sequence[Job], whole: Sequence[Job]) -> Counter:
    """What is not as in runs that nobody disturbed: identical chains, and double writes."""
    counts = Counter(chains=len(jobs), identical=0, double_writes=0, damaged=0)
    for job, other in zip(jobs, whole, strict=True):
        hashes, wanted = ([d.sha256 for d in open_run(j.folder).draws] for j in (job, other))
        counts["identical"] += hashes == wanted != []
        places = [place for place, _ in notes_of(job)]
        counts["double_writes"] += len(places) - len(set(places))
        counts["damaged"] += bool(verify(job.folder).problems)
    return counts


def in_background(do: Callable[[], None]) -> threading.Thread:
    """Do it while the engine runs in the main thread; a failure is raised at `finish`."""

    class Fault(threading.Thread):
        failure: BaseException | None = None

        def run(self):
            try:
                do()
            except BaseException as error:
                self.failure = error
                signal.raise_signal(signal.SIGTERM)  # ends the engine

        def finish(self):
            self.join()
            if self.failure is not None:
                raise self.failure

    thread = Fault(daemon=True)
    thread.start()
    return thread


MOONS = """
[data]
name = "two-moons"
[model]
name = "mlp"
widths = [4]
[sampler]
name = "sghmc"
step_size = 1e-2
friction = 10.0
[chain]
cycle_length = 5
batch_size = 50
"""


class Cluster(Protocol):
    """What can go wrong on a cluster, by the number of the process that writes."""

    def node_of(self, process: int) -> str | None:
        """Where a process runs that was not given up; None if it is none of ours."""

    def kill_worker(self, process: int) -> None:
        """Kill what runs a job."""

    def lose(self, node: str, *, cut_off: bool) -> list[int]:
        """Kill a node, or stop everything on it and give it up; returns what ran there."""

    def wake(self, processes: list[int]) -> None:
        """Let what was cut off go on."""

    def bring_back(self, node: str) -> None:
        """Let a node take jobs again."""


def disturb(cluster: Cluster, jobs: Sequence[Job], faults: int, seed: int) -> Counter:
    """Faults one after the other, each with all chains at work again after it; counts of them."""
    rng, counts = random.Random(seed), Counter()
    place = place_of(jobs)

    def held() -> list[tuple[str, int, str, int]]:
        """Node, number of a chain, token and process of the attempt that writes, as it should."""
        holders = [lock_file.peek(Path(job.folder) / lock_file.LOCK) for job in jobs]
        found = [(n, h, cluster.node_of(h.process)) for n, h in enumerate(holders) if h]
        return [(node, n, h.token, h.process) for n, h, node in found if node]

    def found_locked() -> dict[int, int]:
        """Which chains an attempt found locked, and when: an earlier fault may have left that.

        Stopped in the middle of a commit, a writer keeps its place until it goes on, or whoever
        looks after the node ends it.
        """
        found = {}
        for path in place.rglob("*.end"):
            with suppress(FileNotFoundError):  # the next attempt begins
                if b'"code":5,' in path.read_bytes():
                    found[int(path.stem)] = path.stat().st_mtime_ns
        return found

    def tried_again(chain: int, token: str, before: int) -> bool:
        return token_of(jobs[chain]) not in ("", token) or found_locked().get(chain, 0) > before

    for number in range(faults):
        allow(jobs, 4 * (number + 1))
        wait_until(held, "a chain at work")
        chosen = rng.choice(held())
        kind = ("worker killed", "node killed", "node cut off")[number % 3]
        counts[kind] += 1
        before = found_locked()
        if kind == "worker killed":
            lost, processes = [chosen], []
            cluster.kill_worker(chosen[3])
        else:
            processes = cluster.lose(chosen[0], cut_off=kind == "node cut off")
            lost = [one for one in [chosen, *held()] if one[3] in processes]
        for _, chain, token, _ in lost:
            wait_until(
                partial(tried_again, chain, token, before.get(chain, 0)),
                f"what comes after {kind} for chain {chain}",
            )
        if kind == "node cut off":
            allow(jobs, 4 * (number + 1) + 2)  # those that wake up want to write
            cluster.wake(processes)
            for job in jobs:  # as Slurm does with what it gave up, on a node that comes back
                holder = lock_file.peek(Path(job.folder) / lock_file.LOCK)
                if holder is not None and holder.process in processes:
                    cluster.kill_worker(holder.process)
        if kind != "worker killed":
            cluster.bring_back(chosen[0])
    allow(jobs)
    return counts
