"""Differences between methods, tested over their seeds."""

from itertools import combinations
from statistics import fmean

import msgspec

from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluate.seeds import holm, permutation_test, smallest_p, t_test
from pxsgmcmc.results import ComparedMethod, Difference, Row

LEVEL = 0.05
FEWEST_PAIRS = 6  # with fewer, a paired permutation test cannot give less than `LEVEL`


def differences(
    methods: list[ComparedMethod], rows: list[Row], paired: bool | None
) -> list[Difference]:
    """Every pair of methods on every row that both have, where both have several seeds.

    Two methods are told apart where Student's test says so after correction and the permutation
    test agrees. The first alone would be too easily impressed by two seeds that happen to agree;
    the second alone, corrected, would need more seeds than a desk has.

    Args:
      methods: with their seeds.
      rows: with the methods in the same order.
      paired: seed by seed; None does so where two methods have the same seeds, at least
        `FEWEST_PAIRS` of them. Repetitions that share a seed are alike rather than unlike, if
        anything, and then a test that does not pair them errs on the side of doubt.
    """
    several = [place for place, method in enumerate(methods) if len(method.seeds) > 1]
    tested = []
    for row in rows:
        for i, j in combinations(several, 2):
            a, b = row.methods[i], row.methods[j]
            if a is not None and b is not None:
                tested.append(_test(row, methods[i], a.values, methods[j], b.values, paired))
    return _corrected(tested)


def _test(
    row: Row,
    one: ComparedMethod,
    a: list[float],
    two: ComparedMethod,
    b: list[float],
    paired: bool | None,
) -> Difference:
    if paired and one.seeds != two.seeds:
        raise UserError(
            f"`paired` asks for the same seeds, but {one.name} has {one.seeds} and {two.name} has "
            f"{two.seeds}."
        )
    enough = one.seeds == two.seeds and len(one.seeds) >= FEWEST_PAIRS
    pairs = enough if paired is None else paired
    t, permutation = t_test(a, b, paired=pairs), permutation_test(a, b, paired=pairs)
    return Difference(
        row=row.key,
        first=one.name,
        second=two.name,
        difference=fmean(b) - fmean(a),
        paired=pairs,
        t=t,
        permutation=permutation,
        t_corrected=t,
        permutation_corrected=permutation,
        told_apart=False,
    )


def _corrected(tested: list[Difference]) -> list[Difference]:
    """With p-values corrected for the number of all of them."""
    permuted = holm([d.permutation for d in tested])
    by_t = iter(holm([d.t for d in tested if d.t is not None]))
    corrected = []
    for difference, permutation in zip(tested, permuted, strict=True):
        t = None if difference.t is None else next(by_t)
        corrected.append(
            msgspec.structs.replace(
                difference,
                t_corrected=t,
                permutation_corrected=permutation,
                told_apart=t is not None and t < LEVEL and difference.permutation < LEVEL,
            )
        )
    return corrected


def notes_on_tests(methods: list[ComparedMethod], tested: list[Difference]) -> list[str]:
    """Sentences on what so few seeds cannot tell."""
    if len(methods) < 2:
        return []
    notes = []
    single = [method.name for method in methods if len(method.seeds) == 1]
    if single:
        notes.append(
            f"One seed has no standard deviation and tells nothing about a difference: "
            f"{', '.join(single)}."
        )
    seeds = {method.name: len(method.seeds) for method in methods}
    reach: dict[tuple[int, int, bool], float] = {}
    for d in tested:
        one, two = sorted((seeds[d.first], seeds[d.second]))
        reach[one, two, d.paired] = smallest_p(one, two, paired=d.paired)
    for (one, two, paired), least in reach.items():
        if least < LEVEL:
            continue
        unpaired = f"{one} seeds each" if one == two else f"{one} and {two} seeds"
        having = f"{one} pairs of seeds" if paired else unpaired
        notes.append(
            f"{having} are too few to tell methods apart: the permutation test cannot give less "
            f"than {least:.2g}, whatever the values, and {LEVEL} is asked for."
        )
    return notes
