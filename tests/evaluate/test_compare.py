"""Runs put side by side, on results made by hand."""

import msgspec
import pytest

from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluate.compare import compare
from pxsgmcmc.results import Comparison, write
from tests.helpers.made_up_results import corrupted, detection, result

GOOD, BAD = [0.20, 0.22, 0.21, 0.19], [0.30, 0.33, 0.31, 0.32]


def runs(method, values, settings="s", first=0, **more):
    return [
        result(method, first + i, {"nll": v}, settings=settings, **more)
        for i, v in enumerate(values)
    ]


def test_mean_and_sample_standard_deviation_over_seeds():
    found = compare(runs("SGHMC", [1.0, 2.0, 4.0]) + runs("PX", [3.0]))
    (row,) = found.rows
    sghmc, px = row.methods
    assert sghmc and px
    assert sghmc.mean == pytest.approx(7 / 3) and sghmc.sd == pytest.approx((7 / 3) ** 0.5)
    assert sghmc.values == [1.0, 2.0, 4.0] and (px.mean, px.sd) == (3.0, None)
    assert any("One seed has no standard deviation" in n and "PX" in n for n in found.notes)
    assert found.differences == []


def test_seeds_are_sorted_and_methods_stay_in_their_order():
    given = runs("B", [1.0, 2.0]) + runs("A", [3.0])
    found = compare([given[1], given[0], given[2]])
    assert [m.name for m in found.methods] == ["B", "A"]
    assert found.methods[0].seeds == [0, 1]
    assert found.rows[0].methods[0].values == [1.0, 2.0]


def test_the_best_is_the_lowest_or_the_highest_and_nobody_where_neither_is_good():
    scores = {"nll": 0.2, "err": 0.1, "amb": 0.3}
    one = result("A", 0, scores, ood={"photos": detection(auroc=0.9)})
    two = result(
        "B", 0, {"nll": 0.3, "err": 0.1, "amb": 0.1}, ood={"photos": detection(auroc=0.95)}
    )
    found = compare([one, two])
    best = {row.key: [s.best for s in row.methods] for row in found.rows}
    assert best["test/nll"] == [True, False]
    assert best["test/err"] == [True, True]
    assert best["test/amb"] == [False, False]
    assert best["ood photos/auroc"] == [False, True]


def test_alone_nobody_is_best():
    (row,) = compare(runs("SGHMC", GOOD)).rows
    assert not row.methods[0].best


def test_the_usual_rows_are_shown_in_order():
    one = result(
        "A",
        0,
        {"ind": 1.0, "nll": 0.2, "err": 0.1, "ece": 0.05, "brier": 0.2, "entropy": 0.3},
        shifts={"mnist": {"err": 0.5, "nll": 1.0, "ece": 0.3}},
        corruptions=corrupted({"err": 0.3, "nll": 0.9, "ece": 0.1, "amb": 0.1}),
        ood={"photos": detection(auroc=0.9, tnr95_inside=0.5)},
    )
    assert [row.key for row in compare([one]).rows] == [
        "test/ind",
        "test/nll",
        "test/err",
        "test/ece",
        "test/brier",
        "shift mnist/err",
        "shift mnist/nll",
        "corruptions/err",
        "corruptions/nll",
        "corruptions/ece",
        "ood photos/auroc",
    ]
    asked = compare([one], metrics=["ood photos/tnr95_inside", "ece", "train"]).rows
    assert [row.key for row in asked] == [
        "ood photos/tnr95_inside",
        "test/ece",
        "shift mnist/ece",
        "corruptions/ece",
        *[f"train/{name}" for name in ("ind", "nll", "err", "ece", "brier", "entropy")],
    ]
    titles = {row.key: row.title for row in asked}
    assert titles["ood photos/tnr95_inside"] == "photos TNR95 (inside)"
    assert titles["corruptions/ece"] == "Corrupted ECE"


def test_one_method_with_two_settings_is_named_apart():
    given = runs("SGHMC", GOOD, settings="aaaa") + runs("SGHMC", BAD, settings="bbbb")
    found = compare([*given, *runs("PX", GOOD)])
    assert [m.name for m in found.methods] == ["SGHMC [aaaa]", "SGHMC [bbbb]", "PX"]


def test_four_seeds_each_tell_what_is_far_apart():
    (d,) = compare(runs("SGHMC", BAD) + runs("PX", GOOD)).differences
    assert (d.first, d.second, d.paired) == ("SGHMC", "PX", False)
    assert d.difference == pytest.approx(-0.11)
    assert d.permutation == pytest.approx(2 / 70)
    assert d.t is not None and d.t < 1e-4 and d.told_apart


def test_two_seeds_each_cannot_tell_and_say_so():
    found = compare(runs("SGHMC", [0.300, 0.301]) + runs("PX", [0.200, 0.201]))
    (d,) = found.differences
    assert d.t < 0.001 and d.permutation == pytest.approx(1 / 3) and not d.told_apart
    assert any("2 seeds each are too few" in note and "0.33" in note for note in found.notes)


def test_six_common_seeds_are_compared_pair_by_pair():
    a = [0.3, 0.5, 0.4, 0.6, 0.2, 0.35]
    found = compare(runs("A", a) + runs("B", [x - 0.01 - 0.001 * i for i, x in enumerate(a)]))
    (d,) = found.differences
    assert d.paired and d.permutation == 2 / 64 and d.told_apart
    (loose,) = compare(runs("A", a) + runs("B", [x - 0.01 for x in a], first=6)).differences
    assert not loose.paired and not loose.told_apart


def test_pairing_can_be_asked_for_and_refused():
    together = runs("A", GOOD) + runs("B", BAD)
    assert compare(together, paired=True).differences[0].permutation == 2 / 16
    assert any("4 pairs of seeds" in note for note in compare(together, paired=True).notes)
    with pytest.raises(UserError, match="`paired` asks for the same seeds"):
        compare(runs("A", GOOD) + runs("B", BAD, first=1), paired=True)


def test_the_correction_counts_every_difference_shown():
    many = [
        result(m, i, {"nll": v, "err": v / 2, "brier": 2 * v})
        for m, values in (("A", GOOD), ("B", BAD))
        for i, v in enumerate(values)
    ]
    (alone,) = compare(many, metrics=["nll"]).differences
    assert alone.t_corrected == alone.t
    three = compare(many).differences
    assert [d.row for d in three] == ["test/nll", "test/err", "test/brier"]
    assert three[0].t_corrected == pytest.approx(3 * alone.t)
    assert three[0].permutation_corrected == pytest.approx(3 * 2 / 70)


def test_three_methods_give_three_differences_a_row():
    found = compare(runs("A", GOOD) + runs("B", BAD) + runs("C", BAD[::-1]))
    assert [(d.first, d.second) for d in found.differences] == [("A", "B"), ("A", "C"), ("B", "C")]


def test_what_one_seed_lacks_is_not_averaged_over_the_others():
    whole, part = result("A", 0, {"nll": 1.0, "err": 0.1}), result("A", 1, {"nll": 2.0})
    found = compare([whole, part, result("B", 0, {"nll": 3.0, "err": 0.2})])
    rows = {row.key: row.methods for row in found.rows}
    assert rows["test/err"][0] is None and rows["test/err"][1].mean == 0.2
    assert any("Not every run of A was evaluated on test/err" in n for n in found.notes)


def test_unequal_budgets_are_said():
    found = compare(runs("A", GOOD) + runs("B", BAD, steps=8000))
    assert any("equally many steps: A 4,000, B 8,000" in note for note in found.notes)


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (
            result("B", 0, {"nll": 1.0}, data="mnist"),
            "the same data only, got 'digits' and 'mnist'",
        ),
        (result("B", 0, {"nll": 1.0}, model="mlp"), "the same model only"),
        (result("B", 0, {"nll": 1.0}, rows=5), "equally many test rows only"),
        (result("A", 0, {"nll": 1.0}), "Two runs are of A with the same settings and seed 0"),
    ],
)
def test_what_cannot_be_compared_is_refused(second, words):
    with pytest.raises(UserError, match=words):
        compare([result("A", 0, {"nll": 1.0}), second])


def test_other_test_rows_in_the_same_number_are_refused():
    one, two = (result(m, 3, {"nll": 1.0}, test_sha256=h) for m, h in (("A", "aa"), ("B", "bb")))
    words = "same test rows only, but those of A with seed 3 and of B with seed 3 differ"
    with pytest.raises(UserError, match=words):
        compare([one, two])
    unknown = result("C", 0, {"nll": 1.0})
    with pytest.raises(UserError, match=words):
        compare([unknown, one, two])
    assert len(compare([unknown, one]).methods) == 2


def test_a_shift_with_other_rows_is_left_out_and_said():
    def run(seed, digest):
        shifts = {"winter": {"nll": 0.3}, "summer": {"nll": 0.4}}
        sets = {"shift winter": digest, "shift summer": "same"}
        return result("SGHMC", seed, {"nll": 0.2}, shifts=shifts, sets_sha256=sets)

    found = compare([run(0, "a"), run(1, "b")])
    assert [row.key for row in found.rows] == ["test/nll", "shift summer/nll"]
    assert found.notes[0] == "Left out: the rows of shift winter are not the same for all runs."


def test_other_training_rows_are_said():
    hashes = {"A": "aa", "B": "aa", "C": "cc", "D": ""}  # that of D is not known
    given = [result(m, 0, {"nll": 1.0}, train_sha256=h) for m, h in hashes.items()]
    note = "Not all methods had the same training rows: those of C are not those of A."
    assert note in compare(given).notes
    assert not any("training rows" in note for note in compare(given[:2]).notes)


def test_nothing_and_an_unknown_metric_are_refused():
    with pytest.raises(UserError, match="at least one run"):
        compare([])
    with pytest.raises(UserError, match=r"'tst/nll', which these .*; did you mean `test/nll`\?"):
        compare(runs("A", GOOD), metrics=["tst/nll"])
    with pytest.raises(UserError, match=r"'accuracy', which these .*; known: test/nll"):
        compare(runs("A", GOOD), metrics=["accuracy"])


def test_a_comparison_is_written_and_read_again():
    found = compare(runs("A", GOOD) + runs("B", BAD))
    assert msgspec.json.decode(write(found), type=Comparison) == found
