"""Computations of an experiment, each in a process of its own: its memory and time are its own.

`python -m pxsgmcmc.reproduce.computing` reads {"function", "arguments", "seed"} as JSON from
standard input and writes {"values", "curves"} to standard output.
"""

import importlib
import json
import subprocess
import sys
from collections.abc import Mapping
from subprocess import PIPE
from typing import Any

from pxsgmcmc.chain.graceful_stop import GracefulStop
from pxsgmcmc.errors import Interrupted, UserError
from pxsgmcmc.jobs.local import environment

Computed = tuple[dict[str, float], dict[str, list[float | None]]]  # values, curves


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
    answer = json.loads(output.splitlines()[-1])
    return answer["values"], answer["curves"]


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
        values, curves = function(seed=ask["seed"], **ask["arguments"])
    except UserError as error:
        print(f"pxsgmcmc: {error}", file=sys.stderr)
        return 2
    print(json.dumps({"values": values, "curves": curves}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
