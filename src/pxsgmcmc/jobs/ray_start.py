"""Connecting to a Ray cluster that runs, or starting one on this machine."""

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pxsgmcmc.errors import UserError, printable

WAITS = (30, 120, 300)  # seconds for Ray to start, one attempt after the other
ANSWER = 5.0  # seconds for a cluster to answer; Ray itself would wait for a quarter of an hour
_QUIET: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}


def connect(address: str, say: Callable[[str], None]) -> None:
    """Connect to the cluster that runs, or start one on this machine.

    Args:
      address: of the cluster; "auto" for that of RAY_ADDRESS or of the last `ray start` here, and a
        new one if there is none. An address that is named counts, whatever RAY_ADDRESS says.
      say: is given a sentence on what takes long, or is not as it was left.
    """
    ray = import_ray()
    os.environ.setdefault("RAY_worker_niceness", "0")  # else workers, and chains, run at 15
    named = address if address != "auto" else os.environ.get("RAY_ADDRESS") or "auto"
    left = _last_started() if named == "auto" else ""
    if left and not _answers(left):
        say(f"The Ray cluster that was started here does not answer at {left}; starting another")
        return _start(ray, say)
    which = f"RAY_ADDRESS={named}" if address == "auto" else f"--engine ray --address={named}"
    try:
        if named != "auto" and not _answers(named):
            raise ConnectionError
        ray.init(address=named, **_QUIET)
    except ConnectionError as error:
        if named != "auto":
            raise UserError(
                f"`{which}` must be the address of a cluster that runs: there is none; start it "
                "with `ray start --head`."
            ) from error
        _start(ray, say)
    except ValueError as error:  # what Ray says of an address that it cannot read
        raise UserError(
            f"`{which}` must be the address of a cluster, as in HOST:6379; Ray says: {error}."
        ) from error
    except Exception as error:  # another version of Ray, a token that it wants: each its own
        with suppress(Exception):
            ray.shutdown()
        raise UserError(
            f"The Ray cluster that runs cannot be used; Ray says: {printable(error)}"
        ) from error


def _start(ray: Any, say: Callable[[str], None]) -> None:
    for place, seconds in enumerate(WAITS):
        os.environ["RAY_gcs_server_port_wait_time_s"] = str(seconds)
        os.environ["RAY_raylet_start_wait_time_s"] = str(seconds)
        try:
            ray.init(address="local", include_dashboard=False, **_QUIET)
            return
        except Exception as error:  # Ray raises plain ones when its own start takes too long
            with suppress(Exception):
                ray.shutdown()
            if place + 1 == len(WAITS):
                raise UserError(
                    f"Ray did not start on this machine within {seconds} s ({error}): try again "
                    "when it is less busy, or take `--engine local`."
                ) from error
            say(f"Ray did not start within {seconds} s; trying again with {WAITS[place + 1]} s")


def _last_started() -> str:
    """The address that `ray start` has left on this machine, by a cluster that may be gone."""
    folder = os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp"
    try:
        return (Path(folder) / "ray" / "ray_current_cluster").read_text().strip()
    except OSError:
        return ""


def _answers(address: str) -> bool:
    """Whether something listens at HOST:PORT; addresses of other kinds are left to Ray."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or "/" in host:
        return True
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWER):
            return True
    except (OSError, OverflowError):
        return False


def import_ray() -> Any:
    """The package, which is an extra."""
    try:
        import ray  # pyright: ignore[reportMissingImports]  (an extra, not for development)
    except ModuleNotFoundError as error:
        raise UserError("`--engine ray` needs Ray: pip install 'pxsgmcmc[ray]'.") from error
    return ray
