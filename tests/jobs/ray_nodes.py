"""A Ray cluster of several nodes on this machine, each with a host name of its own.

Ray's own utility starts the nodes, each from a thread that has left the name space of host names:
whatever that thread starts has the new name, and nothing else in this process has. All processes of
a node are those in its name space, so that a node can be killed or cut off as a whole.
"""

import ctypes
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.waiting import wait_until

_CLONE_NEWUTS = 0x04000000  # of <linux/sched.h>
# A node that does not answer is given up after some seconds instead of half a minute.
HEALTH = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 2000,
    "health_check_failure_threshold": 6,  # a busy machine misses some
}


def space_of(process: int | str) -> str:
    """The name space in which a process has its host name; empty if it is gone."""
    try:
        return os.readlink(f"/proc/{process}/ns/uts")
    except OSError:
        return ""


def parent_of(process: int) -> int:
    """proc(5): the field after the state, which is after the name in brackets."""
    stat = Path(f"/proc/{process}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


class Node:
    """A node of Ray under its own host name."""

    def __init__(self, name: str, start: Callable[[], Any]):
        self.name, self.space, self.ray_node, self._failure = name, "", None, None
        thread = threading.Thread(target=self._begin, args=(start,))
        thread.start()
        thread.join()
        if self._failure is not None:
            raise self._failure

    def _begin(self, start: Callable[[], Any]) -> None:
        try:
            if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUTS):
                why = os.strerror(ctypes.get_errno())
                pytest.skip(f"no name space in which a node could have another name: {why}")
            socket.sethostname(self.name)
            self.space = space_of("thread-self")
            self.ray_node = start()
        except BaseException as failure:
            self._failure = failure

    def processes(self) -> list[int]:
        """All that run on it."""
        numbers = (int(name) for name in os.listdir("/proc") if name.isdecimal())
        return [n for n in numbers if n != os.getpid() and space_of(n) == self.space]

    def signal(self, number: int) -> None:
        """Send it to all of them."""
        for process in self.processes():
            with suppress(ProcessLookupError):
                os.kill(process, number)


class RayNodes:
    """The cluster, as `faults.Cluster` has it; a context.

    Attributes:
      counts: how nodes were lost: all of their processes killed, or the raylet alone, after which
        Ray's workers end and the kernel ends their chains; chains that ended after they were woken.
    """

    def __init__(self, ray: Any, names: list[str], cpus: int):
        from ray.cluster_utils import Cluster

        self._ray, self._cpus, self.counts = ray, cpus, Counter()
        self._nodes: dict[str, Node] = {}
        self._lost: list[Node] = []
        self._cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": HEALTH}
        )
        # The kernel ends the head with us, and a node without one ends; signals are for the tests.
        self._cluster._shutdown_at_exit = False
        for name in names:
            self.bring_back(name)
        ray.init(address=self._cluster.address, log_to_driver=False, configure_logging=False)

    def __enter__(self) -> "RayNodes":
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()
        for node in [*self._nodes.values(), *self._lost]:
            node.signal(signal.SIGKILL)
        self._cluster.shutdown()

    def node_of(self, process: int) -> str | None:
        space = space_of(process)
        return next((name for name, node in self._nodes.items() if node.space == space), None)

    def kill_worker(self, process: int) -> None:
        """Kill the process of Ray that started a chain; the kernel ends the chain."""
        with suppress(OSError):  # it has ended
            os.kill(parent_of(process), signal.SIGKILL)

    def lose(self, node: str, *, cut_off: bool) -> list[int]:
        lost = self._nodes.pop(node)
        self._lost.append(lost)
        chains = [process for process in lost.processes() if is_chain(process)]
        if cut_off:
            lost.signal(signal.SIGSTOP)
        elif self.counts["whole nodes killed"] > self.counts["raylets killed"]:
            self.counts["raylets killed"] += 1
            (raylet,) = lost.ray_node.all_processes["raylet"]
            raylet.process.kill()
        else:
            self.counts["whole nodes killed"] += 1
            lost.signal(signal.SIGKILL)
        return chains

    def wake(self, processes: list[int]) -> None:
        """Let chains go on first, then Ray, which finds that the node was given up and ends it."""
        lost = self._lost[-1]
        name = lost.ray_node.node_id
        # One that woke before would stay in the cluster and take jobs, and we think it is lost.
        wait_until(
            lambda: all(not n["Alive"] for n in self._ray.nodes() if n["NodeID"] == name),
            f"the end of {lost.name} in the eyes of Ray",
        )
        for process in processes:
            os.kill(process, signal.SIGCONT)
        last = time.monotonic() + 5.0  # longer for one that was stopped in the middle of a commit
        while time.monotonic() < last and any(map(is_chain, processes)):
            time.sleep(0.05)
        self.counts["ended when woken"] += sum(not is_chain(process) for process in processes)
        lost.signal(signal.SIGCONT)

    def bring_back(self, node: str) -> None:
        """Start a new node under the name of one that was lost; also of one Ray lost on its own."""
        self._nodes[node] = Node(node, lambda: self._cluster.add_node(num_cpus=self._cpus))
        if self._ray.is_initialized():
            alive = {one["NodeID"] for one in self._ray.nodes() if one["Alive"]}
            for name, other in list(self._nodes.items()):
                if name != node and other.ray_node.node_id not in alive:
                    self.counts["nodes given up untouched"] += 1
                    self._lost.append(other)
                    other.signal(signal.SIGKILL)
                    del self._nodes[name]
                    self.bring_back(name)


def is_chain(process: int) -> bool:
    """Whether it is the process of a chain and has not ended."""
    with suppress(OSError):  # one that ended and was not noticed yet has no command
        return b"queued_chain.py" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False
