"""The folder of a meta-training: settings, states that name their own hash, a log, the weights.

    settings.json                      all that decides the weights, hashes of the data included
    state/000120-0123456789abcdef.safetensors   to go on from: outer step, digest of its bytes; two
    log.jsonl                          a line an outer step, a line a look at the held-out tasks
    weights.safetensors                the sampler's network as of the last state
    page.html                          what came of it

Every file is written whole or not at all. A state is there before the one before the last is taken
away, and says in its name what its bytes must be, so a damaged one is noticed and the one before it
used. The log is cut to what the state knows of it.
"""

import re
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import msgspec

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.meta.evolution import MetaState
from pxsgmcmc.meta.settings import MetaSettings
from pxsgmcmc.store import files
from pxsgmcmc.store.sealed import digest, from_json, to_json
from pxsgmcmc.store.targets import check_own_folder
from pxsgmcmc.store.tensors import decode, encode
from pxsgmcmc.tree import from_arrays, to_arrays

SETTINGS, STATE, LOG = "settings.json", "state", "log.jsonl"
WEIGHTS, PAGE = "weights.safetensors", "page.html"
_NAME = re.compile(r"(\d{6,})-([0-9a-f]{16})\.safetensors")
_MOST = 1 << 24  # bytes of a file that is read


class Saved(msgspec.Struct, frozen=True):
    """A state that was read back."""

    state: MetaState
    log_bytes: int
    note: str  # a sentence on a damaged state that was passed over; empty if there was none


def check_folder(folder: Path) -> None:
    """Refuse a folder with anything but a meta-training in it."""
    early = (STATE, LOG, LOG + files.PART)
    check_own_folder(folder, "out", "an earlier meta-training", sign=SETTINGS, early=early)


def begin(folder: Path, settings: MetaSettings, data_hashes: dict[str, str]) -> None:
    """Make the folder's files, or see that those there are of the same settings and data."""
    written = to_json({"settings": msgspec.to_builtins(settings), "data_sha256": data_hashes})
    path = folder / SETTINGS
    if not path.exists():
        files.make_folders(folder / STATE)
        files.write_file(folder / LOG, b"")
        files.write_file(path, written + b"\n")
        return
    try:
        stored = from_json(files.read_file(path, at_most=_MOST))
    except ValueError as error:
        raise CorruptRun(f"`{path}` is damaged: {error}.") from None
    for part, now in from_json(written).items():
        before = stored.get(part)
        if before != now:
            before = before if isinstance(before, dict) else {}
            name = next(k for k in {**now, **before} if before.get(k) != now.get(k))
            raise UserError(
                f"`{folder}` holds a meta-training with another `{name}` ({before.get(name)!r}, "
                f"not {now.get(name)!r}): give what it was begun with, or another folder with "
                "--out."
            )


def save(folder: Path, state: MetaState, log_bytes: int) -> None:
    """Write a state, and the weights beside it; keep the state before it too."""
    arrays = to_arrays(state) | {"log_bytes": jnp.asarray(log_bytes, jnp.uint32)}
    data = encode(arrays)
    name = f"{int(state.step):06d}-{digest(data)[:16]}.safetensors"
    files.write_file(folder / STATE / name, data)
    files.write_file(folder / WEIGHTS, encode(to_arrays(state.weights)))
    for _, path in _states(folder)[2:]:
        path.unlink(missing_ok=True)


def load(folder: Path, like: MetaState) -> Saved | None:
    """The last whole state; None if there never was one."""
    there = _states(folder)
    for place, (_, path) in enumerate(there):
        try:
            data = files.read_file(path, at_most=_MOST)
            if digest(data)[:16] != path.stem.partition("-")[2]:
                raise CorruptRun(f"`{path}` is not as it was written.")
            arrays = decode(data)
            log_bytes = int(arrays.pop("log_bytes"))
        except (CorruptRun, ValueError, KeyError):
            continue
        note = f"`{there[0][1]}` is damaged; going on from the state before it." if place else ""
        return Saved(from_arrays(arrays, like, f"`{path}`"), log_bytes, note)
    if there:
        raise CorruptRun(f"`{folder / STATE}` has no state that is as it was written.")
    return None


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of the log."""
    data = files.read_file(folder / LOG, at_most=1 << 30)
    try:
        return [from_json(line) for line in data.splitlines()]
    except ValueError as error:
        raise CorruptRun(f"`{folder / LOG}` is damaged: {error}.") from None


class Log:
    """The log, open for writing after its first bytes."""

    def __init__(self, folder: Path, log_bytes: int):
        self._path, self.bytes = folder / LOG, log_bytes
        files.cut(self._path, log_bytes)
        self._waiting = b""

    def add(self, line: dict[str, Any]) -> None:
        """A line, which reaches the disk with the next `flush`."""
        self._waiting += to_json(line) + b"\n"

    def flush(self) -> None:
        """Write what waits."""
        files.append(self._path, self._waiting, self.bytes)
        self.bytes, self._waiting = self.bytes + len(self._waiting), b""


def _states(folder: Path) -> list[tuple[int, Path]]:
    """The states there are, the last one first."""
    matches = [(_NAME.fullmatch(path.name), path) for path in (folder / STATE).glob("*")]
    return sorted(((int(m[1]), path) for m, path in matches if m), reverse=True)
