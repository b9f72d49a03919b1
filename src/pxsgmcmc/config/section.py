"""What every section of a configuration has in common, and the bounds of its numbers."""

from typing import Annotated, TypeAlias

import msgspec

# Upper bounds keep out infinity and numbers that no counter here can hold.
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]
UpTo1000: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=1_000)]
Above: TypeAlias = Annotated[float, msgspec.Meta(gt=0.0, le=1e12)]
AtLeast0: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0, le=1e12)]
AtLeast1: TypeAlias = Annotated[float, msgspec.Meta(ge=1.0, le=1e3)]
Fraction: TypeAlias = Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]
UpTo1: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Below1: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0, lt=1.0)]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What all sections have in common: nothing may be misspelt, nothing changes."""
