"""A run directory opened to be looked into: its draws, its name, its results."""

import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.config import parse_config, write_config
from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.evaluation.artifacts import check_writable, read_artifact
from pxsgmcmc.evaluation.load import open_experiment
from pxsgmcmc.evaluation.subject import method_name, settings_digest
from pxsgmcmc.experiment import _as_stored
from pxsgmcmc.store import create_run, open_run, verify
from tests.cli.calls import call
from tests.cli.settings import SMALL
from tests.evaluation.small_runs import start, three_draws, two_chains


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return three_draws(tmp_path_factory.mktemp("one") / "run")


@pytest.fixture(scope="module")
def chains(tmp_path_factory):
    return two_chains(tmp_path_factory.mktemp("two") / "run", draws=3)


def first_bias(tree):
    return np.asarray(tree["head"]["bias"])


def stored_bias(folder, number):
    return open_run(folder).load_draw(number)["head/bias"]


def test_the_draws_are_those_of_the_store(run):
    opened = open_experiment(run)
    draws = list(opened.draws())
    assert len(draws) == opened.subject.draws == 3
    for number, draw in enumerate(draws, 1):
        np.testing.assert_array_equal(first_bias(draw), stored_bias(run, number))


def test_the_subject_says_which_run_it_is(run):
    subject = open_experiment(run).subject
    assert subject.method == "PX-SGHMC (c=1, d=1)" and subject.model == "mlp, widths 4"
    assert subject.data == "digits (first 60 rows)"
    assert (subject.seed, subject.chains, subject.steps) == (0, 1, 15)
    assert subject.parameters == 64 * 4 + 4 + 4 * 10 + 10
    assert subject.sampled == subject.parameters + 2 * 4 * 4  # one factor behind, one before


def test_it_predicts_what_the_draws_average_to(run):
    opened = open_experiment(run)
    x = opened.experiment.dataset.splits["test"].x[:7]
    logits = np.stack([np.asarray(opened.experiment.apply(d, x), float) for d in opened.draws()])
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    found = px.open_experiment(run).predict(x, batch_size=3)
    np.testing.assert_allclose(found.probabilities, p.mean(0), atol=1e-6)
    same = opened.predict(x.astype(np.float32))  # floats on the stored scale
    np.testing.assert_allclose(same.probabilities, found.probabilities, atol=1e-6)


def test_the_draws_of_several_chains_take_turns(chains):
    opened = open_experiment(chains)
    assert opened.subject.chains == 2 and opened.subject.draws == 6
    expected = [stored_bias(chains / f"chain-000{c}", n) for n in (1, 2, 3) for c in (0, 1)]
    for draw, bias in zip(opened.draws(), expected, strict=True):
        np.testing.assert_array_equal(first_bias(draw), bias)
    for draw, bias in zip(opened.draws_of(1), expected[1::2], strict=True):
        np.testing.assert_array_equal(first_bias(draw), bias)


def test_results_of_one_run_are_hashed_and_those_of_chains_lie_above_them(run, chains):
    for folder in (run, chains):
        open_experiment(folder).write_artifact("eval/a.json", b"{}")
        assert (
            read_artifact(folder, "eval/a.json") == (folder / "eval/a.json").read_bytes() == b"{}"
        )
        with pytest.raises(UserError, match=r"has no result 'results.json'"):
            read_artifact(folder, "results.json")
        with pytest.raises(UserError, match="A result must be named"):
            open_experiment(folder).write_artifact("../a", b"")
    assert verify(run).problems == []
    for command in ("verify", "show"):
        assert call(command, str(chains)).code == 0
    listed = call("list", str(chains.parent)).out
    assert listed.count("chain-000") == 2
    (run / "eval/a.json").write_bytes(b"[]")
    with pytest.raises(CorruptRun, match="SHA-256 differs"):
        read_artifact(run, "eval/a.json")
    open_experiment(run).write_artifact("eval/a.json", b"{}")


def test_what_cannot_be_opened_is_said_in_a_sentence(run, tmp_path):
    with pytest.raises(UserError, match="must be a run directory"):
        open_experiment(tmp_path / "nothing")
    empty = tmp_path / "empty"
    create_run(empty, open_run(run).config, {}).close()
    with pytest.raises(UserError, match="has no draws yet: go on with `pxsgmcmc resume"):
        open_experiment(empty)
    python = tmp_path / "python"
    create_run(python, "draws = 3\n", {}).close()
    with pytest.raises(UserError, match=r"was started from Python.*resume=True, apply="):
        open_experiment(python)
    with pytest.raises(UserError, match="`--seed` cannot be changed after the run"):
        open_experiment(run, ["--seed", "1"])
    with pytest.raises(UserError, match=r"`evaluate\.subset` must be a whole number >= 1"):
        open_experiment(run, ["--evaluate.subset", "0"])


def test_a_run_on_data_that_have_changed_since_is_refused(tmp_path):
    changed = tmp_path / "changed"
    with create_run(changed, write_config(parse_config(SMALL)), {"data": {"digits": "0"}}) as made:
        made.commit_draw(start(), step=1)
    with pytest.raises(UserError, match="now holds other data"):
        open_experiment(changed)


def test_other_settings_of_evaluate_do_not_make_another_run(run):
    stored = open_run(run)
    asked = parse_config(SMALL, ["--evaluate.corruptions", "true"])
    assert _as_stored(asked, stored) == stored.config
    assert _as_stored(parse_config(SMALL, ["--seed", "1"]), stored) != stored.config


def test_a_run_that_is_being_written_is_refused_before_any_work(run):
    with open_run(run, writable=True), pytest.raises(UserError, match="being written by process"):
        check_writable(run)
    check_writable(run)


def test_bad_inputs_are_named(run):
    opened = open_experiment(run)
    x = np.zeros((2, 8, 8, 1))
    bad = {
        r"must have shape \(rows, 8, 8, 1\)": np.zeros((2, 8, 8), np.uint8),
        "must hold at least one input": x[:0],
        "must hold uint8 or floating-point numbers, got int64": x.astype(np.int64),
        "must be finite, row 1 is not": np.stack([x[0], np.full_like(x[0], np.nan)]),
        "from 0 to 255, got none above 1: multiply by 255": x + 0.5,
        "as stored and not normalised, got values from -3 to 0": x - 3.0 * np.eye(8)[..., None],
        "must be an array, got list": [[1.0]],
    }
    for words, inputs in bad.items():
        with pytest.raises(UserError, match=words):
            opened.predict(inputs)


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        (["--expansion", "{}"], "SGHMC"),
        (["--expansion.into", "2"], "PX-SGHMC (c=1, d=2)"),
        (["--expansion.rank", "4"], "PX-SGHMC (c=1, d=1, rank 4)"),
        (["--expansion.rank", "0.25"], "PX-SGHMC (c=1, d=1, rank 0.25 of the width)"),
        (["--expansion.frozen", "true"], "PX-SGHMC (c=1, d=1, frozen factors)"),
        (["--prior.exact", "true"], "PX-SGHMC (c=1, d=1, exact prior)"),
        (["--sampler", "{name='sgd', step_size=1e-3}", "--expansion", "{}"], "SGD"),
        (["--sampler", "{name='psgld', step_size=1e-3}"], "PX-pSGLD (c=1, d=1)"),
    ],
)
def test_a_method_is_called_by_what_makes_it_different(flags, name):
    assert method_name(parse_config(SMALL, flags)) == name


def test_settings_are_the_same_but_for_seed_place_and_pace():
    def digest(*flags, chains=1):
        return settings_digest(parse_config(SMALL, list(flags)), chains)

    same = ["--seed 5", "--chain.chunk_seconds 9.0", "--evaluate.subset 7", "--threads 1"]
    for flags in (*same, "--data.root elsewhere"):
        assert digest(*flags.split()) == digest()
    for flags in ("--chain.draws 9", "--prior.variance 0.5", "--chain.batch_size 10"):
        assert digest(*flags.split()) != digest()
    assert digest(chains=2) != digest()
