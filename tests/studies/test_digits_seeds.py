"""The study over seeds: what it runs is valid, what it writes is what was found."""

import digits_seeds
import msgspec
import pytest
from digits_seeds import (
    METHODS,
    health_of,
    job_of,
    make_all,
    search_table,
    written,
)

from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.errors import UserError
from pxsgmcmc.jobs import Ended

FOUND = {"validation_nll": [0.2, 0.21, 0.22], "chains": 40, "points": 36, "over": True}
CHOSEN = {
    "SGHMC": {
        **FOUND,
        "settings": {"sampler.step_size.peak": 2e-3, "prior.variance": 1.6, "sampler.friction": 25},
        "tried": {
            "sampler.step_size.peak": [1e-3, 2e-3, 4e-3],
            "prior.variance": [0.8, 1.6, 3.2],
            "sampler.friction": [6.25, 25, 100],
        },
        "settled": True,
        "inside": True,
    },
    "PX-SGHMC": {
        **FOUND,
        "settings": {"prior.variance": 0.1, "sampler.friction.factors": 4.0},
        "tried": {"prior.variance": [0.1, 0.2], "sampler.friction.factors": [1.0, 4.0]},
        "settled": False,
        "inside": False,
    },
}


@pytest.mark.parametrize("method", METHODS)
def test_every_run_is_the_bundled_configuration_with_its_seed(method, tmp_path):
    config = job_of(method, 6, tmp_path).settings()
    assert config == msgspec.structs.replace(load_config(METHODS[method]), seed=6, threads=1)


def test_the_table_of_the_search_says_what_is_inside_and_what_is_not():
    text = search_table(CHOSEN)
    assert "| SGHMC | `prior.variance` | 1.6 | 0.8, 1.6, 3.2 |" in text
    assert (
        "SGHMC settled after 40 chains" in text
        and "and met both its neighbours on every axis" in text
    )
    assert "PX-SGHMC did not settle" in text and "did not meet both its neighbours" in text


def test_the_health_of_a_method_counts_all_its_seeds():
    assert health_of([True, True], 2) == "2 healthy"
    assert health_of([True, False, None], 5) == (
        "1 healthy, 1 not healthy, 1 too short to tell, 2 diverged"
    )


def test_only_what_is_between_the_marks_changes():
    page = f"before\n{digits_seeds.BEGIN}\nold\n{digits_seeds.END}\nafter\n"
    once = written(page, "new")
    assert once == page.replace("old", "new")
    assert written(once, "new") == once
    with pytest.raises(UserError, match="must have a line"):
        written("no marks", "new")


def test_the_page_has_its_marks():
    written(digits_seeds.PAGE.read_text("utf-8"), "tables")


def test_a_diverged_run_is_counted_and_a_failed_one_ends_the_study(tmp_path, monkeypatch):
    jobs = [job_of(method, seed, tmp_path) for seed in (0, 1) for method in METHODS]
    codes = dict(zip(jobs, (0, 3, 0, 0), strict=True))

    class MadeUp:
        def __init__(self, at_once):
            pass

        def run(self, jobs, watch):
            for job in jobs:
                watch.ended(job, Ended(codes[job], "pxsgmcmc: It is not there.\n"))

    monkeypatch.setattr(digits_seeds, "Local", MadeUp)
    assert make_all(jobs, 1) == [jobs[0], *jobs[2:]]
    codes[jobs[2]] = 2
    with pytest.raises(UserError, match="SGHMC, seed 1: It is not there"):
        make_all(jobs, 1)
