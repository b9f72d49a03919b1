"""A Slurm cluster that is not one: its commands on PATH, its nodes processes with other host names.

The commands hand their words to a thread of the test through a socket. It understands what we ask
of Slurm and nothing else: an option that it does not know is an error, so that a misspelt one would
be seen. Nodes can be killed, cut off and brought back; what ran on them is put back into the queue.
"""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

COMMANDS = ("sbatch", "squeue", "scancel", "scontrol", "sacct")
CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({address!r})
    words = [os.path.basename(sys.argv[0]), *sys.argv[1:]]
    line.sendall(json.dumps([words, dict(os.environ)]).encode() + b"\\n")
    code, out, err = json.loads(line.makefile().readline())
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""
KNOWN = {
    "sbatch": {
        *("--parsable", "--job-name", "--ntasks", "--cpus-per-task", "--requeue", "--signal"),
        *("--array", "--chdir", "--output", "--open-mode", "--partition"),
    },
    "squeue": {"--noheader", "--array", "--user", "--format"},
    "scancel": {"--state", "--signal", "--batch"},
    "scontrol": set(),
    "sacct": {"--noheader", "--parsable2", "--allocations", "--jobs", "--format"},
}


def renamed(name: str) -> list[str]:
    """Words before a command that give it another host name; the test skips if there are none."""
    words = ["unshare", "--map-root-user", "--uts"]
    words += ["sh", "-c", f'hostname {name} && exec "$0" "$@"']
    if not shutil.which("unshare") or subprocess.run([*words, "true"]).returncode:
        pytest.skip("no namespaces in which a process could have another host name")
    return words


@dataclass
class Task:
    """One task of an array."""

    name: str
    options: dict[str, str]
    script: str
    arguments: list[str]
    environment: dict[str, str]
    state: str = "PENDING"
    node: str = ""
    process: subprocess.Popen | None = None
    requeue: bool = False
    starts: int = 0


@dataclass
class FakeSlurm:
    """The cluster; a context in which its commands are on PATH.

    Attributes:
      folder: for its files.
      nodes: name -> how many tasks it takes.
      refuses: what sbatch says if it takes no jobs.
    """

    folder: Path
    nodes: dict[str, int]
    refuses: str = ""
    tasks: dict[str, Task] = field(default_factory=dict)
    orphans: list[subprocess.Popen] = field(default_factory=list)
    asked: list[list[str]] = field(default_factory=list)
    accounts: dict[str, str] = field(default_factory=dict)

    def __enter__(self) -> "FakeSlurm":
        self._names = {name: renamed(name) for name in self.nodes}
        self._up = set(self.nodes)
        self._short = Path(tempfile.mkdtemp())  # the path of a socket may not be long
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(self._short / "s"))
        self._socket.listen(64)
        self._socket.settimeout(0.01)
        for name in COMMANDS:
            path = self._short / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(CLIENT.format(python=sys.executable, address=str(self._short / "s")))
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        self._path = os.environ["PATH"]
        os.environ["PATH"] = f"{self._short / 'bin'}{os.pathsep}{self._path}"
        self.guard = threading.RLock()  # of the tasks
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        os.environ["PATH"] = self._path
        for process in [*self.orphans, *(task.process for task in self.running())]:
            assert process is not None
            process.kill()
            process.wait()
        shutil.rmtree(self._short)

    def running(self) -> list[Task]:
        return [task for task in self.tasks.values() if task.state == "RUNNING"]

    def _serve(self) -> None:
        try:
            self._serve_all()
        finally:
            self._socket.close()  # nobody waits for an answer of a thread that failed

    def _serve_all(self) -> None:
        while not self._over.is_set():
            with self.guard:
                self._reap()
                self._schedule()
            with suppress(TimeoutError):
                line, _ = self._socket.accept()
                with line, line.makefile() as request:
                    words, environment = msgspec.json.decode(request.readline())
                    with self.guard:
                        answer = self._answer(words, environment)
                    line.sendall(msgspec.json.encode(answer) + b"\n")

    def _reap(self) -> None:
        for task in self.running():
            assert task.process is not None
            if (code := task.process.poll()) is not None:
                self.accounts[task.name] = "COMPLETED" if code == 0 else "FAILED"
                task.state = "PENDING" if task.requeue else self.accounts[task.name]

    def _schedule(self) -> None:
        for task in self.tasks.values():
            array = task.name.partition("_")[0] + "_"
            beside = sum(one.name.startswith(array) for one in self.running())
            most = int(task.options["--array"].partition("%")[2])
            if task.state == "PENDING" and beside < most:
                free = {
                    node: self.nodes[node] - sum(one.node == node for one in self.running())
                    for node in self._up
                }
                if free and max(free.values()) > 0:
                    self._start(task, max(sorted(free), key=lambda node: free[node]))

    def _start(self, task: Task, node: str) -> None:
        task.state, task.node, task.requeue = "RUNNING", node, False
        number = task.name.partition("_")[2]
        own = {"SLURM_JOB_ID": task.name, "SLURM_ARRAY_TASK_ID": number}
        with open(task.options["--output"].replace("%%", "%"), "ab") as log:
            task.process = subprocess.Popen(
                [*self._names[node], "sh", task.script, *task.arguments],
                env=task.environment | own | {"SLURM_RESTART_COUNT": str(task.starts)},
                cwd=task.options["--chdir"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        task.starts += 1

    def _answer(self, words: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        self.asked.append(words)
        command, *rest = words
        options, plain = {}, []
        for place, word in enumerate(rest):
            name, _, value = word.partition("=")
            if not word.startswith("--"):
                plain = rest[place:]
                break
            if name not in KNOWN[command]:
                return 1, "", f"{command}: unrecognized option '{word}'\n"
            options[name] = value
        return getattr(self, f"_{command}")(options, plain, environment)

    def _sbatch(self, options, plain, environment):
        if self.refuses:
            return 1, "", f"sbatch: error: {self.refuses}\n"
        array = 100 + len({name.partition("_")[0] for name in self.tasks})
        script = self.folder / f"{array}.sh"  # Slurm keeps a copy
        shutil.copy(plain[0], script)
        for part in options["--array"].partition("%")[0].split(","):
            first, _, last = part.partition("-")
            for number in range(int(first), int(last or first) + 1):
                name = f"{array}_{number}"
                self.tasks[name] = Task(name, options, str(script), plain[1:], environment)
        return 0, f"{array}\n", ""

    def _squeue(self, options, plain, environment):
        assert options["--format"] == "%i|%T|%N|%r" and options["--user"] == str(os.getuid())
        shown = {"PENDING": "Resources", "RUNNING": "None"}
        lines = [
            f"{one.name}|{one.state}|{one.node if one.state == 'RUNNING' else ''}|{reason}\n"
            for one in self.tasks.values()
            for reason in [shown.get(one.state)]
            if reason
        ]
        return 0, "".join(lines), ""

    def _scancel(self, options, plain, environment):
        for name in plain:
            task = self.tasks[name]
            if task.state == "PENDING" and options.get("--state", "PENDING") == "PENDING":
                if "--signal" not in options:
                    task.state = "CANCELLED"
            elif task.state == "RUNNING" and "--state" not in options:
                assert task.process is not None
                task.process.send_signal(signal.SIGTERM)
        return 0, "", ""

    def _scontrol(self, options, plain, environment):
        assert plain[0] == "requeue"
        self.tasks[plain[1]].requeue = True
        return 0, "", ""

    def _sacct(self, options, plain, environment):
        return 0, self.accounts.get(options["--jobs"], "") + "\n", ""

    # What goes wrong.

    def lose_node(self, node: str, *, cut_off: bool) -> list[subprocess.Popen]:
        """A node dies, or is cut off with its processes stopped; Slurm requeues what ran there."""
        with self.guard:
            self._up.discard(node)
            lost = [task for task in self.running() if task.node == node]
            processes = []
            for task in lost:
                assert task.process is not None
                task.process.send_signal(signal.SIGSTOP if cut_off else signal.SIGKILL)
                processes.append(task.process)
                self.accounts[task.name], task.state, task.process = "NODE_FAIL", "PENDING", None
            self.orphans += processes
        if not cut_off:
            for process in processes:
                process.wait()
        return processes

    def bring_back(self, node: str) -> None:
        """It takes tasks again."""
        with self.guard:
            self._up.add(node)

    def preempt(self, task: Task) -> None:
        """Somebody else needs its place: SIGTERM, and back into the queue."""
        assert task.process is not None
        task.process.send_signal(signal.SIGTERM)

    # The same by process, as `faults.Cluster` has it.

    def _task_of(self, process: int) -> Task | None:
        with self.guard:
            tasks = [one for one in self.running() if one.process and one.process.pid == process]
        return tasks[0] if tasks else None

    def node_of(self, process: int) -> str | None:
        task = self._task_of(process)
        return task.node if task else None

    def kill_worker(self, process: int) -> None:
        os.kill(process, signal.SIGKILL)

    def lose(self, node: str, *, cut_off: bool) -> list[int]:
        return [process.pid for process in self.lose_node(node, cut_off=cut_off)]

    def wake(self, processes: list[int]) -> None:
        for process in processes:
            os.kill(process, signal.SIGCONT)
