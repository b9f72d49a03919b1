"""A run directory opened to be looked into: its draws, its name, its results."""

import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.config import parse_config, write_config
from pxsgmcmc.config.build import method_name
from pxsgmcmc.config.opening import open_any
from pxsgmcmc.config.run_config import run_config, settings_digest
from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.evaluate import subject as subjects
from pxsgmcmc.evaluate.subject import subject_of
from pxsgmcmc.store import create_run, open_run, verify
from tests.helpers import chain_problems
from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.closeness import assert_close
from tests.helpers.small_runs import sampled, three_draws, two_chains
from tests.helpers.small_settings import SMALL


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
    opened = px.open(run)
    draws = list(opened)
    assert len(draws) == len(opened) == subject_of(opened).draws == 3
    for number, draw in enumerate(draws, 1):
        np.testing.assert_array_equal(first_bias(draw), stored_bias(run, number))


def test_the_subject_says_which_run_it_is(run):
    subject = subject_of(px.open(run))
    assert subject.method == "PX-SGHMC (c=1, d=1)" and subject.model == "mlp, widths 4"
    assert subject.data == "digits (first 60 rows)"
    assert (subject.seed, subject.chains, subject.steps) == (0, 1, 15)
    assert subject.parameters == 64 * 4 + 4 + 4 * 10 + 10
    assert subject.sampled == subject.parameters + 2 * 4 * 4  # one factor behind, one before
    assert (subject.skipped, subject_of(px.open(run).skip(1)).skipped) == (0, 1)


def test_it_predicts_what_the_draws_average_to(run):
    opened = px.open(run)
    x = opened.problem.test.x[:7]
    logits = np.stack([np.asarray(opened.problem.distribution(d, x), float) for d in opened])
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    found = opened.predict(x, batch_size=3)
    # 64 pixels into 4 hidden units, 4 into a logit, in batches of 7 rows, of 3, and of 1 + 6.
    scale = np.abs(logits).max() + 1.0
    assert_close(found.probabilities, p.mean(0), terms=2 * (64 + 4), scale=scale)
    same = opened.predict(x.astype(np.float32))  # floats on the stored scale
    assert_close(same.probabilities, found.probabilities, terms=2 * (64 + 4), scale=scale)


def test_the_draws_of_several_chains_take_turns(chains):
    opened = px.open(chains)
    assert opened.chains == 2 and len(opened) == 6
    assert (subject_of(opened).chains, subject_of(opened).draws) == (2, 6)
    expected = [stored_bias(chains / f"chain-000{c}", n) for n in (1, 2, 3) for c in (0, 1)]
    for draw, bias in zip(opened, expected, strict=True):
        np.testing.assert_array_equal(first_bias(draw), bias)
    for draw, bias in zip(opened.draws_of(1), expected[1::2], strict=True):
        np.testing.assert_array_equal(first_bias(draw), bias)


def test_results_of_one_run_are_hashed_and_those_of_chains_lie_above_them(run, chains):
    for folder in (run, chains):
        px.open(folder).write_artifact("eval/a.json", b"{}")
        kept = px.open(folder).read_artifact("eval/a.json")
        assert kept == (folder / "eval/a.json").read_bytes() == b"{}"
        assert px.open(folder).read_artifact("results.json") is None
        with pytest.raises(UserError, match="A result must be named"):
            px.open(folder).write_artifact("../a", b"")
    assert verify(run).problems == []
    for command in ("verify", "show"):
        assert call(command, str(chains)).code == 0
    listed = call("list", str(chains.parent)).out
    assert "2 chains" in listed and "chain-000" not in listed
    for folder in (run, chains):
        (folder / "eval/a.json").write_bytes(b"[]")
        with pytest.raises(CorruptRun, match="SHA-256 differs"):
            px.open(folder).read_artifact("eval/a.json")
        px.open(folder).write_artifact("eval/a.json", b"{}")


def test_what_cannot_be_opened_is_said_in_a_sentence(run, tmp_path):
    with pytest.raises(UserError, match="must be a run directory"):
        px.open(tmp_path / "nothing")
    empty = tmp_path / "empty"
    create_run(empty, open_run(run).config, open_run(run).manifest["origin"]).close()
    for command in ("evaluate", "diagnose", "report"):
        said = call(command, str(empty))
        assert_one_line(said, 2, "has no draws yet: go on with `pxsgmcmc resume")
    with pytest.raises(UserError, match="at least one draw to evaluate"):
        px.open(empty).evaluate()
    with pytest.raises(UserError, match="at least one draw to diagnose"):
        px.open(empty).diagnose()
    with pytest.raises(UserError, match="`--seed` cannot be changed after the run"):
        open_any(run, settings=["--seed", "1"])
    with pytest.raises(UserError, match=r"`evaluate\.subset` must be a whole number of at least 1"):
        open_any(run, settings=["--evaluate.subset", "0"])


def test_a_run_started_from_python_asks_for_its_problem(run, tmp_path):
    python = tmp_path / "python"
    stored = open_run(run)
    with create_run(python, "draws = 3\n", stored.manifest["origin"]) as made:
        made.commit_draw(stored.load_draw(1), step=1)
    with pytest.raises(UserError, match=r"`evaluate` needs to know the problem.*px\.open\("):
        px.open(python).evaluate()
    known = px.open(python, px.open(run).problem)
    assert known.evaluate().subject.draws == 1


def test_a_run_on_data_that_have_changed_since_is_refused(run, tmp_path):
    changed, stored = tmp_path / "changed", open_run(run)
    origin = {**stored.manifest["origin"], "data_sha256": "0"}
    with create_run(changed, stored.config, origin) as made:
        made.commit_draw(stored.load_draw(1), step=1)
    with pytest.raises(UserError, match="was made from other training data"):
        px.open(changed)


def test_other_settings_of_evaluate_do_not_make_another_run(tmp_path):
    place = tmp_path / "run"
    sampled(place)
    before = open_run(place).config
    other = parse_config(SMALL, ["--evaluate.corruptions", "true"])
    assert len(run_config(other, place, resume=True, progress=False)) == 3
    assert open_run(place).config == before == write_config(parse_config(SMALL))
    with pytest.raises(UserError, match="seed"):
        run_config(parse_config(SMALL, ["--seed", "1"]), place, resume=True, progress=False)


def test_a_run_that_is_being_written_is_refused_before_any_work(run):
    opened = px.open(run)
    with open_run(run, writable=True), pytest.raises(UserError, match="being written by process"):
        opened.check_writable()
    opened.check_writable()


def test_bad_inputs_are_named(run):
    opened = px.open(run)
    x = np.zeros((2, 8, 8, 1))
    bad = {
        r"shape \(rows, 8, 8, 1\)": np.zeros((2, 8, 8), np.uint8),
        "at least one row": x[:0],
        "must be finite, got NaN or infinity in row 1": np.stack([x[0], x[1] * np.nan]),
        "from 0 to 255, got none above 1; multiply by 255": x + 0.5,
        "got values from -3 to 0; give them as stored, not norm": x - 3.0 * np.eye(8)[..., None],
        r"got \(1, 1\)": [[1.0]],
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
        (["--prior.on_weights", "true"], "PX-SGHMC (c=1, d=1, prior on weights)"),
        (["--sampler", "{name='sgd', step_size=1e-3}", "--expansion", "{}"], "SGD"),
        (["--sampler", "{name='psgld', step_size=1e-3}"], "PX-pSGLD (c=1, d=1)"),
    ],
)
def test_a_method_is_called_by_what_makes_it_different(flags, name):
    assert method_name(parse_config(SMALL, flags)) == name


def test_settings_are_the_same_but_for_seed_place_and_pace():
    def digest(*flags):
        return settings_digest(parse_config(SMALL, list(flags)))

    same = ["--seed 5", "--chain.chunk_seconds 9.0", "--evaluate.subset 7", "--threads 1"]
    # A run may be made longer: the draws it has are counted, not those it was asked for first.
    for flags in (*same, "--data.root elsewhere", "--chain.draws 9"):
        assert digest(*flags.split()) == digest()
    for flags in ("--prior.variance 0.5", "--chain.batch_size 10"):
        assert digest(*flags.split()) != digest()


def test_runs_with_other_chains_or_draws_left_out_are_no_repetitions_of_each_other(run, chains):
    digests = [subjects.settings_digest(px.open(place)) for place in (run, chains)]
    digests.append(subjects.settings_digest(px.open(run).skip(1)))
    assert len(set(digests)) == 3
    assert subjects.settings_digest(px.open(run)) == digests[0]


def test_a_run_made_longer_is_a_repetition_of_one_asked_for_so_many_draws(tmp_path):
    def digest(folder, draws, seed=5):
        chain_problems.run(out=tmp_path / folder, draws=draws, seed=seed, resume=True)
        return subjects.settings_digest(px.open(tmp_path / folder))

    short = digest("longer", 2)
    assert digest("longer", 3) == digest("at once", 3) == digest("another seed", 3, seed=6) != short
