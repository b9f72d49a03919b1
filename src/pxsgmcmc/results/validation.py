"""How a run does on the validation rows alone: what a search over settings goes by."""

# pyright: reportGeneralTypeIssues=false
# (It does not know that a struct inherits `frozen`.)

from typing import Literal

from pxsgmcmc.results.part import Part, Subject, Verdict


class Validation(Part):
    """All of `eval/validation.json`. Nothing in it depends on the test rows.

    Attributes:
      subject: which run, and how many draws.
      rows: of the validation split.
      metrics: of all draws together; one that is not finite is left out.
      verdict: from temperatures and energies.
      too_hot: by how much the worst kinetic temperature is beyond its limit, as a share of the
        limit; at most 0 is fine, None if there is no temperature to judge.
      unsettled: likewise for the R-hat of the energy; None if there are too few draws.
    """

    subject: Subject
    rows: int
    metrics: dict[str, float]
    verdict: Verdict
    too_hot: float | None
    unsettled: float | None
    format: Literal[1] = 1
