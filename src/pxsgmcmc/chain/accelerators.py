"""Versions of what an accelerator computes with, for the manifest: last bits depend on them."""

from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = ("jax-cuda", "jax-rocm", "nvidia-", "libtpu", "jax-metal")
_DRIVER = Path("/proc/driver/nvidia/version")


def accelerator_versions(device: Any, driver: Path = _DRIVER) -> dict[str, str]:
    """Of the runtime, the libraries that came as packages, and the driver; nothing on a CPU.

    Args:
      device: one of JAX's.
      driver: where the kernel says the version of NVIDIA's driver.
    """
    if device.platform == "cpu":
        return {}
    versions = {"platform": " ".join(str(device.client.platform_version).split())}
    for package in metadata.distributions():
        if package.name and package.name.startswith(_PACKAGES):
            versions[package.name] = package.version
    try:
        versions["driver"] = driver.read_text("utf-8", "replace").splitlines()[0].strip()
    except (OSError, IndexError):  # another maker's, or a container that hides it
        pass
    return versions
