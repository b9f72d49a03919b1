"""Making what a plan lacks: killed anywhere and started again, nothing finished is made twice."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from pxsgmcmc.errors import Interrupted, UserError
from pxsgmcmc.jobs import Ended
from pxsgmcmc.jobs.engines import engine_named
from pxsgmcmc.jobs.work import work
from pxsgmcmc.progress import progress_for
from pxsgmcmc.reproduce import running
from pxsgmcmc.reproduce.computing import Computed
from pxsgmcmc.reproduce.experiment import Arm, LastDraw
from pxsgmcmc.reproduce.plan import Places, Planner, is_done
from pxsgmcmc.reproduce.record import read_record
from pxsgmcmc.reproduce.running import make
from pxsgmcmc.reproduce.scale import SCALES, Scale
from pxsgmcmc.reproduce.settings_file import Chosen
from pxsgmcmc.store import open_run
from tests.helpers.small_settings import SMALL


class Tiny(Scale):
    """A scale whose runs take a moment."""

    @property
    def text(self):
        return SMALL.partition("[sampler]")[0] + "[chain]" + SMALL.partition("[chain]")[2]


CHOSEN = {"SGHMC": Chosen({"sampler.step_size.peak": 1e-4, "sampler.friction": 10.0}, "made up")}
PLAIN = {"expansion.out": 0, "expansion.into": 0}


@pytest.fixture
def planner(tmp_path):
    planner = Planner(SCALES["desk"], {}, Places(tmp_path / "results", tmp_path / "runs"), {})
    planner.scale, planner.chosen = Tiny(*SCALES["desk"]), CHOSEN
    return planner


def tasks_of(planner, *arms, seeds=1):
    experiment = SimpleNamespace(arms=lambda scale: arms, stressed=False, diagnosed=False)
    planner.know(experiment)
    return planner.tasks([experiment], range(seeds))


class InThisProcess:
    """An engine that does jobs here; stops as if killed after so many."""

    def __init__(self, most=100, code=None):
        self.made, self._most, self._code = [], most, code

    def run(self, jobs, watch):
        for job in jobs:
            if len(self.made) == self._most:
                return 15
            self.made.append(job.label)
            code = self._code
            if code is None:
                code = work(job, lambda stage: progress_for("job", False))
            watch.ended(job, Ended(code, "pxsgmcmc: energy is not finite\n", 2.0))
        return None


def made(tasks, engine):
    return make(tasks, engine, title="test", command="the command", scale="desk")


def test_a_stopped_plan_goes_on_and_makes_no_finished_run_twice(planner):
    arms = [Arm("plain", "SGHMC", PLAIN), Arm("the same", "SGHMC", PLAIN)]
    tasks = tasks_of(planner, *arms, seeds=2)
    assert len(tasks) == 2  # both arms share their runs
    first = InThisProcess(most=1)
    assert made(tasks, first) == 15 and first.made == ["plain, seed 0"]
    assert [is_done(task) for task in tasks] == [True, False]
    second = InThisProcess()
    assert made(tasks, second) is None and second.made == ["plain, seed 1"]
    assert made(tasks, third := InThisProcess()) is None and third.made == []
    # Killed between the end of a run and its record: the record is made, the run is not.
    tasks[0].record.unlink()
    assert made(tasks, fourth := InThisProcess()) is None and fourth.made == []
    kept = planner.records(arms[1])
    assert [record.seed for record in kept] == [0, 1]
    assert kept[0].values["test/nll"] > 0.0 and kept[0].command == "the command"
    assert kept[0].values["validation/err_1"] == kept[0].curves["trace/validation"][0]
    assert set(kept[0].hashes) == {"train", "test", "results.json"}
    assert "root" not in kept[0].config and "sghmc" in kept[0].config


def test_a_run_starts_from_the_last_draw_of_the_chain_that_its_seed_names(planner):
    hmc = {**PLAIN, "sampler.name": "hmc", "sampler.step_size": 1e-3, "chains": 2}
    hmc |= {"sampler.leapfrog_steps": 2, "chain.cycle_length": 1, "chain.batch_size": 60}
    reference = Arm("reference", over=hmc, once=True)
    start = {"chain.start": LastDraw(reference), "chain.cycle_length": 1}
    child = Arm("child", "SGHMC", {**PLAIN, **start, "sampler.step_size.peak": 1e-12})
    tasks = tasks_of(planner, reference, child, seeds=2)
    assert made(tasks, InThisProcess()) is None
    parent, *children = tasks
    for number, task in enumerate(children):
        begun = open_run(parent.folder / f"chain-000{number}")
        before, after = begun.load_draw(3), open_run(task.folder).load_draw(1)
        for name, array in before.items():  # a step of 1e-12 goes nowhere
            np.testing.assert_allclose(after[name], array, atol=1e-6)
        assert "start" not in read_record(task.record).config
    # The record alone is nothing to start from: the run is made again, and the child after it.
    shutil.rmtree(parent.folder)
    children[1].record.unlink()
    shutil.rmtree(children[1].folder)
    again = InThisProcess()
    assert made(tasks, again) is None
    assert [label.partition(",")[0] for label in again.made] == ["reference", "reference", "child"]


def test_a_run_that_diverged_is_an_outcome_and_not_made_again(planner):
    tasks = tasks_of(planner, Arm("hot", "SGHMC", PLAIN))
    assert made(tasks, InThisProcess(code=3)) is None
    kept = read_record(tasks[0].record)
    assert kept.outcome == "diverged" and kept.headline == "diverged: energy is not finite"
    assert made(tasks, again := InThisProcess(code=3)) is None and again.made == []


def test_a_run_that_fails_stops_the_others_with_its_sentence(planner):
    tasks = tasks_of(planner, Arm("wrong", "SGHMC", PLAIN))
    with pytest.raises(UserError, match="wrong, seed 0: energy is not finite"):
        made(tasks, InThisProcess(code=2))
    assert not is_done(tasks[0])


def test_computations_are_kept_like_runs(planner, monkeypatch):
    calls = []

    def compute(function, arguments, seed):
        calls.append((function, dict(arguments), seed))
        return Computed({"modes/covered": 1.0})

    monkeypatch.setattr(running, "compute", compute)
    arm = Arm("a reading", compute="toy_modes:cover", over={"reading": "flat"})
    tasks = tasks_of(planner, arm, seeds=2)
    for _ in range(2):
        assert made(tasks, InThisProcess()) is None
    assert calls == [("toy_modes:cover", {"reading": "flat"}, seed) for seed in (0, 1)]
    assert planner.records(arm)[1].values == {"modes/covered": 1.0}


def test_a_computation_that_a_signal_ends_has_no_record(planner, monkeypatch):
    def compute(function, arguments, seed):
        if seed == 1:
            raise Interrupted("Stopped.", 15)
        return Computed({"modes/covered": 1.0})

    monkeypatch.setattr(running, "compute", compute)
    arm = Arm("a reading", compute="toy_modes:cover", over={"reading": "flat"})
    tasks = tasks_of(planner, arm, seeds=3)
    assert made(tasks, InThisProcess()) == 15
    assert [is_done(task) for task in tasks] == [True, False, False]


def test_an_engine_that_is_not_there_is_named():
    with pytest.raises(UserError, match="`--engine` cannot be 'cloud'; known: local"):
        engine_named("cloud", 1)
