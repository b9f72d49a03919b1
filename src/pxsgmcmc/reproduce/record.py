"""What is kept of a run when its directory is gone: a small file of JSON with its own hash."""

import hashlib
from pathlib import Path
from typing import Any, Literal

import msgspec

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store.files import read_file, write_file, writing

_MOST = 1 << 26  # bytes of a record
DIGITS = 6  # significant, of every number kept


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One run, or one computation, with one seed.

    Attributes:
      scale: at which it was made.
      method: as a run names it, or the function that computed it.
      digest: of all settings that decide the draws; runs with the same are repetitions.
      seed: of everything random.
      outcome: "done", or "diverged" with the reason in `headline`.
      healthy: the verdict on the chain; None if it cannot be told.
      headline: of the verdict.
      values: by measure.
      curves: by name.
      config: as resolved, or the arguments of a computation.
      command: that makes it again.
      revision: of the code.
      hashes: of the training rows, the test rows and the results it was made from.
      seconds: that it took, of the wall clock.
      parts: which of "evaluate", "stress" and "diagnose" it has been through.
    """

    scale: str
    method: str
    digest: str
    seed: int
    outcome: Literal["done", "diverged"]
    healthy: bool | None
    headline: str
    values: dict[str, float]
    curves: dict[str, list[float | None]]
    config: str
    command: str
    revision: str
    hashes: dict[str, str]
    seconds: float
    parts: tuple[str, ...]
    format: Literal[1] = 1
    sha256: str = ""


def rounded(value: Any) -> Any:
    """Numbers to a few digits, so that files are small.

    Example:
      >>> rounded({"a": [0.123456789, None, 3]})
      {'a': [0.123457, None, 3]}
    """
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def write_record(path: Path, record: Record) -> None:
    """Keep a record, whole or not at all."""
    # Numbers as they will be read: a whole one among floats would have another hash.
    plain = msgspec.json.decode(msgspec.json.encode(record), type=Record)
    sealed = msgspec.structs.replace(plain, sha256=_digest(plain))
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, msgspec.json.encode(sealed) + b"\n")


def read_record(path: Path) -> Record:
    """The record in a file, or one sentence on what is wrong with it."""
    again = "remove it, and the run is made again"
    try:
        data = read_file(path, at_most=_MOST)
        record = msgspec.json.decode(data, type=Record)
    except CorruptRun as error:
        raise UserError(str(error)) from None
    except (msgspec.ValidationError, UnicodeDecodeError) as error:
        raise UserError(f"`{path}` was written by another version ({error}): {again}.") from None
    except msgspec.DecodeError:
        raise UserError(f"`{path}` is damaged: {again}.") from None
    if record.sha256 != _digest(record):
        raise UserError(f"`{path}` is damaged, or was changed by hand: {again}.")
    return record


def _digest(record: Record) -> str:
    unsealed = msgspec.structs.replace(record, sha256="")
    return hashlib.sha256(msgspec.json.encode(unsealed, order="deterministic")).hexdigest()
