"""Computations of an experiment, each in a process of its own: its memory and time are its own.

`python -m pxsgmcmc.reproduce.computing` reads {"function", "arguments", "seed"} as JSON from
standard input and writes {"values", "curves"} to standard output.
"""

import importlib
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from pxsgmcmc.errors import UserError
from pxsgmcmc.jobs.local import environment

Computed = tuple[dict[str, float], dict[str, list[float | None]]]  # values, curves


def compute(function: str, arguments: Mapping[str, Any], seed: int) -> Computed:
    """Call a function of this package in a process of its own.

    Args:
      function: "module:function" below `pxsgmcmc.reproduce`.
      arguments: of the function, without the seed.
      seed: of everything random.
    """
    ask = json.dumps({"function": function, "arguments": dict(arguments), "seed": seed})
    command = [sys.executable, "-P", "-m", "pxsgmcmc.reproduce.computing"]
    ended = subprocess.run(
        command, input=ask, stdout=subprocess.PIPE, text=True, env=environment(1), check=False
    )
    if ended.returncode == 2:
        raise UserError(f"`{function}` failed; its message is above.")
    if ended.returncode:
        raise RuntimeError(f"{function} ended with code {ended.returncode}")
    answer = json.loads(ended.stdout.splitlines()[-1])
    return answer["values"], answer["curves"]


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
