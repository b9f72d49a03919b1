"""The search over made-up trials: it finds the best, stops early, survives, keeps to its limits."""

import pytest
from msgspec.structs import replace

from pxsgmcmc.errors import Diverged, UserError
from pxsgmcmc.jobs import Ended
from pxsgmcmc.tuning.conclusion import best_toml, by_thirds, concluded, raise_if_all_diverged
from pxsgmcmc.tuning.halving import winner
from pxsgmcmc.tuning.optuna_search import Tpe, is_installed
from pxsgmcmc.tuning.proposals import BestFirst
from pxsgmcmc.tuning.trial_book import TrialBook, as_csv
from tests.tuning.made_up_trials import STEP, VARIANCE, MadeUp, range_of, searched, tuning

needs_optuna = pytest.mark.skipif(not is_installed(), reason="the extra `tune` is not installed")
START = {"pilot": {STEP: 1e-2, VARIANCE: 1.0}}
LATTICE = tuning("best-first", lengths=(18,))


def test_best_first_walks_to_the_best_point_with_trials_of_equal_length(tmp_path):
    book = searched(tmp_path, BestFirst(), MadeUp(), trials=40, begun=LATTICE)
    assert len(book.tuning.trials) < 40  # settled: all neighbours of the best are known
    best = winner(book.tuning.trials, [18])
    assert best.settings == {STEP: 0.04, VARIANCE: 2.0}
    assert {score.draws for trial in book.tuning.trials for score in trial.scores} == {18}
    few = searched(tmp_path / "few", BestFirst(), MadeUp(), trials=3, begun=LATTICE)
    assert len(few.tuning.trials) == 3


@needs_optuna
def test_halving_spends_most_draws_on_the_best_and_starts_at_the_pilot(tmp_path):
    engine = MadeUp()
    book = searched(tmp_path, Tpe(tmp_path, 0), engine, begun=tuning(starts=START))
    trials = book.tuning.trials
    assert len(trials) == 12 and trials[0].settings == START["pilot"]
    lengths = [len(trial.scores) for trial in trials]
    assert lengths.count(1) >= 6 and 1 <= lengths.count(3) <= 3
    best = concluded(book.tuning, over=True).best
    assert best is not None and best.scores[-1].nll < trials[0].scores[0].nll
    assert best.scores[-1].draws == 18 and best.seconds == 3.0
    sampled = sum(trial.scores[-1].draws for trial in trials if trial.scores)
    assert sampled < 0.6 * 12 * 18


@needs_optuna
@pytest.mark.parametrize("most", [1, 5, 9])
def test_a_search_that_is_stopped_anywhere_ends_as_if_it_had_not_been(most, tmp_path):
    begun = tuning(starts=START)
    whole = searched(tmp_path / "whole", Tpe(tmp_path / "whole", 0), MadeUp(), begun=begun)
    place = tmp_path / "parts"
    first, second = MadeUp(most), MadeUp()
    halfway = searched(place, Tpe(place, 0), first, begun=begun)
    assert sum(len(trial.scores) + trial.diverged for trial in halfway.tuning.trials) == most
    parts = searched(place, Tpe(place, 0), second)
    assert not set(first.order) & set(second.order)  # nothing that was finished is done again
    assert parts.tuning.trials == whole.tuning.trials
    assert parts.tuning.ranges == whole.tuning.ranges


@needs_optuna
def test_more_trials_go_on_from_the_end_of_a_search(tmp_path):
    first = searched(tmp_path, Tpe(tmp_path, 0), MadeUp(), trials=5, begun=tuning(starts=START))
    book = searched(tmp_path, Tpe(tmp_path, 0), MadeUp(), trials=8)
    assert len(book.tuning.trials) == 8
    kept = [trial.scores[0] for trial in first.tuning.trials if trial.scores]
    assert [t.scores[0] for t in book.tuning.trials[:5] if t.scores] == kept


@needs_optuna
def test_the_edge_of_a_range_is_said_and_widened(tmp_path):
    low = tuning(
        ranges=[range_of(STEP, 1e-3, 5e-3, 3e-3), range_of(VARIANCE, 0.1, 10.0, 1.0)],
        starts={"pilot": {STEP: 3e-3, VARIANCE: 1.0}},
    )
    said = []
    book = searched(tmp_path, Tpe(tmp_path, 0), MadeUp(), trials=16, begun=low, said=said)
    assert any("upper edge of its range: widened to 0.001 to 0.02" in line for line in said)
    assert book.tuning.ranges[0].high > 0.0199 and book.tuning.ranges[0].first == (1e-3, 5e-3)
    assert max(trial.settings[STEP] for trial in book.tuning.trials) > 5e-3
    few = tuning(
        ranges=[range_of(STEP, 1e-3, 5e-3, 4.9e-3), range_of(VARIANCE, 0.1, 10.0, 1.0)],
        starts={"pilot": {STEP: 4.9e-3, VARIANCE: 1.0}},
    )
    one = searched(tmp_path / "one", Tpe(tmp_path, 0), MadeUp(), trials=1, begun=few)
    (note,) = concluded(one.tuning, over=True).notes
    assert "`sampler.step_size` = 0.0049 lies at the upper edge" in note and "--trials" in note


@needs_optuna
def test_a_chain_that_is_hot_or_has_not_settled_cannot_win(tmp_path):
    cool = searched(tmp_path / "a", Tpe(tmp_path / "a", 0), MadeUp(cool=8e-3), trials=9)
    best = concluded(cool.tuning, over=True).best
    assert best.settings[STEP] <= 8e-3  # the lowest NLL is at 4e-2
    hot = [trial for trial in cool.tuning.trials if trial.settings[STEP] > 8e-3]
    assert hot and all(cool.tuning.state_of(trial) == "off temperature" for trial in hot)
    book = searched(tmp_path / "b", Tpe(tmp_path / "b", 0), MadeUp(unsettled=0.5), trials=4)
    ended = concluded(book.tuning, over=True)
    assert ended.best is None and "No trial of full length has settled" in ended.notes[0]
    assert all(len(t.scores) == 3 for t in book.tuning.trials if not t.diverged)  # each had its go
    cold = searched(tmp_path / "c", Tpe(tmp_path / "c", 0), MadeUp(cool=1e-9), trials=4)
    assert "No trial was at its temperature" in concluded(cold.tuning, over=True).notes[0]


@needs_optuna
def test_when_all_diverge_it_says_what_was_tried_and_how_far_one_may_go(tmp_path):
    book = searched(tmp_path, Tpe(tmp_path, 0), MadeUp(stable=0.0), trials=6)
    with pytest.raises(Diverged) as error:
        raise_if_all_diverged(book.tuning)
    for words in ("All 6 trials diverged", "prior.variance", "stable up to 0.2", "=0.002:0.07"):
        assert words in str(error.value)
    assert "another `--out`" in str(error.value)  # the folder keeps to the ranges it began with
    one = replace(book.tuning, trials=book.tuning.trials[:1])
    with pytest.raises(Diverged, match=r"^The only trial .* 0\.0125, prior\.variance 2\.69\);"):
        raise_if_all_diverged(one)
    raise_if_all_diverged(searched(tmp_path / "ok", Tpe(tmp_path, 0), MadeUp(), 2).tuning)


@needs_optuna
def test_a_budget_of_time_ends_with_one_trial_of_full_length(tmp_path):
    engine = MadeUp(seconds=10.0)
    book = searched(tmp_path, Tpe(tmp_path, 0), engine, trials=1000, seconds=200.0)
    assert winner(book.tuning.trials, [2, 6, 18]) is not None
    assert 100.0 < book.tuning.seconds <= 260.0
    more = searched(tmp_path, Tpe(tmp_path, 0), engine, trials=1000, seconds=400.0)
    assert len(more.tuning.trials) > 4 and more.tuning.seconds <= 460.0


def test_a_trial_that_fails_for_another_reason_ends_the_search_with_its_words(tmp_path):
    class Fails(MadeUp):
        def run(self, jobs, watch):
            watch.ended(jobs[0], Ended(2, "pxsgmcmc: `data` is missing.\n"))

    with pytest.raises(UserError, match=r"trial 0: `data` is missing\."):
        searched(tmp_path, BestFirst(), Fails(), begun=LATTICE)


def test_the_table_and_the_best_file_say_what_came_of_it(tmp_path):
    book = searched(tmp_path, BestFirst(), MadeUp(), trials=9, begun=LATTICE)
    ended = concluded(book.tuning, over=True)
    lines = as_csv(ended).splitlines()
    assert lines[0].startswith("trial,origin,sampler.step_size,prior.variance,state,draws,valid")
    assert len(lines) == 10 and lines[1].startswith("0,best-first,0.01,1.0,whole,18,")
    text = best_toml(ended)
    assert f"step_size = {ended.best.settings[STEP]!r}" in text and text.startswith("# The best of")
    assert sum(ended.mattered.values()) > 0.2 and set(ended.mattered) == {STEP, VARIANCE}


def test_thirds_tell_a_setting_that_matters_from_one_that_does_not(tmp_path):
    engine = MadeUp()
    book = searched(tmp_path, BestFirst(), engine, trials=30, begun=LATTICE)
    assert by_thirds(book.tuning)[STEP] > 0.0
    assert by_thirds(tuning()) == {}


def test_a_folder_with_another_search_is_refused_and_a_damaged_file_named(tmp_path):
    book = searched(tmp_path, BestFirst(), MadeUp(), trials=1, begun=LATTICE)
    with pytest.raises(UserError, match="another space"):
        book.check_same(asked="{1}")
    (tmp_path / "trials.json").write_text("{}")
    with pytest.raises(Exception, match=r"trials\.json"):
        TrialBook.read(tmp_path)


def test_best_first_refuses_what_has_no_factors_of_two(tmp_path):
    depth = tuning("best-first", (18,), ranges=[range_of("expansion.out", 0, 2, 1, whole=True)])
    with pytest.raises(UserError, match="cannot search expansion"):
        searched(tmp_path, BestFirst(), MadeUp(), begun=depth)
