"""1,000 chains on 64 GPUs that fail: what it takes, on a clock that nobody waits for.

    python benchmarks/thousand_chains.py            the table in docs/thousand_chains.md

A chain is so many seconds of work. An attempt at it takes one GPU, needs a start, saves every few
seconds, and ends when the work is done or its node fails. What was done since the last save is
lost. The next attempt waits for the lease of the run's lock, since it cannot see that the writer is
gone, and starts from the last save on the first GPU that is free; a chain whose attempts get no
further four times in a row is given up, as the engines do. A node that failed is back after its
repair.
"""

import heapq
import random
from typing import NamedTuple

DAY = 86_400.0
MOST_DEATHS = 3  # as in jobs/engine.py


class Cluster(NamedTuple):
    """Machines, in seconds.

    Attributes:
      gpus: how many.
      between_failures: mean time between failures of one of them.
      repair: until one that failed takes jobs again.
      start: from an attempt's begin to its first step.
      save: between saved states.
      lease: of the lock of a run.
    """

    gpus: int = 64
    between_failures: float = 30 * DAY
    repair: float = 3600.0
    start: float = 60.0
    save: float = 10.0
    lease: float = 60.0


class Outcome(NamedTuple):
    """What it took.

    Attributes:
      seconds: until the last chain was done or given up.
      busy: seconds of GPUs in attempts, all together.
      lost: of these, those that had to be done again, starts not included.
      attempts: how many, of all chains.
      failures: how many of them a node's failure ended.
      done: chains that came to their end.
    """

    seconds: float
    busy: float
    lost: float
    attempts: int
    failures: int
    done: int


def simulate(chains: int, work: float, cluster: Cluster, seed: int) -> Outcome:
    """All chains to their end.

    Args:
      chains: how many.
      work: seconds of steps of each.
      cluster: where.
      seed: of the failures.
    """
    rng = random.Random(seed)
    free = [(0.0, gpu) for gpu in range(cluster.gpus)]  # when, which
    waiting = [(0.0, chain) for chain in range(chains)]
    saved, stuck = [0.0] * chains, [0] * chains
    busy = lost = last = 0.0
    attempts = failures = done = 0
    while waiting:
        ready, chain = heapq.heappop(waiting)
        idle, gpu = heapq.heappop(free)
        began = max(ready, idle)
        needed = cluster.start + (ready > 0.0) * cluster.lease + work - saved[chain]
        lasts = rng.expovariate(1.0 / cluster.between_failures)
        attempts += 1
        if lasts >= needed:
            busy, last, done = busy + needed, max(last, began + needed), done + 1
            heapq.heappush(free, (began + needed, gpu))
            continue
        failures, busy = failures + 1, busy + lasts
        stepped = max(0.0, lasts - (needed - (work - saved[chain])))
        kept = stepped - stepped % cluster.save
        saved[chain], lost = saved[chain] + kept, lost + stepped - kept
        stuck[chain] = 0 if kept else stuck[chain] + 1
        last = max(last, began + lasts)
        heapq.heappush(free, (began + lasts + cluster.repair, gpu))
        if stuck[chain] <= MOST_DEATHS:
            heapq.heappush(waiting, (began + lasts, chain))
    return Outcome(last, busy, lost, attempts, failures, done)


def main() -> None:
    """Print the table."""
    print("| node fails every | chains done | days | GPU-days | failures | lost to failures |")
    print("|---|---|---|---|---|---|")
    for days in (365.0, 30.0, 7.0, 1.0):
        cluster = Cluster(between_failures=days * DAY)
        found = [simulate(1000, 10 * 3600.0, cluster, seed) for seed in range(8)]

        def mean(values: list[float]) -> float:
            return sum(values) / len(values)

        extra = mean([one.busy for one in found]) - 1000 * (10 * 3600.0 + cluster.start)
        print(
            f"| {days:g} days | {min(one.done for one in found)} of 1000 | "
            f"{mean([one.seconds for one in found]) / DAY:.2f} | "
            f"{mean([one.busy for one in found]) / DAY:.1f} | "
            f"{mean([float(one.failures) for one in found]):.0f} | {extra / 3600.0:.1f} GPU-hours |"
        )


if __name__ == "__main__":
    main()
