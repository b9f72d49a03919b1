"""What of this process and machine the draws depend on beside their settings.

Two kinds: what decides the random numbers or the precision, and what only moves last bits: the
processor's instructions, XLA's flags and threads, versions.
"""

import os
import platform
from importlib import metadata
from pathlib import Path

import jax
import numpy as np

from pxsgmcmc.chain.accelerators import accelerator_versions

# Names of vector instructions, on x86 and on ARM; XLA compiles by them.
_VECTORS = ("sse", "ssse", "avx", "fma", "f16c", "amx", "asimd", "neon", "sve", "bf16")
# Settings of JAX that decide the random numbers or the precision of everything.
_DECIDING = {
    "jax_default_prng_impl": "JAX's random generator",
    "jax_threefry_partitionable": "JAX's setting `jax_threefry_partitionable`",
    "jax_enable_x64": "JAX's setting `jax_enable_x64`",
    "jax_default_matmul_precision": "JAX's matmul precision",
}


def versions() -> dict[str, str]:
    """Of the packages that compute, of Python, and of what an accelerator brings along."""
    from pxsgmcmc import __version__  # known once the package is

    return {
        "pxsgmcmc": __version__,
        "python": platform.python_version(),
        "jax": jax.__version__,
        "jaxlib": metadata.version("jaxlib"),
        "numpy": np.__version__,
        **accelerator_versions(jax.local_devices()[0]),
    }


def deciding_settings() -> dict[str, str]:
    """What a person calls each setting of JAX that decides draws -> its value.

    Example:
      >>> deciding_settings()["JAX's random generator"]
      'threefry2x32'
    """
    return {name: str(getattr(jax.config, key)) for key, name in _DECIDING.items()}


def rounding_conditions() -> dict[str, str]:
    """What decides last bits: processor, its vector instructions, devices, threads, XLA's flags."""
    return {
        "processor": f"{platform.machine()} {_vector_instructions(_cpu_information())}".strip(),
        "devices": ", ".join(device.device_kind for device in jax.devices()),
        "threads": str(threads()),
        "XLA_FLAGS": " ".join(sorted(os.environ.get("XLA_FLAGS", "").split())),
    }


def threads() -> int:
    """XLA's threads on a CPU, which decide how a matrix product is cut up, and so its last bits.

    As many as the cores of this process, unless PJRT_NPROC said otherwise when JAX started, and no
    fewer than the devices.
    """
    wanted = os.environ.get("PJRT_NPROC", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(int(wanted) if wanted.isdecimal() else cores or 1, jax.local_device_count("cpu"))


def _cpu_information() -> str:
    """What Linux says of the processor; nothing elsewhere."""
    try:
        return Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return ""


def _vector_instructions(information: str) -> str:
    """The vector instructions of the first core, sorted.

    Example:
      >>> _vector_instructions("flags : vme sse2 avx2 fma")
      'avx2 fma sse2'
    """
    for line in information.splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip() in ("flags", "Features"):
            return " ".join(sorted(f for f in value.split() if f.startswith(_VECTORS)))
    return ""
