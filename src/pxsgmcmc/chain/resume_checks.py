"""Whether a run may go on with what it is given now: the same draws, or what differs."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import numpy as np

from pxsgmcmc.chain.process_group import Together, Wishes, share
from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.health import another
from pxsgmcmc.store import StoredRun

# What must not change, and what a person calls it.
_DECIDES = {
    "likelihood": "likelihood",
    "data_sha256": "training data",
    "prior": "prior",
    "seed": "seed",
    "batch_size": "batch size",
    "method": "sampler or expansion",
    "start_sha256": "starting position",
    "executor": "executor",
    "side_by_side": "number of chains side by side",
    "devices": "number of devices",
    "processes": "number of processes",
}


class Change(NamedTuple):
    """Something that is not as it was when the run began."""

    what: str
    began: str
    now: str

    def __str__(self) -> str:
        """Such as "another seed (1; now 2)"; of what is known by its hash no values."""
        values = f" ({_short(self.began)}; now {_short(self.now)})"
        return another(self.what) + ("" if re.fullmatch("[0-9a-f]{64}", self.began) else values)


def check_same(record: StoredRun, now: dict[str, Any], *, accept: bool = False) -> list[str]:
    """Refuse to go on with something else; returns what the user should know of the run.

    Args:
      record: the run, open for writing.
      now: its origin as it would be written today.
      accept: go on with what decides the draws changed, and write it into the manifest.
    """
    then = record.manifest["origin"]
    for key in ("collection", "executor", "versions"):
        if key not in then:
            raise CorruptRun(f"`{record.path}` does not say its {key}: it cannot be gone on with.")
    _check_collection(record, then, now)
    rounding = list(_rounding_changes(then, now))
    deciding = list(_deciding_changes(then, now, other_versions=_other_versions(rounding)))
    if deciding and not accept:
        raise UserError(
            f"`{record.path}` began with {deciding[0]}: go on with what it began with, choose "
            "another directory, or accept it (`--accept-changes`, in Python "
            "`px.Execution(accept_changes=True)`)."
        )
    notes = list(record.notes)
    if deciding:
        _write_down(record, deciding)
        listed = "; ".join(map(str, deciding))
        notes.append(f"The run began with {listed}: its draws from here on are of another chain.")
    if rounding:
        began = ", ".join(f"{change.what} {_short(change.began)}" for change in rounding)
        today = ", ".join(f"{change.what} {_short(change.now)}" for change in rounding)
        # The streams of randomness are the library's own.
        what = "draws" if any(c.what == "pxsgmcmc" for c in rounding) else "last bits"
        notes.append(f"The run began with {began}, this is {today}: the {what} may differ.")
    return notes


def check_same_everywhere(together: Together, mine: dict[str, Any]) -> None:
    """Refuse processes that were given something else than the first of them.

    Args:
      together: the processes.
      mine: the origin of a run as this one would write it.
    """
    first = share(mine)
    mine = msgspec.msgpack.decode(msgspec.msgpack.encode(mine))
    changes = [
        *_deciding_changes(first, mine, other_versions=False),
        *_rounding_changes(first, mine),
    ]
    differing = int(np.asarray(together.agree(Wishes(signal=len(changes))))[0])
    if differing:
        this = f"this one has {changes[0]}" if changes else "see what another one says"
        raise UserError(
            f"All processes must be given the same and run on machines of one kind: {this}."
        )


def draws_wanted(record: StoredRun, now: int) -> int:
    """How many draws to make: a run can be asked for more than it began with, not for fewer."""
    made = len(record.draws)
    if now < made:
        raise UserError(
            f"`draws` must be at least {made}, which the run in `{record.path}` has already, got "
            f"{now}."
        )
    return now


def _check_collection(record: StoredRun, then: dict[str, Any], now: dict[str, Any]) -> None:
    """Draws of one run lie at fixed steps; that cannot be accepted otherwise."""
    before, after = ({**side["collection"], "draws": 0} for side in (then, now))
    for key, value in before.items():
        if after.get(key) != value:
            raise UserError(
                f"`{key}` must be {value}, as the run in `{record.path}` began, got "
                f"{after.get(key)}."
            )


def _deciding_changes(
    then: dict[str, Any], now: dict[str, Any], *, other_versions: bool
) -> Iterator[Change]:
    """What makes other draws, not only other last bits."""
    for key, what in _DECIDES.items():
        if key in then and now.get(key) is not None and then[key] != now[key]:
            yield Change(what, str(then[key]), str(now[key]))
    yield from _setting_changes(then.get("sampler", {}), now.get("sampler", {}))
    for what, value in now.get("settings_of_jax", {}).items():
        began = then.get("settings_of_jax", {}).get(what, value)
        if began != value:
            yield Change(what, began, value)
    # Another version of JAX writes down the same step in other words.
    if not other_versions and then.get("step_sha256") not in (None, now.get("step_sha256")):
        before, after = _step_sizes(then), _step_sizes(now)
        changed = min(
            (s for s in before.keys() & after.keys() if before[s] != after[s]), default=-1
        )
        if changed >= 0:
            began, today = (f"{side[changed]:g} at step {changed}" for side in (before, after))
            yield Change("step size", began, today)
        else:
            what = "step: its network, prior, augmentation or schedule is not the same"
            yield Change(what, str(then["step_sha256"]), str(now.get("step_sha256")))


def _setting_changes(
    then: dict[str, Any], now: dict[str, Any], of: str = "sampler"
) -> Iterator[Change]:
    """Of the sampler, by name and group: "friction of base"."""
    for key in {**then, **now} if then and now else ():
        before, after = then.get(key), now.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _setting_changes(before, after, key)
        elif before != after:
            what = f"{key} of the sampler" if of == "sampler" else f"{of} of {key}"
            yield Change(what, str(before), str(after))


def _step_sizes(origin: dict[str, Any]) -> dict[int, float]:
    """By step, where the origin tells them."""
    schedule = origin.get("schedule", {})
    return dict(zip(schedule.get("at", ()), schedule.get("values", ()), strict=False))


def _rounding_changes(then: dict[str, Any], now: dict[str, Any]) -> Iterator[Change]:
    """What moves last bits: versions, the processor, XLA's flags and threads."""
    for section in ("versions", "rounding"):
        before = then.get(section, {})
        for what, value in now.get(section, {}).items():
            if before.get(what) != value:
                yield Change(what, before.get(what, "unknown") or "none", value or "none")


def _other_versions(changes: list[Change]) -> bool:
    return any(change.what in ("jax", "jaxlib", "pxsgmcmc") for change in changes)


def _write_down(record: StoredRun, changes: list[Change]) -> None:
    earlier = record.manifest["progress"].get("changes", [])
    entry = {"after_draws": len(record.draws), "changes": [change._asdict() for change in changes]}
    record.update(changes=[*earlier, entry])


def _short(value: str) -> str:
    return value if len(value) <= 40 else value[:12] + "..."
