"""What may stand in the open parts of a manifest, of an index line and of a log line.

A seal says that a file is as somebody wrote it, not that a chain of ours did: whoever can write a
manifest can seal it. So every fact that a reader relies on has a type, and is checked when it is
read. None has to be there, and others may stand beside them.
"""

from typing import Annotated, Any

import msgspec

_Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_Length = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
_Size = Annotated[float, msgspec.Meta(ge=0.0, le=1e100)]  # its square is a number, too
_ByGroup = dict[str, _Size | None]


class _Collection(msgspec.Struct):
    draws: _Count
    cycle_length: _Length
    burn_in: _Count = 0
    draws_per_cycle: _Length = 1
    thinning: _Length = 1


class _Sampler(msgspec.Struct):
    name: str = ""
    temperature: _Size = 0.0
    thermal_momentum: bool = False
    friction: _ByGroup = {}
    noise: _ByGroup = {}


class _Schedule(msgspec.Struct):
    period: _Length | None = None
    offset: _Whole = 0
    at: list[_Whole] = []
    values: list[float] = []


class Origin(msgspec.Struct):
    """How a run was made."""

    seed: _Whole = 0
    chain: _Count = 0
    executor: str = ""
    versions: dict[str, str] = {}
    rounding: dict[str, str] = {}
    settings_of_jax: dict[str, str] = {}
    code: str | None = None
    method: str = ""
    sampler: _Sampler = msgspec.field(default_factory=_Sampler)
    group_sizes: dict[str, _Count] = {}
    parameters: _Count = 0
    sampled: _Count = 0
    collection: _Collection | msgspec.UnsetType = msgspec.UNSET
    schedule: _Schedule = msgspec.field(default_factory=_Schedule)
    batch_size: _Count = 0
    devices: _Count = 1
    data: str = ""
    rows: _Count = 0
    data_sha256: str | None = None
    likelihood: str | None = None
    task: str = ""
    model: str = ""
    names: list[str] = []
    prior: str = ""
    settings: str = ""
    step_sha256: str | None = None
    start_sha256: str | None = None
    prepared: dict[str, Any] | None = None


class _Setback(msgspec.Struct):
    step_size_factor: float
    noticed: _Count = 0
    back_to: _Count = 0


class _Change(msgspec.Struct):
    what: str
    began: str
    now: str


class _Accepted(msgspec.Struct):
    after_draws: _Count
    changes: list[_Change]


class RunProgress(msgspec.Struct):
    """What was learnt on the way."""

    draws: _Count = 0
    divergence: str = ""
    retried: list[_Setback] = []
    changes: list[_Accepted] = []


class DrawFacts(msgspec.Struct):
    """What is known of a draw besides its step and its energy."""

    temperature: dict[str, float] = {}
    acceptance: float | None = None
    mean_energy: float = 0.0
    mean_step_size: _Size = 0.0


class LogLine(DrawFacts):
    """What a chunk of steps looked like."""

    step: _Count = 0
    total_steps: _Count = 0
    draws: _Count = 0
    all_draws: _Count = 0
    steps_per_second: float = 0.0
    energy: float = 0.0
    step_size: float = 0.0
    time: float = 0.0
    norm: dict[str, float] = {}


def check_facts(facts: dict[str, Any], kind: type[msgspec.Struct]) -> None:
    """Raise `msgspec.ValidationError` if one of the known facts is not of its type.

    Example:
      >>> check_facts({"seed": 1, "mine": [2]}, Origin)
      >>> check_facts({"seed": "one"}, Origin)
      Traceback (most recent call last):
      ...
      msgspec.ValidationError: Expected `int`, got `str` - at `$.seed`
    """
    msgspec.convert(facts, kind)
