"""A meta-training can be stopped, killed and damaged, and goes on to the same weights."""

import os
import signal
from pathlib import Path

import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

from pxsgmcmc.errors import CorruptRun, Diverged, Interrupted, UserError
from pxsgmcmc.meta import folder as kept
from pxsgmcmc.meta.held_out import mean_difference, mean_over_tasks
from pxsgmcmc.meta.outcome import describe, write_page
from pxsgmcmc.meta.tasks import Task
from pxsgmcmc.meta.train import meta_train
from pxsgmcmc.progress import Silent
from pxsgmcmc.store.tensors import decode
from tests.helpers.cli_calls import call
from tests.meta.test_evolution import SMALL

# Of the shapes that are trained on, so that little is compiled. A network of one hidden layer is
# not trained on with shortcuts, of which it would have none.
HELD_OUT = (Task("wine", "dense", 2, 1, True),)
SETTINGS = msgspec.structs.replace(SMALL, evaluate_every=2)


def train(out, settings=SETTINGS, **options):
    options = {"progress": False, "held_out": HELD_OUT} | options
    return meta_train(settings, out, **options)


class _Signals(Silent):
    """Sends a signal as soon as so many steps are done."""

    def __init__(self, steps, at="meta-loss"):
        self._words = f"outer step {steps} of 4, {at}"

    def tell(self, share, text, seconds_left=None):
        if text.startswith(self._words):
            os.kill(os.getpid(), signal.SIGTERM)


def train_until(steps, out, at="meta-loss", **options):
    words = f"Stopped after {steps} outer steps; all is saved"
    with pytest.raises(Interrupted, match=words) as caught:
        train(out, progress=_Signals(steps, at), **options)
    assert caught.value.signal == signal.SIGTERM


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a meta-training of four steps that nothing disturbed."""
    folder = tmp_path_factory.mktemp("meta") / "whole"
    train(folder)
    return folder


def last_state(folder: Path) -> dict[str, np.ndarray]:
    newest = max((folder / "state").iterdir())
    return {k: v for k, v in decode(newest.read_bytes()).items() if k != "log_bytes"}


def assert_ends_like(folder, whole):
    ours, theirs = last_state(folder), last_state(whole)
    assert ours.keys() == theirs.keys() and int(ours["step"]) == 4
    for name in theirs:
        np.testing.assert_array_equal(ours[name], theirs[name])
    without_time = [
        [{k: v for k, v in line.items() if k != "seconds"} for line in kept.read_log(place)]
        for place in (folder, whole)
    ]
    assert without_time[0] == without_time[1]


@pytest.mark.parametrize("steps", [1, 2])
def test_stopped_after_a_step_it_goes_on_as_if_it_had_never_been(tmp_path, whole, steps):
    """Also at a step after which the held-out tasks are looked at."""
    train_until(steps, tmp_path / "stopped")
    train(tmp_path / "stopped")
    assert_ends_like(tmp_path / "stopped", whole)


def test_stopped_in_a_look_at_the_held_out_tasks_it_does_not_look_to_their_end(tmp_path):
    twice = (*HELD_OUT, Task("wine", "dense", 2, 2, True))  # the second is never compiled
    train_until(0, tmp_path / "stopped", at="held-out wine dense 2x1", held_out=twice)
    assert kept.read_log(tmp_path / "stopped") == []


def test_after_a_crash_it_goes_on_from_the_last_whole_state(tmp_path, whole):
    """A log with a line too many, a state cut short: as a kill or a bad disk may leave them."""
    folder, said = tmp_path / "crashed", []
    train_until(2, folder)
    train_until(3, folder)
    with open(folder / "log.jsonl", "ab") as log:
        log.write(b'{"step":4,"half a line')
    newest = max((folder / "state").iterdir())
    newest.write_bytes(newest.read_bytes()[:-7])

    class Said(Silent):
        def say(self, sentence):
            said.append(sentence)

    train(folder, progress=Said())
    assert_ends_like(folder, whole)
    assert any("is damaged; going on from the state before it" in sentence for sentence in said)


def test_states_that_are_all_damaged_are_an_error(tmp_path):
    train_until(2, tmp_path / "bad")
    for path in (tmp_path / "bad" / "state").iterdir():
        path.write_bytes(b"nothing")
    with pytest.raises(CorruptRun, match="has no state that is as it was written"):
        train(tmp_path / "bad")


def test_two_states_are_kept_and_the_weights_are_those_of_the_last(whole):
    assert len(list((whole / "state").iterdir())) == 2
    state, weights = last_state(whole), decode((whole / "weights.safetensors").read_bytes())
    for name, array in weights.items():
        np.testing.assert_array_equal(array, state[f"weights/{name}"])


def test_going_on_with_other_settings_is_refused(whole):
    for name, value in {"sigma": 0.5, "seed": 1, "widths": (2, 3), "outer_steps": 5}.items():
        other = msgspec.structs.replace(SETTINGS, **{name: value})
        with pytest.raises(UserError, match=f"holds a meta-training with another `{name}`"):
            train(whole, other)


def test_tasks_that_all_diverge_end_it_with_a_sentence(tmp_path, monkeypatch):
    def overflowing(settings, family, weights, keys, *_):
        return jnp.full(len(keys), jnp.nan)

    monkeypatch.setattr("pxsgmcmc.meta.evolution.losses_of", overflowing)
    monkeypatch.setattr("pxsgmcmc.meta.held_out.losses_of", overflowing)
    said = []

    class Said(Silent):
        def say(self, sentence):
            said.append(sentence)

    with pytest.raises(Diverged, match="No pair of the last 20 outer steps was finite"):
        longer = msgspec.structs.replace(SETTINGS, outer_steps=30)
        train(tmp_path / "wild", longer, progress=Said())
    assert "a pair on wine dense 2x1 plain" in said[-1]
    assert "diverged and is left out, 40 so far" in said[-1]
    assert any("on 0 held-out tasks, 4 unrolls diverged" in sentence for sentence in said)


def test_a_task_cannot_be_trained_on_and_held_out(tmp_path):
    both = (Task("wine", "dense", 2, 1, False),)
    with pytest.raises(UserError, match="must not be trained on, got wine dense 2x1 plain"):
        train(tmp_path / "both", held_out=both)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"outer_steps": 0}, "`outer_steps` must be a whole number of at least 1"),
        ({"pairs": 1001}, "`pairs` must be at most 1,000, got 1001"),
        ({"seed": 10**30}, "`seed` must be at most 1,000,000,000, got 10"),
        ({"pairs": 0}, "`pairs` must be a whole number of at least 1"),
        ({"sigma": 0.0}, "`sigma` must be a number greater than 0"),
        ({"learning_rate": float("nan")}, "`learning_rate` must be a number"),
        ({"thinning": 3}, "`averaged_steps` must be a multiple of `thinning` = 3"),
        ({"averaged_steps": 8}, "`averaged_steps` must be at most `inner_steps` = 6"),
        ({"weight_decay": -1.0}, "`weight_decay` must be a number at least 0"),
        ({"data_sets": ()}, "no tasks to train on"),
    ],
)
def test_settings_that_cannot_be_used_are_named(tmp_path, change, words):
    with pytest.raises(UserError, match=words):
        train(tmp_path / "never", msgspec.structs.replace(SETTINGS, **change))
    assert not (tmp_path / "never").exists()


def test_the_page_shows_the_losses_and_what_the_network_does(whole):
    page = write_page(whole).read_text("utf-8")
    assert page.count("<svg") == 6 and "wine dense 2x1 residual" in page
    assert "on 1 held-out tasks" in page and describe(whole) in page


def test_the_command_trains_goes_on_and_says_what_came_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr("pxsgmcmc.meta.train.HELD_OUT", HELD_OUT)
    flags = {"data-sets": "wine", "kinds": "dense", "widths": "2", "depths": "1", "pairs": "2"}
    flags |= {"inner-steps": "6", "averaged-steps": "4", "thinning": "2", "batch-size": "5"}
    flags |= {"held-out-rows": "10", "repeats": "4", "out": str(tmp_path / "run")}
    words = [part for name, value in flags.items() for part in (f"--{name}", value)]
    said = call("meta-train", *words, "--outer-steps", "2")
    assert said.code == 0 and "2 outer steps; 0 pairs diverged" in said.out, said
    again = call("meta-train", *words, "--outer-steps", "2")
    assert again.code == 0 and again.out == said.out and "page.html" in again.out, again
    refused = call("meta-train", *words, "--outer-steps", "2", "--sigma", "0.5")
    assert refused.code == 2 and "another `sigma`" in refused.err
    none = call("meta-train", *words, "--threads", "0")
    assert none.code == 2 and "`threads` must be a whole number of at least 1" in none.err


def test_means_over_tasks_leave_out_what_diverged():
    before = {"a": [2.0, 4.0], "b": [1.0, float("inf")]}
    assert mean_over_tasks(before) == (2.0, 1.0, 2)
    change = mean_difference({"a": [1.0, 3.0], "b": [0.5, 1.0]}, before)
    assert change == (-0.75, 0.25, 2)
    assert mean_over_tasks({"a": [float("nan")]}).tasks == 0


@pytest.mark.slow
def test_a_sampler_learns_a_task_it_was_not_trained_on(tmp_path):
    settings = msgspec.structs.replace(
        SMALL, widths=(4,), depths=(1,), inner_steps=100, averaged_steps=20, pairs=4, seed=3
    )
    settings = msgspec.structs.replace(settings, outer_steps=80)
    held_out = (Task("breast_cancer", "dense", 6, 2, True),)
    meta_train(settings, tmp_path / "run", held_out=held_out, progress=False)
    looks = [line["held_out"] for line in kept.read_log(tmp_path / "run") if "held_out" in line]
    first, last = (np.mean(next(iter(look.values()))) for look in (looks[0], looks[-1]))
    assert last < 0.5 * first
