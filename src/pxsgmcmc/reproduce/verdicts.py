"""Verdicts on claims, over seeds.

A claim *holds* if every part of it has the right direction and is told from chance; it *does not
hold* if any part has the wrong direction and is told from chance; otherwise it *cannot be told*. A
part is told from chance where Student's test, after Holm's correction for all parts of the claim,
and the exact permutation test both give less than 0.05. Both are paired by seed where there are six
pairs or more. "About equal" means within 5 %, shown by two one-sided tests.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Literal, NamedTuple

from pxsgmcmc.evaluate.differences import FEWEST_PAIRS, LEVEL
from pxsgmcmc.evaluate.seeds import holm, permutation_test, smallest_p, t_test
from pxsgmcmc.reproduce.experiment import ClaimPart
from pxsgmcmc.reproduce.record import Record

Word = Literal["holds", "does not hold", "cannot be told"]
MARGIN = 0.05  # of the second value, for "about equal"


class Tested(NamedTuple):
    """One part of a claim, tested.

    Attributes:
      part: which.
      first: mean of the first arm; None where it has no value.
      second: mean of the second arm, or the number.
      right: whether the direction is right; None where it is not known.
      p: of Student's test, corrected over the parts of the claim; None where there is none.
      permutation: of the exact test.
      seeds: how many were compared.
      word: the verdict on this part alone.
    """

    part: ClaimPart
    first: float | None
    second: float | None
    right: bool | None
    p: float | None
    permutation: float | None
    seeds: int
    word: Word


class ClaimVerdict(NamedTuple):
    """On a claim: the word, the parts, and why it cannot be told if so."""

    word: Word
    parts: Sequence[Tested]
    reason: str = ""

    @property
    def p(self) -> float | None:
        """The p-value that decided: the largest if it holds, the smallest against it if not."""
        known = [t for t in self.parts if t.p is not None and not t.part.exact]
        if self.word == "does not hold":
            known = [t for t in known if t.word == "does not hold"]
            return min((t.p for t in known if t.p is not None), default=None)
        return max((t.p for t in known if t.p is not None), default=None)


def judge(parts: Sequence[ClaimPart], records: Mapping[str, Sequence[Record]]) -> ClaimVerdict:
    """The verdict on a claim.

    Args:
      parts: what it states.
      records: of each arm.
    """
    raw = [_test(part, records) for part in parts]
    corrected = iter(holm([t.p for t in raw if t.p is not None]))
    tested = [_decided(t._replace(p=None if t.p is None else next(corrected))) for t in raw]
    words = [t.word for t in tested]
    if "does not hold" in words:
        return ClaimVerdict("does not hold", tested)
    if tested and all(word == "holds" for word in words):
        return ClaimVerdict("holds", tested)
    return ClaimVerdict("cannot be told", tested, _reason(tested))


def value(record: Record, measure: str) -> float | None:
    """A measure of a record, or the difference of two."""
    one, minus, two = measure.partition(" - ")
    first, second = record.values.get(one), record.values.get(two) if minus else 0.0
    return None if first is None or second is None else first - second


def _test(part: ClaimPart, records: Mapping[str, Sequence[Record]]) -> Tested:
    a = _by_seed(records.get(part.first, ()), part.measure)
    if isinstance(part.second, str):
        b = _by_seed(records.get(part.second, ()), part.measure)
    else:
        b = dict.fromkeys(a, part.second)
    b = {seed: part.factor * x for seed, x in b.items()}
    if not a or not b:
        return Tested(part, None, None, None, None, None, 0, "cannot be told")
    shared = sorted(a.keys() & b.keys())
    paired = isinstance(part.second, float | int) or (
        a.keys() == b.keys() and len(shared) >= FEWEST_PAIRS
    )
    x, y = (
        ([a[s] for s in shared], [b[s] for s in shared])
        if paired
        else (
            list(a.values()),
            list(b.values()),
        )
    )
    first, second, count = fmean(a.values()), fmean(b.values()), min(len(x), len(y))
    if part.relation == "about":
        return _about_equal(part, first, second, x, y, paired)
    right = first < second if part.relation == "below" else first > second
    if part.exact:
        agree = all(
            (u < v) == (part.relation == "below") and u != v for u, v in zip(x, y, strict=True)
        )
        p = 0.0 if agree or not right else 1.0
        return Tested(part, first, second, right, p, p, count, "cannot be told")
    if count < 2:
        return Tested(part, first, second, right, None, None, count, "cannot be told")
    p, permutation = t_test(x, y, paired=paired), permutation_test(x, y, paired=paired)
    return Tested(part, first, second, right, p, permutation, count, "cannot be told")


def _about_equal(
    part: ClaimPart, first: float, second: float, x: list[float], y: list[float], paired: bool
) -> Tested:
    """Within the margin, by two one-sided tests; apart, by a two-sided one."""
    margin, count = MARGIN * abs(second), min(len(x), len(y))
    right = abs(first - second) <= margin
    if count < 2:
        return Tested(part, first, second, right, None, None, count, "cannot be told")
    if not right:
        p, permutation = t_test(x, y, paired=paired), permutation_test(x, y, paired=paired)
        return Tested(part, first, second, right, p, permutation, count, "cannot be told")
    p = _one_sided_pair(x, y, margin, paired)
    return Tested(part, first, second, right, p, p, count, "cannot be told")


def _one_sided_pair(x: list[float], y: list[float], margin: float, paired: bool) -> float | None:
    """The larger p-value of the two one-sided tests that a difference is inside the margin."""
    from scipy import stats

    if paired:
        differences = [u - v for u, v in zip(x, y, strict=True)]
        error, freedom = stdev(differences) / math.sqrt(len(differences)), len(differences) - 1
    else:
        u, v = stdev(x) ** 2 / len(x), stdev(y) ** 2 / len(y)
        error = math.sqrt(u + v)
        freedom = (u + v) ** 2 / (u**2 / (len(x) - 1) + v**2 / (len(y) - 1)) if error else 1.0
    if error == 0.0:
        return None
    distance = margin - abs(fmean(x) - fmean(y))
    return float(stats.t.sf(distance / error, freedom))


def _decided(tested: Tested) -> Tested:
    sure = (
        tested.p is not None
        and tested.permutation is not None
        and max(tested.p, tested.permutation) < LEVEL
    )
    if not sure or tested.right is None:
        return tested
    return tested._replace(word="holds" if tested.right else "does not hold")


def _by_seed(records: Sequence[Record], measure: str) -> dict[int, float]:
    known = {record.seed: value(record, measure) for record in records}
    return {seed: x for seed, x in known.items() if x is not None}


def _reason(tested: Sequence[Tested]) -> str:
    lacking = [t for t in tested if t.first is None or t.second is None]
    if len(lacking) == len(tested):
        return "no runs yet"
    if lacking:
        return f"{len(lacking)} of {len(tested)} parts have no values"
    fewest = min(t.seeds for t in tested)
    paired = fewest >= FEWEST_PAIRS
    if fewest < 2 or smallest_p(fewest, fewest, paired=paired) >= LEVEL:
        few = "one seed is" if fewest == 1 else f"{fewest} seeds are"
        return f"{few} too few for any test to tell"
    open_parts = [t for t in tested if t.word == "cannot be told"]
    wrong = sum(t.right is False for t in open_parts)
    return f"{len(open_parts)} of {len(tested)} parts are within chance" + (
        f", {wrong} of them with the wrong direction" if wrong else ""
    )
