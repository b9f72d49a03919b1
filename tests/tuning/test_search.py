"""The search: its chains are those of `pxsgmcmc run`, its file and its run directories survive."""

import json
import math
import os

import pytest

from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.config import parse_config
from pxsgmcmc.errors import UserError
from pxsgmcmc.jobs import Ended, Local
from pxsgmcmc.tuning.best_first import Axis, PlannedChain, Rules
from pxsgmcmc.tuning.search import Book, Study, flags_of, job_of, search

COARSE = (-2, 0, 2)
STEP, VARIANCE = (
    Axis("sampler.step_size.peak", 1e-3, COARSE, 1),
    Axis("prior.variance", 0.2, COARSE, 1),
)
STUDY = Study(
    {"SGHMC": "digits/sghmc", "PX-SGHMC": "digits/px_sghmc"},
    Rules(
        {
            "SGHMC": [STEP, VARIANCE, Axis("sampler.friction", 100.0, COARSE, 2)],
            "PX-SGHMC": [STEP, VARIANCE, Axis("sampler.friction.factors", 1.0, (0,), 2)],
        },
        seeds=(1000, 1001, 1002),
        most=100,
    ),
    load_config,
)


class MadeUp:
    """An engine that runs nothing: jobs whose step size is too large diverge."""

    def __init__(self, most=math.inf):
        self.most, self.jobs = most, []

    def run(self, jobs, watch):
        for job in jobs:
            if len(self.jobs) >= self.most:
                return 15
            self.jobs.append(job)
            diverges = parse_config(job.config).sampler.step_size.peak > 7e-3
            watch.ended(job, Ended(3 if diverges else 0))
        return None


def smooth(job):
    config = parse_config(job.config)
    friction = config.sampler.friction
    expanded = config.expansion.out > 0
    ratios = [
        config.sampler.step_size.peak / 4e-3,
        config.prior.variance / 3.2,
        friction.factors / 4.0 if expanded else friction / 25.0,
    ]
    loss = sum(math.log(ratio) ** 2 for ratio in ratios) + 0.1 * config.seed
    return {"nll": loss, "err": 0.5}


def test_the_flags_of_every_point_are_settings_of_the_configuration(tmp_path):
    for method, axes in STUDY.rules.axes.items():
        chain = PlannedChain(method, (1,) * len(axes), 5)
        config = load_config(STUDY.configs[method], flags_of(STUDY.rules, chain))
        job = job_of(STUDY, chain, tmp_path)
        assert job.settings().seed == config.seed == 5 and job.settings().threads == 1
        assert job.settings().sampler == config.sampler and config.prior.variance == 0.4
        assert config.sampler.step_size.peak == 2e-3


def test_the_search_chooses_settles_and_tells_the_same_from_its_file(tmp_path):
    path = tmp_path / "outcome.json"
    assert search(Book(STUDY, path), MadeUp(), tmp_path, smooth) is None
    kept = json.loads(path.read_text())
    assert kept["chosen"] == Book(STUDY, path).chosen()
    assert kept["chosen"]["SGHMC"]["settings"]["sampler.step_size.peak"] == 4e-3
    assert kept["chosen"]["PX-SGHMC"]["settings"]["prior.variance"] == 3.2
    for found in kept["chosen"].values():
        assert found["settled"] and found["over"] and found["inside"]
        assert found["chains"] == kept["chosen"]["SGHMC"]["chains"] < STUDY.rules.most
    assert any(row["nll"] is None for row in kept["trials"])


def test_methods_that_are_searched_first_have_settings_before_the_others_begin(tmp_path):
    path = tmp_path / "outcome.json"
    assert search(Book(STUDY, path), MadeUp(), tmp_path, smooth, methods=["SGHMC"]) is None
    found = Book(STUDY, path).chosen()
    assert found.keys() == {"SGHMC"} and not found["SGHMC"]["over"]
    assert found["SGHMC"]["settings"]["sampler.step_size.peak"] == 4e-3


def test_what_is_not_healthy_wins_only_if_nothing_is(tmp_path):
    rules = Rules({"SGHMC": [STEP]}, seeds=(1, 2), most=20)
    study = Study({"SGHMC": "digits/sghmc"}, rules, load_config)

    def score(job, hot):
        peak = parse_config(job.config).sampler.step_size.peak
        healthy = False if peak > hot else None
        return {"nll": abs(math.log2(peak / 4e-3)), "err": 0.5, "healthy": healthy}

    for hot, best in ((3e-3, 2e-3), (1e-9, 4e-3)):
        path = tmp_path / f"{best}.json"
        search(Book(study, path), MadeUp(), tmp_path, lambda job, hot=hot: score(job, hot))
        found = Book(study, path).chosen()["SGHMC"]
        assert found["settings"]["sampler.step_size.peak"] == best
        assert found["healthy"] == [False if best > hot else None] * 2
        assert found["validation_nll"] == [abs(math.log2(best / 4e-3))] * 2

    # Unless trials are too short for any chain to settle.
    short = Book(study._replace(health_first=False), tmp_path / "short.json")
    search(short, MadeUp(), tmp_path, lambda job: score(job, 3e-3))
    assert short.chosen()["SGHMC"]["settings"]["sampler.step_size.peak"] == 4e-3


def test_a_search_that_is_stopped_anywhere_loses_no_trial_and_goes_on(tmp_path):
    path = tmp_path / "outcome.json"
    first, second, whole = MadeUp(most=10), MadeUp(), MadeUp()
    assert search(Book(STUDY, path), first, tmp_path, smooth) == 15
    assert len(Book(STUDY, path).trials) == 10
    assert search(Book(STUDY, path), second, tmp_path, smooth) is None
    search(Book(STUDY, tmp_path / "whole.json"), whole, tmp_path, smooth)
    assert path.read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert not set(first.jobs) & set(second.jobs)
    assert set(first.jobs) | set(second.jobs) == set(whole.jobs)


def test_methods_that_are_searched_first_end_up_as_in_one_go(tmp_path):
    book, first = Book(STUDY, tmp_path / "outcome.json"), MadeUp()
    search(book, first, tmp_path, smooth, ["PX-SGHMC"])
    assert {chain.method for chain in book.trials} == {"PX-SGHMC"}
    search(book, MadeUp(), tmp_path, smooth)
    whole = Book(STUDY, tmp_path / "whole.json")
    search(whole, MadeUp(), tmp_path, smooth)
    assert book.trials == whole.trials and book.chosen() == whole.chosen()


def test_a_trial_that_fails_for_another_reason_ends_the_search_with_its_words(tmp_path):
    class Fails:
        def run(self, jobs, watch):
            watch.ended(jobs[0], Ended(2, "pxsgmcmc: `data` is missing.\n"))

    with pytest.raises(UserError, match=r"SGHMC .*, seed 1000: `data` is missing\."):
        search(Book(STUDY, tmp_path / "outcome.json"), Fails(), tmp_path, smooth)


def test_outcomes_of_another_design_are_refused(tmp_path):
    path = tmp_path / "outcome.json"
    Book(STUDY._replace(base=("--chain.draws", "3")), path).save()
    with pytest.raises(UserError, match="another design"):
        Book(STUDY, path)


def test_outcomes_that_are_a_pipe_a_link_or_forged_are_refused_in_one_sentence(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "link.json").symlink_to("/dev/zero")
    forged = {"row.json": '{"design": {}, "trials": [{"method": 3}]}', "list.json": "[]"}
    for name, text in (forged | {"text.json": "\x1b", "bytes.json": "\udcff"}).items():
        (tmp_path / name).write_text(text, "utf-8", "surrogateescape")
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(UserError, match="is not as a search wrote it") as error:
            Book(STUDY, path)
        assert "\n" not in str(error.value)


def test_trials_are_jobs_and_those_done_before_a_kill_are_not_done_again(tmp_path):
    small = ("--model", '{ name = "mlp", widths = [4] }', "--chain.draws", "2")
    small += ("--chain.cycle_length", "5", "--chain.burn_in", "0", "--chain.start", "random")
    small += ("--evaluate.corruptions", "false")
    small += ("--evaluate.out_of_distribution", "[]", "--evaluate.shifts", "[]")
    axis = Axis("sampler.step_size.peak", 1e-3, (0, 30), 30)  # the second point diverges
    rules = Rules({"SGHMC": [axis]}, seeds=(1,), most=2)
    study = Study({"SGHMC": "digits/sghmc"}, rules, load_config, small)
    book = Book(study, tmp_path / "outcome.json")
    assert search(book, Local(1), tmp_path / "runs") is None
    good, bad = (book.trials[PlannedChain("SGHMC", (point,), 1)] for point in (0, 30))
    assert 0.0 < good["nll"] < 10.0 and (bad["nll"], bad["err"]) == (None, None)

    class Watched(MadeUp):
        def run(self, jobs, watch):
            self.jobs += jobs
            return 15

    # As if killed between the end of the job and the writing of the file.
    fresh, engine = Book(study, tmp_path / "other.json"), Watched()
    assert search(fresh, engine, tmp_path / "runs") == 15
    assert fresh.trials[PlannedChain("SGHMC", (0,), 1)]["nll"] == good["nll"]
    assert [job.folder for job in engine.jobs] == [str(tmp_path / "runs/SGHMC/30_seed_1")]
