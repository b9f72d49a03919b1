"""The command `pxsgmcmc watch`."""

import itertools

import pytest

from pxsgmcmc.cli import watch as module
from pxsgmcmc.store import create_chains, create_run
from tests.helpers.cli_calls import assert_one_line, call

LINE = {
    "total_steps": 40, "all_draws": 4, "step_size": 0.1, "temperature": {"base": 1.0},
    "acceptance": None, "mean_step_size": 0.1, "norm": {}, "time": 0.0, "steps_per_second": 20.0,
}  # fmt: skip


def log(run, steps):
    for step in steps:
        run.append_log({**LINE, "step": step, "draws": step // 10, "energy": 100.0 - step})


@pytest.fixture
def place(tmp_path):
    return tmp_path / "run"


def test_a_finished_run_is_shown_and_said_to_be_done(place):
    with create_run(place, "", {}) as run:
        log(run, range(0, 41, 10))
        run.update("done")
    said = call("watch", str(place))
    assert said.code == 0, said
    first, energy, temperature, speed = said.out.splitlines()
    assert "done" in first and "100%, draw 4/4, step 40/40" in first and "left" not in first
    assert "energy" in energy and "60" in energy and energy.endswith("█▆▅▃▁")
    assert "T[base]" in temperature and temperature.endswith("▄▄▄▄▄") and "steps/s" in speed


def test_a_run_is_followed_until_it_ends(place, monkeypatch, capsys):
    run = create_run(place, "", {})
    looks = itertools.count()

    def work(seconds):  # what another process would do between two looks
        if next(looks) == 0:
            log(run, [20])
        else:
            run.update("done")
            run.close()

    monkeypatch.setattr(module.time, "sleep", work)
    module.watch(str(place), seconds=0.1)
    shown = capsys.readouterr().out
    assert "nothing is logged yet" in shown and "0:01 left" in shown
    assert shown.splitlines()[-4].startswith(f"{place}  done")


def test_the_time_left_follows_the_mean_speed_of_recent_lines(place):
    run = create_run(place, "", {})
    for step, speed in enumerate([1000.0] * 30 + [4.0, 16.0] * 5, 1):
        run.append_log(
            {**LINE, "step": step, "draws": 0, "energy": 1.0, "total_steps": 640}
            | {"steps_per_second": speed}
        )
    (glimpse,) = module.look(place)
    run.close()
    assert "1:00 left" in module.described(glimpse)[0]  # 600 steps at (4 + 16) / 2


def test_a_run_whose_process_is_gone_is_said_to_have_stopped(place):
    with create_run(place, "", {}) as run:
        log(run, [10])
        run.update("running")
    said = call("watch", str(place))
    assert "stopped (resume goes on)" in said.out


def test_several_chains_are_shown_even_before_all_have_begun(place):
    create_chains(place, 2, "")
    with create_run(place / "chain-0000", "", {}) as run:
        log(run, [10])
        run.update("done")
    said = call("watch", str(place), "--once")
    assert said.code == 0 and "chain-0001  not begun" in said.out and "done" in said.out


def test_what_is_no_run_is_refused(tmp_path):
    assert_one_line(call("watch", str(tmp_path / "none")), 2, "must be a run directory")
