"""Results that were kept with a run, read back as structs."""

from typing import Any

import msgspec

from pxsgmcmc.errors import printable_texts


def decoded(data: bytes, kind: Any) -> Any:
    """Results of this kind, whose texts can be shown on a terminal.

    Raises:
      msgspec.MsgspecError: they are of another version.
    """
    text = data.decode()
    if text.isprintable() and "\\" not in text:
        return msgspec.json.decode(data, type=kind)
    return msgspec.convert(printable_texts(msgspec.json.decode(data)), kind)


def kept_with(run: Any, name: str, kind: Any) -> Any:
    """What was found out about these very draws; None if nothing was, or by another version."""
    data = run.read_artifact(name)
    if data is None:
        return None
    try:
        part = decoded(data, kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    same = part.subject.draws == len(run) and part.subject.skipped == run.skipped
    return part if same else None
