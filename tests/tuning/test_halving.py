"""Successive halving: who is extended, who can win."""

from msgspec.structs import replace

from pxsgmcmc.results import Trial, TrialScore
from pxsgmcmc.tuning.halving import last_resort, leader, lengths_of, promotions, winner

LENGTHS = [2, 6, 18]


def score(nll, place=0, too_hot=-0.5, unsettled=None):
    return TrialScore(
        draws=LENGTHS[place], nll=nll, too_hot=too_hot, unsettled=unsettled, seconds=1.0
    )


def trial(number, *scores, **changes):
    made = Trial(number=number, settings={}, origin="", folder="", wanted=len(scores) or 1)
    return replace(made, scores=list(scores), **changes)


def test_lengths_are_thirds_of_each_other_and_short_runs_have_one():
    assert [lengths_of(draws) for draws in (27, 100, 9, 8, 3, 1)] == [
        [3, 9, 27],
        [12, 34, 100],
        [3, 9],
        [3, 8],
        [3],
        [1],
    ]


def test_the_best_third_is_extended_and_the_longest_first():
    trials = [trial(n, score(float(n))) for n in range(5)]
    assert promotions(trials, LENGTHS) == [0]
    assert promotions([*trials, trial(5, score(0.5))], LENGTHS) == [0, 5]
    trials = [trial(n, score(1.0), score(float(n), 1)) for n in range(3)]
    assert promotions([*trials, *(trial(n, score(0.1)) for n in (3, 4, 5))], LENGTHS)[0] == 0


def test_a_trial_that_was_extended_is_not_extended_again():
    trials = [trial(n, score(float(n))) for n in range(3)]
    trials[0] = replace(trials[0], wanted=2)
    assert promotions(trials, LENGTHS) == []


def test_hot_and_diverged_trials_count_but_are_not_extended():
    bad = [trial(1, score(0.0, too_hot=0.1)), trial(2, diverged=True), trial(3, score(None))]
    assert promotions([trial(0, score(5.0)), *bad[:2]], LENGTHS) == [0]
    assert promotions(bad, LENGTHS) == [] and last_resort(bad, LENGTHS) == []
    assert leader(bad, LENGTHS) is None


def test_only_settled_trials_at_their_temperature_of_full_length_win():
    def whole(n, nll, **last):
        return trial(n, score(1.0), score(1.0, 1), score(nll, 2, **last))

    short = trial(0, score(0.0), score(0.0, 1))
    hot, unsettled = whole(1, 0.1, too_hot=0.01), whole(2, 0.1, unsettled=0.01)
    assert winner([short, hot, unsettled], LENGTHS) is None
    good, better = whole(3, 0.6, unsettled=-0.2), whole(4, 0.5)
    assert winner([short, hot, unsettled, good, better], LENGTHS) == better
    assert leader([short, good], LENGTHS) == good


def test_when_nothing_has_won_the_best_one_left_goes_on():
    unsettled = trial(0, score(0.1), score(0.1, 1), score(0.1, 2, unsettled=1.0))
    waiting = [trial(1, score(0.3)), trial(2, score(0.2)), trial(3, score(0.9), score(0.9, 1))]
    assert last_resort([unsettled, *waiting], LENGTHS) == [3]
    assert last_resort([unsettled, *waiting[:2]], LENGTHS) == [2]
    settled = trial(4, score(1.0), score(1.0, 1), score(1.0, 2))
    assert last_resort([settled, *waiting], LENGTHS) == []
