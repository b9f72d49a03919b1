"""Computations of an experiment, each in a process of its own: its memory and time are its own.

`python -m pxsgmcmc.reproduce.computing` reads {"function", "arguments", "seed"} as JSON from
standard input and writes the fields of `Computed` to standard output.
"""

import importlib
import json
import subprocess
import sys
from collections.abc import Mapping
from subprocess import PIPE
from typing import Any

import msgspec

from pxsgmcmc.chain.graceful_stop import GracefulStop
from pxsgmcmc.errors import Interrupted, UserError
from pxsgmcmc.jobs.local import environment
from pxsgmcmc.memory import start_with_large_pages


class Computed(msgspec.Struct, frozen=True):
    """What came of it: values by measure, curves by name, hashes of the data."""

    values: dict[str, float]
    curves: dict[str, list[float | None]] = msgspec.field(default_factory=dict)
    hashes: dict[str, str] = msgspec.field(default_factory=dict)


def compute(function: str, arguments: Mapping[str, Any], seed: int) -> Computed:
    """Call a function of this package in a process of its own.

    Args:
      function: "module:function" below `pxsgmcmc.reproduce`.
      arguments: of the function, without the seed.
      seed: of everything random.

    Raises:
      Interrupted: on a signal, after the process was ended.
    """
    ask = json.dumps({"function": function, "arguments": dict(arguments), "seed": seed})
    command = [sys.executable, "-P", "-m", "pxsgmcmc.reproduce.computing"]
    # In a process group of its own, so that Ctrl-C reaches us alone.
    child = subprocess.Popen(
        command, stdin=PIPE, stdout=PIPE, text=True, env=environment(1), process_group=0
    )
    with child, GracefulStop() as stop:
        try:
            output = _output(child, ask, stop)
        finally:
            child.kill()
    if child.returncode == 2:
        raise UserError(f"`{function}` failed; its message is above.")
    if child.returncode:
        raise RuntimeError(f"{function} ended with code {child.returncode}")
    return msgspec.json.decode(output.splitlines()[-1], type=Computed)


def _output(child: "subprocess.Popen[str]", ask: str, stop: GracefulStop) -> str:
    """What the process writes until its end."""
    given: str | None = ask
    while stop.signal is None:
        try:
            return child.communicate(given, timeout=0.1)[0]
        except subprocess.TimeoutExpired:
            given = None  # it has it by now
    raise Interrupted("Stopped while it computed.", stop.signal)


def main() -> int:
    """Do what standard input asks for."""
    ask = json.loads(sys.stdin.read())
    module, _, name = ask["function"].partition(":")
    function = getattr(importlib.import_module(f"pxsgmcmc.reproduce.{module}"), name)
    try:
        computed = function(seed=ask["seed"], **ask["arguments"])
    except UserError as error:
        print(f"pxsgmcmc: {error}", file=sys.stderr)
        return 2
    print(msgspec.json.encode(computed).decode())
    return 0


if __name__ == "__main__":
    start_with_large_pages()
    sys.exit(main())
