"""The rule for a verdict on a claim, on values made by hand."""

import pytest

from pxsgmcmc.evaluate.seeds import holm, t_test
from pxsgmcmc.reproduce.experiment import ClaimPart
from pxsgmcmc.reproduce.outcome import claims_markdown
from pxsgmcmc.reproduce.verdicts import judge, value
from tests.reproduce.made_up_records import record, records

LOW = [0.10, 0.11, 0.09, 0.10, 0.12, 0.10, 0.11, 0.09]
HIGH = [0.20, 0.22, 0.19, 0.21, 0.20, 0.23, 0.20, 0.18]
BELOW = ClaimPart("test/nll", "PX", "below", "SP")


def arms(px, sp):
    return {"PX": records("test/nll", px), "SP": records("test/nll", sp)}


def test_a_claim_holds_if_the_direction_is_right_beyond_chance():
    verdict = judge([BELOW], arms(LOW, HIGH))
    assert verdict.word == "holds" and verdict.p is not None and verdict.p < 1e-4


def test_a_claim_does_not_hold_if_the_direction_is_wrong_beyond_chance():
    assert judge([BELOW], arms(HIGH, LOW)).word == "does not hold"


def test_within_chance_it_cannot_be_told():
    shifted = [v + d for v, d in zip(LOW, [0.01, -0.01] * 4, strict=True)]
    verdict = judge([BELOW], arms(LOW, shifted))
    assert verdict.word == "cannot be told" and "within chance" in verdict.reason


def test_every_part_has_to_hold_and_one_against_it_is_enough():
    kept = arms(LOW, HIGH) | {"other": records("test/nll", LOW)}
    equal = ClaimPart("test/nll", "PX", "below", "other")
    assert judge([BELOW, equal], kept).word == "cannot be told"
    wrong = ClaimPart("test/nll", "SP", "below", "other")
    assert judge([BELOW, wrong], kept).word == "does not hold"


def test_p_values_are_corrected_for_all_parts_of_the_claim():
    kept = arms(LOW, [v + 0.02 for v in reversed(LOW)])
    alone = judge([BELOW], kept).parts[0].p
    twice = judge([BELOW, BELOW, BELOW], kept).parts[0].p
    x, y = ([r.values["test/nll"] for r in kept[arm]] for arm in ("PX", "SP"))
    raw = t_test(x, y, paired=True)
    assert raw is not None and alone == pytest.approx(raw)
    assert twice == pytest.approx(holm([raw] * 3)[0])


@pytest.mark.parametrize("seeds, words", [(1, "one seed is too few"), (3, "3 seeds are too few")])
def test_few_seeds_are_said_to_be_too_few(seeds, words):
    verdict = judge([BELOW], arms(LOW[:seeds], HIGH[:seeds]))
    assert verdict.word == "cannot be told" and verdict.reason.startswith(words)


def test_without_runs_nothing_can_be_told():
    assert judge([BELOW], {"PX": [], "SP": []}).reason == "no runs yet"
    other = ClaimPart("test/err", "PX", "below", "SP")
    assert "1 of 2 parts have no values" in judge([BELOW, other], arms(LOW, HIGH)).reason


def test_about_equal_needs_proof_of_equality():
    about = ClaimPart("test/nll", "PX", "about", "SP")
    near = [1.0, 1.001, 0.999, 1.0, 1.002, 1.0, 0.998, 1.0]
    assert judge([about], arms(near, list(reversed(near)))).word == "holds"
    assert judge([about], arms(LOW, HIGH)).word == "does not hold"
    # Means that agree, with a spread that would hide a difference.
    wild = [0.5, 1.5, 0.6, 1.4, 0.7, 1.3, 0.5, 1.5]
    assert judge([about], arms(wild, list(reversed(wild)))).word == "cannot be told"


def test_a_bound_is_a_factor_on_the_second_value():
    within = BELOW._replace(factor=1.05)
    slower = [1.03 * v for v in HIGH]
    assert judge([within], arms(slower, HIGH)).word == "holds"
    assert judge([BELOW], arms(slower, HIGH)).word == "does not hold"


def test_a_statement_without_chance_needs_all_seeds_and_no_spread():
    exact = ClaimPart("test/nll", "PX", "below", 0.5, exact=True)
    assert judge([exact], {"PX": records("test/nll", [0.1])}).word == "holds"
    assert judge([exact], {"PX": records("test/nll", [0.9, 0.9])}).word == "does not hold"
    assert judge([exact], {"PX": records("test/nll", [0.1, 0.6])}).word == "cannot be told"


def test_a_measure_may_be_a_difference_of_two():
    kept = record({"a/ece": 0.5, "b/ece": 0.2})
    assert value(kept, "a/ece - b/ece") == pytest.approx(0.3)
    assert value(kept, "a/ece - c/ece") is None


def test_the_page_of_claims_has_the_parts_told_from_chance_and_counts_the_rest():
    kept = arms(LOW, HIGH) | {"same": records("test/nll", LOW)}
    parts = [
        BELOW,
        ClaimPart("test/nll", "PX", "below", "same"),
        ClaimPart("test/err", "PX", "below", "SP"),
    ]
    nothing = {"C1": judge(parts, {})}
    verdicts = {"desk": {"C1": judge(parts, kept)}, "paper": nothing}
    page = claims_markdown(verdicts, {"C1": "pxsgmcmc reproduce table1"})
    assert "| PX 0.103 | < | SP 0.204 |" in page and page.count("holds |") == 1
    assert "Of 3 parts 1 hold, 1 have the wrong one within chance, 1 have no values." in page
    assert page.startswith("| | claim | place | desk | command |")
    assert "No runs yet at these scales: paper." in page and "same" not in page
