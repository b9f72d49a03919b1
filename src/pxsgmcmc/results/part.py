"""What all results have in common, how they are written, and what they are about."""

# pyright: reportGeneralTypeIssues=false
# (It does not know that a struct inherits `frozen`.)

import msgspec


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What all parts have in common: nothing changes, nothing is misspelt."""


class Subject(Part):
    """Which run this is about."""

    method: str  # "SGHMC", "PX-SGHMC (c=1, d=1)": runs with the same are repetitions of each other
    settings: str  # digest of the configuration without seed: what `method` leaves unsaid
    data: str
    model: str  # as a reader would name it: "resnet_frn, depth 8, width 8"
    seed: int
    chains: int
    draws: int  # of all chains together
    steps: int  # taken by each chain
    parameters: int  # of the network
    sampled: int  # coordinates the sampler moves, factors included
    version: str
    skipped: int = 0  # draws left out at the start of each chain
    train_sha256: str = ""  # of the training rows; empty where it is not known
    test_sha256: str = ""  # of the test rows
    # Of the rows of every other set by its name in comparisons, "shift winter" or "ood photos".
    sets_sha256: dict[str, str] = msgspec.field(default_factory=dict)


class Verdict(Part):
    """Whether a run is to be believed.

    Attributes:
      healthy: None if there is too little to tell.
      headline: one sentence with the numbers it rests on.
      warnings: what is wrong and what to do about it, the gravest first.
    """

    healthy: bool | None
    headline: str
    warnings: list[str] = []

    def __str__(self) -> str:
        """The headline, and each warning on a line of its own."""
        return "\n".join([self.headline, *(f"- {warning}" for warning in self.warnings)])


class Curve(Part):
    """A metric against the number of draws, or against the draws left out."""

    at: list[int]
    values: dict[str, list[float]]  # metric -> one value for each of `at`


def write(part: Part) -> bytes:
    """As JSON, indented, so that a person can read it."""
    return msgspec.json.format(msgspec.json.encode(part), indent=1) + b"\n"
