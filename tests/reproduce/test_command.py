"""`pxsgmcmc reproduce`: what it lists, and bad input in one sentence."""

import re
from pathlib import Path

import pytest

from pxsgmcmc.reproduce.estimate import spelt
from tests.helpers.cli_calls import assert_one_line, call


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("PXSGMCMC_DATA", str(tmp_path / "data"))
    return ["--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs")]


def test_the_list_has_every_experiment():
    said = call("reproduce", "list")
    assert said.code == 0
    for name in ("toy", "table1", "table9", "cold-posterior", "burn-in", "widths"):
        assert f"\n{name} " in f"\n{said.out}"


def test_a_dry_run_lists_runs_and_cost_and_makes_nothing(places, tmp_path):
    said = call("reproduce", "table4", "--dry-run", "--seeds", "2", *places)
    assert said.code == 0 and "c=2, d=2, seed 1" in said.out
    assert "10 of 10 to make, about" in said.out and "GB of memory each" in said.out
    assert not (tmp_path / "results").exists() and not (tmp_path / "runs").exists()


def test_all_desk_experiments_take_little_more_than_two_hours(places):
    said = call("reproduce", "all", "--dry-run", "--at-once", "2", *places)
    hours, cores = re.search(r"about ([0-9.]+) hours on (\d) core", said.out).groups()
    # 2.1 on two cores since the burn-in is 4,000 steps; two hours were aimed at.
    assert float(hours) * int(cores) <= 2 * 2.5


def test_an_unknown_name_is_corrected(places):
    assert_one_line(call("reproduce", "table11", *places), 2, "did you mean `table1`?")


def test_no_seeds_are_refused(places):
    said = call("reproduce", "table1", "--seeds", "0", *places)
    assert_one_line(said, 2, "`seeds` must be a whole number of at least 1, got 0")


def test_an_unknown_scale_is_corrected(places):
    said = call("reproduce", "table1", "--scale", "lap", *places)
    assert_one_line(said, 2, "`--scale` cannot be 'lap'; did you mean `laptop`?")


def test_what_takes_weeks_has_to_be_asked_for_twice(places):
    said = call("reproduce", "table1", "--scale", "paper", *places)
    assert_one_line(said, 2, "would take about", "days", "`--yes` starts it all the same")


def test_missing_data_are_named_with_their_address(places):
    said = call("reproduce", "table1", "--scale", "paper", "--yes", *places)
    assert_one_line(said, 2, "pxsgmcmc data get cifar10", "https://www.cs.toronto.edu")


def test_a_file_that_only_users_have_is_asked_for(places, monkeypatch):
    monkeypatch.setattr("pxsgmcmc.reproduce.running.locate", lambda name: None)
    said = call("reproduce", "l2e", "--scale", "paper", "--only", "L2E, cifar10", "--yes", *places)
    assert_one_line(said, 2, "meta_params.pickle` is needed and not there", "Kim et al. (2024)")


def test_a_method_without_settings_names_the_search_that_finds_them(places, monkeypatch):
    monkeypatch.setattr("pxsgmcmc.cli.reproduce.read_settings", lambda scale: {})
    said = call("reproduce", "l2e", "--only", "PX-L2E", *places)
    assert_one_line(said, 2, "`pxsgmcmc reproduce search --scale desk --methods l2e`")


def test_a_damaged_record_is_named(places, tmp_path):
    listed = call("reproduce", "table4", "--dry-run", "--seeds", "1", *places)
    digest = re.search(r"c=2.* ([0-9a-f]{12}) ", listed.out).group(1)
    folder = tmp_path / "results" / "desk" / f"px-sghmc-c-2-d-2-{digest}"
    folder.mkdir(parents=True)
    (folder / "seed-0.json").write_text("{")
    said = call("reproduce", "table4", "--seeds", "1", *places)
    assert_one_line(said, 2, "seed-0.json` is damaged: remove it, and the run is made again")


def test_a_stopped_command_is_repeated_with_the_folders_that_were_named(
    places, tmp_path, monkeypatch
):
    monkeypatch.setattr("pxsgmcmc.cli.reproduce.make", lambda *_, **__: 15)
    said = call("reproduce", "lemma", "--seeds", "1", *places)
    assert said.code == 143
    again = said.out.splitlines()[-1]
    assert again.startswith("  pxsgmcmc reproduce lemma --scale desk --seeds 1 --results ")
    assert str(tmp_path) in again and "--engine" not in again


def test_claims_are_listed_with_a_verdict_at_each_scale(places):
    assert_one_line(call("reproduce", "claims", *places[:2]), 2, "`--results` must be a folder")
    Path(places[1]).mkdir()
    said = call("reproduce", "claims", *places[:2])
    assert said.code == 0 and said.out.count("no runs yet") > 20
    assert "C26 (Section 3.2)" in said.out and "command pxsgmcmc reproduce table1" in said.out
    page = call("reproduce", "claims", "--markdown", *places[:2])
    assert page.out.startswith("| | claim | place | desk | laptop | paper | command |")


def test_what_is_made_costs_nothing(places):
    folder = Path(__file__).parents[2] / "reproduce" / "results"
    said = call("reproduce", "table8", "--dry-run", "--results", str(folder), *places[2:])
    assert said.out.splitlines()[-1] == "All 32 are made."


def test_a_search_says_beforehand_what_it_costs_and_misses_data_at_once(places, tmp_path):
    flags = ["--outcomes", str(tmp_path / "out"), "--runs", str(tmp_path / "runs")]
    said = call("reproduce", "search", "--dry-run", *flags)
    assert said.code == 0 and said.out.startswith("0 of at most 98 chains are made; the others")
    said = call("reproduce", "search", "--scale", "laptop", *flags)
    assert_one_line(said, 2, "pxsgmcmc data get cifar10")
    assert not (tmp_path / "out").exists() and not (tmp_path / "runs").exists()


def test_first_updates_miss_data_at_once(places):
    assert_one_line(call("reproduce", "first-updates", *places[:2]), 2, "data get cifar10")
    said = call("reproduce", "first-updates", "--dry-run", "--seeds", "1", *places[:2])
    assert "2 of 2 to make, one by one, about 27 minutes on two cores, 2.5 GB" in said.out


def test_the_papers_size_needs_no_search():
    assert_one_line(call("reproduce", "search", "--scale", "paper"), 2, "must be desk or laptop")


def test_lengths_of_time_are_round():
    assert (spelt(30.0), spelt(3600.0), spelt(86400.0 * 800)) == (
        "less than a minute",
        "1.0 hours",
        "2.2 years",
    )
