"""A run that goes on: the same draws as without the stop, or a sentence on what differs."""

import os
import signal

import jax
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.chain import provenance, runner, sample
from pxsgmcmc.chain.graceful_stop import SIGNALS
from pxsgmcmc.errors import UserError
from pxsgmcmc.store import StoredRun, open_run, verify
from tests.helpers import chain_problems as problems
from tests.helpers.chain_problems import run, same, settings


@pytest.fixture
def signal_after(monkeypatch):
    """Sends a signal to this process after so many chunks."""

    def arrange(chunks, number=signal.SIGTERM):
        count, chunk = 0, runner.Runner._chunk

        def counted(self, *args):
            nonlocal count
            count += 1
            if count == chunks:
                os.kill(os.getpid(), number)
            return chunk(self, *args)

        monkeypatch.setattr(runner.Runner, "_chunk", counted)

    return arrange


@pytest.mark.parametrize("name", problems.SAMPLERS)
def test_chunks_do_not_matter_and_a_resumed_run_equals_one_that_never_stopped(
    name, tmp_path, signal_after
):
    whole = run(name)
    signal_after(2)
    stopped = run(name, out=tmp_path / "run", chunk_seconds=1e-6, on_signal="return")
    assert stopped.status == "interrupted" and stopped.stopped_by == signal.SIGTERM
    assert len(stopped) < len(whole) and open_run(tmp_path / "run").status == "interrupted"
    resumed = run(name, out=tmp_path / "run", resume=True, chunk_seconds=1e-6)
    assert resumed.status == "done" and same(whole, resumed)
    assert np.array_equal(whole.energies, resumed.energies)
    assert not verify(tmp_path / "run").problems


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run directory with all its draws, which nobody changes."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    run(out=folder)
    return folder


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (signal.SIGINT, KeyboardInterrupt),
        (signal.SIGTERM, px.Interrupted),
        (signal.SIGHUP, px.Interrupted),
    ],
)
def test_a_signal_saves_and_then_raises_unless_a_part_was_asked_for(
    tmp_path, signal_after, number, error
):
    before = [signal.getsignal(one) for one in SIGNALS]
    signal_after(2, number)
    with pytest.raises(
        error, match=r"Interrupted; . draws are kept of 3: .* resume=True"
    ) as caught:
        run(out=tmp_path / "run", chunk_seconds=1e-6)
    assert getattr(caught.value, "signal", signal.SIGINT) == number
    assert open_run(tmp_path / "run").status == "interrupted"
    assert [signal.getsignal(one) for one in SIGNALS] == before


def test_a_used_directory_is_refused_unless_resumed_with_the_same_settings(tmp_path):
    first = run(out=tmp_path / "run")
    with pytest.raises(UserError, match=r"already holds a run: .*in Python `resume=True`"):
        run(out=tmp_path / "run")
    assert same(first, run(out=tmp_path / "run", resume=True))
    with pytest.raises(UserError, match=r"another executor .scan; now loop"):
        run(out=tmp_path / "run", resume=True, executor="loop")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"data": (problems.INPUTS + 1, problems.TARGETS)}, "other training data"),
        ({"seed": 6}, "another seed"),
        ({"batch_size": 8}, "another batch size"),
        ({"name": "sghmc"}, "another sampler or expansion"),
        ({"cycle_length": 20}, "`cycle_length` must be 10"),
        ({"burn_in": 1}, "`burn_in` must be 0"),
        ({"draws": 2}, "`draws` must be at least 3"),
    ],
)
def test_going_on_with_something_else_is_refused_in_one_sentence(finished, change, says):
    with pytest.raises(UserError, match=says) as caught:
        run(out=finished, resume=True, **change)
    assert "\n" not in str(caught.value)


def test_going_on_with_another_step_is_refused_whatever_it_is_that_differs(tmp_path):
    def again(potential, friction=10.0, peak=1e-2, position=problems.PARAMS):
        sampler = px.sghmc(potential, px.cyclical(peak, 10), friction=friction)
        out = {"out": tmp_path / "run", "resume": True}
        return sample(sampler, position, problems.PROBLEM, **settings(**out))

    energy = px.potential(problems.PROBLEM, prior=px.priors.normal(0.5))
    again(energy)
    again(energy)
    moved = jax.tree.map(lambda x: x + 1.0, problems.PARAMS)
    for says, change in {
        "another prior": {"potential": px.potential(problems.PROBLEM)},
        "another step size .0.01 at step 0; now 0.02": {"potential": energy, "peak": 2e-2},
        "another friction of base": {"potential": energy, "friction": 5.0},
        "another starting position": {"potential": energy, "position": moved},
    }.items():
        with pytest.raises(UserError, match=says):
            again(**change)


@pytest.mark.parametrize("name", ["px_sghmc", "sgnht", "ggmc"])
def test_a_finished_run_that_is_extended_equals_one_asked_for_all_at_once(name, tmp_path):
    first = run(name, out=tmp_path / "run")
    hashes = [draw.sha256 for draw in open_run(tmp_path / "run").draws]
    extended = run(name, out=tmp_path / "run", resume=True, draws=5)
    assert same(extended, run(name, draws=5)) and same(list(extended)[:3], list(first))
    assert [draw.sha256 for draw in open_run(tmp_path / "run").draws][:3] == hashes
    assert open_run(tmp_path / "run").status == "done"


def test_another_version_of_jax_is_mentioned_on_resuming(tmp_path, monkeypatch, capsys):
    run(out=tmp_path / "run")
    monkeypatch.setattr(provenance, "versions", lambda: {"jaxlib": "9.9.9"})
    run(out=tmp_path / "run", resume=True, progress="plain")
    assert "this is jaxlib 9.9.9: the last bits may differ" in capsys.readouterr().err


def test_a_run_of_another_version_of_the_library_is_mentioned_too(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(provenance, "versions", dict)  # as if it had not been written down
    run(out=tmp_path / "run")
    monkeypatch.setattr(provenance, "versions", lambda: {"pxsgmcmc": "9.9"})
    run(out=tmp_path / "run", resume=True, progress="plain")
    said = capsys.readouterr().err
    assert "began with pxsgmcmc unknown, this is pxsgmcmc 9.9: the draws may differ" in said


def test_a_chain_that_fails_to_start_frees_the_directory(tmp_path, monkeypatch):
    def fails(self):
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(runner.Runner, "run", fails)
        with pytest.raises(RuntimeError):
            run(out=tmp_path / "run")
    assert run(out=tmp_path / "run", resume=True).status == "done"


def test_a_chain_killed_before_it_could_say_that_it_is_done_says_so_when_it_goes_on(
    tmp_path, monkeypatch
):
    class Killed(BaseException):
        """As SIGKILL between the last state and the manifest."""

    def kill_at_the_end(self, status=None, **progress):
        if status == "done":
            raise Killed
        update(self, status, **progress)

    update = StoredRun.update
    monkeypatch.setattr(StoredRun, "update", kill_at_the_end)
    with pytest.raises(Killed):
        run("sghmc", out=tmp_path / "run")
    assert open_run(tmp_path / "run").status == "running"
    monkeypatch.undo()
    run("sghmc", out=tmp_path / "run", resume=True)
    assert open_run(tmp_path / "run").status == "done"
