"""The search on digits: its chains are those of `pxsgmcmc run`, its file survives."""

import json
import math
import time

import digits_search
import digits_trial
import numpy as np
import pytest
from best_first import ranking
from digits_search import DIGITS, Book, chosen, flags_of, search

from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.errors import UserError
from pxsgmcmc.experiment import run_chain, wire

SMALL = (
    *("--model", '{ name = "mlp", widths = [6] }'),
    *("--chain.draws", "2", "--chain.steps", "5", "--chain.executor", "loop"),
)


def made_up(loss):
    """A worker that runs nothing; `loss` is given the flags as numbers."""

    def ask(name, base, flags):
        values = dict(zip(flags[::2], map(float, flags[1::2]), strict=True))
        return {"nll": loss(values), "err": 0.5, "seconds": 0.0}

    return ask


def smooth(values):
    best = {
        "--sampler.step_size.peak": 4e-3,
        "--prior.variance": 3.2,
        "--sampler.friction": 25.0,
        "--sampler.friction.base": 400.0,
        "--sampler.friction.factors": 4.0,
    }
    if values["--sampler.step_size.peak"] > 7e-3:
        return None
    away = [math.log(value / best[name]) ** 2 for name, value in values.items() if name in best]
    return sum(away) + 0.1 * values["--seed"]


@pytest.mark.parametrize("method", DIGITS.configs)
def test_a_chain_of_the_search_is_that_of_an_ordinary_run(method, tmp_path):
    name = DIGITS.configs[method]
    bench = digits_trial.Bench(load_config(name, list(SMALL)))
    axes = DIGITS.rules.axes[method]
    chain = digits_search.Chain(method, tuple(range(1, len(axes) + 1)), 3)
    config = load_config(name, [*SMALL, *flags_of(DIGITS.rules, chain)])
    parts = wire(config)
    draws = run_chain(config, tmp_path / "run", progress=False)
    expected = np.stack([parts.apply(draw, bench.validation.x) for draw in draws])
    np.testing.assert_allclose(bench.run(config), expected, rtol=1e-4, atol=1e-5)


def test_a_chain_that_diverges_has_no_score():
    far = ["--sampler.step_size.peak", "50.0", "--seed", "1"]
    outcome = digits_trial.trial("digits/sghmc", SMALL, far)
    assert outcome["nll"] is None and outcome["err"] is None


def test_the_flags_of_every_point_are_settings_of_the_configuration():
    for method, axes in DIGITS.rules.axes.items():
        chain = digits_search.Chain(method, (1,) * len(axes), 5)
        config = load_config(DIGITS.configs[method], flags_of(DIGITS.rules, chain))
        assert config.seed == 5
        assert config.sampler.step_size.peak == 2e-3
        assert config.prior.variance == 0.4


def test_the_search_chooses_settles_and_tells_the_same_from_its_file(tmp_path):
    path = tmp_path / "outcome.json"
    assert search(DIGITS, Book(DIGITS, path), [made_up(smooth)] * 2)
    kept = json.loads(path.read_text())
    assert kept["chosen"] == chosen(DIGITS.rules, Book(DIGITS, path).losses)
    assert kept["chosen"]["SGHMC"]["settings"]["sampler.step_size.peak"] == 4e-3
    assert kept["chosen"]["PX-SGHMC"]["settings"]["prior.variance"] == 3.2
    for found in kept["chosen"].values():
        assert found["settled"] and found["over"] and found["inside"]
        assert found["chains"] == kept["chosen"]["SGHMC"]["chains"] < DIGITS.rules.most
    assert any(row["nll"] is None for row in kept["trials"])


def test_a_search_past_its_deadline_begins_no_chain_and_goes_on_later(tmp_path):
    path, calls = tmp_path / "outcome.json", []

    def dies_after_ten(name, base, flags):
        calls.append(flags)
        if len(calls) > 10:
            raise UserError("A worker died.")
        return made_up(smooth)(name, base, flags)

    assert not search(DIGITS, Book(DIGITS, path), [dies_after_ten], deadline=time.monotonic())
    assert not calls
    with pytest.raises(UserError):
        search(DIGITS, Book(DIGITS, path), [dies_after_ten])
    assert len(Book(DIGITS, path).trials) == 10
    search(DIGITS, Book(DIGITS, path), [made_up(smooth)])
    search(DIGITS, Book(DIGITS, tmp_path / "whole.json"), [made_up(smooth)])
    assert path.read_bytes() == (tmp_path / "whole.json").read_bytes()


def test_outcomes_of_another_design_are_refused(tmp_path):
    path = tmp_path / "outcome.json"
    Book(DIGITS._replace(base=("--chain.draws", "3")), path).save()
    with pytest.raises(UserError, match="another design"):
        Book(DIGITS, path)


def test_the_kept_outcome_follows_from_its_trials():
    if not digits_search.OUTCOME.exists():
        pytest.skip("the search has not been run")
    kept = json.loads(digits_search.OUTCOME.read_text("utf-8"))
    known = Book(DIGITS, digits_search.OUTCOME).losses
    assert kept["chosen"] == chosen(DIGITS.rules, known)
    for method, found in kept["chosen"].items():
        best = ranking(known, method)[0]
        assert found["mean"] == pytest.approx(best.loss)


@pytest.mark.slow
def test_worker_processes_run_chains_and_end(tmp_path):
    worker = digits_search.Worker()
    outcome = worker("digits/px_sghmc", SMALL, ["--seed", "1"])
    worker.close()
    assert 0.0 < outcome["nll"] < 10.0
    assert worker.process.returncode == 0
