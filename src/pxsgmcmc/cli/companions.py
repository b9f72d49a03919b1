"""One chain by several processes: how they find each other, and that none outlives the others.

A process that waits for one that is gone may wait for ever, in code that no signal and no exception
reaches. So each has a connection to the first one, on which both say every few seconds that they
live: the system closes it when a process dies, and silence ends it when a machine does.
"""

import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from pxsgmcmc.config import Config
from pxsgmcmc.errors import UserError

GONE = 6  # exit code of a process that lost another one
SILENCE = 30.0  # seconds after which a process counts as gone
ALIVE, GOODBYE = b".", b"q"


@contextmanager
def companions(config: Config, coordinator: str | None, process_id: int | None) -> Iterator[bool]:
    """Join the other processes of a configuration for the time of a run.

    Args:
      config: says how many there are.
      coordinator: HOST:PORT of the first one; None where the cluster says it, as SLURM does.
      process_id: the number of this one, from 0.

    Yields:
      Whether this is the first process, the one that writes and prints.
    """
    processes = config.chain.processes
    if processes == 1:
        if coordinator is not None or process_id is not None:
            raise UserError(
                "`--coordinator` and `--process-id` need `chain.processes` above 1, got 1."
            )
        yield True
        return
    connections = _join(config, coordinator, process_id)
    try:
        yield connections.number == 0
    except BaseException as error:
        connections.end_after(error)
    connections.leave()


def _join(config: Config, coordinator: str | None, process_id: int | None) -> "_Connections":
    processes = config.chain.processes
    if (coordinator is None) != (process_id is None):
        raise UserError(
            "`--coordinator` and `--process-id` must be given together, or neither where the "
            "cluster knows them, as SLURM does."
        )
    if coordinator is not None and not coordinator.rpartition(":")[2].isdecimal():
        raise UserError(f"`--coordinator` must be HOST:PORT, got {coordinator!r}.")
    if process_id is not None and not 0 <= process_id < processes:
        raise UserError(
            f"`--process-id` must be from 0 to {processes - 1}, one below `chain.processes`, got "
            f"{process_id}."
        )
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # what goes wrong is said in one line
    os.environ["PJRT_NPROC"] = str(config.threads)
    import jax

    # It would take SIGTERM for itself, and the chain would not hear of it.
    jax.config.update("jax_enable_preemption_service", False)
    # Otherwise JAX aborts, in many lines, when another process dies.
    jax.config.update("jax_enable_recoverability", True)
    given = None if coordinator is None else processes
    try:
        jax.distributed.initialize(coordinator, given, process_id, shutdown_timeout_seconds=10)
    except (ValueError, RuntimeError) as error:
        raise UserError(
            f"The {processes} processes of `chain.processes` could not be joined "
            f"({str(error).splitlines()[0]}): give --coordinator HOST:PORT and --process-id to "
            "each, or start them by a cluster that JAX knows, such as SLURM."
        ) from error
    if jax.process_count() != processes:
        raise UserError(
            f"`chain.processes` must be the {jax.process_count()} that were started together, "
            f"got {processes}."
        )
    return _Connections(jax.process_index(), processes)


class _Connections:
    """To the first process; of the first, to all others."""

    def __init__(self, number: int, processes: int):
        from pxsgmcmc.chain.process_group import share

        self.number, self._processes = number, processes
        self._ending = threading.Lock()
        self._done, self._left = set[int](), set[int]()  # who has said goodbye, and who is gone
        listening = socket.create_server(("", 0), backlog=processes) if number == 0 else None
        port = None if listening is None else listening.getsockname()[1]
        host, port = share((_own_address(), port))
        self._peers: dict[int, socket.socket] = {}
        if listening is not None:
            for _ in range(processes - 1):
                peer, _ = listening.accept()
                self._peers[int.from_bytes(_exactly(peer, 4))] = peer
            listening.close()
        else:
            peer = socket.create_connection((host, port), timeout=SILENCE)
            peer.sendall(number.to_bytes(4))
            self._peers[0] = peer
        for other in self._peers:
            threading.Thread(target=self._listen, args=(other,), daemon=True).start()
        threading.Thread(target=self._say_alive, daemon=True).start()

    def _say_alive(self) -> None:
        while True:
            for peer in self._peers.values():
                with suppress(OSError):  # who listens to it will notice
                    peer.sendall(ALIVE)
            time.sleep(SILENCE / 10)

    def _listen(self, other: int) -> None:
        peer, heard = self._peers[other], b""
        peer.settimeout(SILENCE)
        with suppress(OSError):
            while heard := peer.recv(64):
                if GOODBYE in heard:
                    self._done.add(other)
        if other not in self._done:
            self.end(f"Process {other}")
        self._left.add(other)

    def end(self, who: str) -> NoReturn:
        """Leave on the spot, as the store is made for, and say why."""
        with self._ending:
            message = (
                f"pxsgmcmc: {who} of {self._processes} is gone, so process {self.number} ends; "
                "start all of them again with `pxsgmcmc resume` to go on from the last saved "
                "state.\n"
            )
            os.write(2, message.encode())
            os._exit(GONE)

    def end_after(self, error: BaseException) -> NoReturn:
        """End this process after an error, without waiting for the others, who will notice."""
        from pxsgmcmc.cli import guarded

        def again() -> int:
            raise error

        import jax

        if isinstance(error, jax.errors.JaxRuntimeError):  # the talk between devices broke off
            time.sleep(1.0)  # whoever listens knows better who it was
            self.end("Another process")
        code = 1
        with self._ending:
            try:
                code = guarded(again)
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def leave(self) -> None:
        """Say that all is done, and leave when all others are; the first process goes last.

        JAX's own service lives in it, and JAX aborts the others when that is gone.
        """
        import jax

        for peer in self._peers.values():
            with suppress(OSError):
                peer.sendall(GOODBYE)
        others = self._left if self.number == 0 else self._done
        deadline = time.monotonic() + SILENCE
        while set(self._peers) - others and time.monotonic() < deadline:
            time.sleep(0.01)
        with suppress(RuntimeError):
            jax.distributed.shutdown()
        for peer in self._peers.values():
            with suppress(OSError):  # it closed first
                peer.shutdown(socket.SHUT_RDWR)


def _own_address() -> str:
    """A name of this host that others can find it by."""
    with suppress(OSError):
        socket.getaddrinfo(socket.gethostname(), None)
        return socket.gethostname()
    return "localhost"


def _exactly(peer: Any, count: int) -> bytes:
    received = b""
    while len(received) < count:
        received += peer.recv(count - len(received))
    return received
