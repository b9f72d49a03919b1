"""What a manifest says of how a run was made, so that its draws can be made again."""

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import numpy as np


def versions() -> dict[str, str]:
    """Of what a draw can depend on beside its settings."""
    from pxsgmcmc import __version__  # known once the package is

    return {
        "pxsgmcmc": __version__,
        "python": platform.python_version(),
        "jax": jax.__version__,
        "jaxlib": metadata.version("jaxlib"),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "threads": str(threads()),
    }


def threads() -> int:
    """XLA's threads on a CPU, which decide how a matrix product is cut up, and so its last bits.

    As many as the cores of this process, unless PJRT_NPROC said otherwise when JAX started, and no
    fewer than the devices.
    """
    asked = os.environ.get("PJRT_NPROC", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(int(asked) if asked.isdecimal() else cores or 1, jax.local_device_count("cpu"))


def devices() -> list[str]:
    """The kind of each device in use."""
    return [device.device_kind for device in jax.devices()]


def code_revision() -> str | None:
    """The commit of the checkout this package runs from, with a mark if it was changed."""
    folder = Path(__file__).parent
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def origin_of(*, seed: int, chain: int, executor: str, facts: dict[str, Any]) -> dict[str, Any]:
    """The whole record; `facts` are the caller's, such as hashes of the data."""
    return {
        "seed": seed,
        "chain": chain,
        "executor": executor,
        "versions": versions(),
        "devices": devices(),
        "code": code_revision(),
        **facts,
    }
