"""`px.tune` and `pxsgmcmc tune`: real chains, the test rows, bad input."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.config import parse_config
from pxsgmcmc.tuning import beginning
from tests.helpers.cli_calls import assert_one_line, call


class Forbidden:
    """Test rows that raise whatever is done with them."""

    def __getattribute__(self, name):
        raise AssertionError(f"the test rows were touched: {name}")

    __iter__ = __len__ = __getitem__ = __bool__ = None


def network(params, x):
    return jnp.tanh(x @ params["a"]["kernel"]) @ params["b"]["kernel"]


def init(key):
    first, second = jax.random.split(key)
    return {
        "a": {"kernel": jax.random.normal(first, (2, 3))},
        "b": {"kernel": jax.random.normal(second, (3, 2))},
    }


def problem(**changes):
    random = np.random.default_rng(0)
    x = random.normal(size=(80, 2)).astype(np.float32)
    y = (x[:, 0] + 0.5 * random.normal(size=80) > 0).astype(np.int32)
    given = {"train": (x[:60], y[:60]), "validation": (x[60:], y[60:]), "init": init}
    made = px.Problem(network, px.likelihoods.categorical(), **(given | changes))
    object.__setattr__(made, "test", Forbidden())
    return made


QUICK = {
    "chain.draws": 9,
    "chain.cycle_length": 5,
    "chain.burn_in": 20,
    "chain.start": "random",
    "sampler.step_size": {"kind": "cyclical", "peak": 2e-2},
    "sampler.friction": 5.0,
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    out = tmp_path_factory.mktemp("tune") / "mine"
    # Whether such short chains are at their temperature is not what is looked at here.
    space = {"sampler.friction": [5.0, 50.0], "prior.variance": False}
    said = []
    found = px.tune(
        problem(), settings=QUICK, space=space, trials=3, out=out, search="best-first",
        say=said.append,
    )  # fmt: skip
    return found, said


def test_a_problem_from_python_is_tuned_and_its_test_rows_are_not_seen(outcome):
    found, said = outcome
    assert len(found.tuning.trials) == 3 and said[0].startswith("starting from pilot")
    assert {place.name for place in found.tuning.ranges} == {
        "sampler.step_size.peak",
        "sampler.friction",
    }
    with pytest.raises(AssertionError, match="were touched"):
        _ = problem().test.x
    for trial in found.tuning.trials:
        folder = found.folder / trial.folder
        text = (folder / "eval" / "validation.json").read_text()
        assert json.loads(text)["subject"]["test_sha256"] == ""
        assert not (folder / "results.json").exists()


def test_the_outcome_is_in_the_folder_and_can_be_gone_on_with(outcome):
    found, _ = outcome
    names = {path.name for path in found.folder.iterdir()}
    assert {"trials.json", "trials.csv", "tune.html", "trials"} <= names
    assert repr(found).startswith("TuneOutcome: 3 trials in")
    assert (found.best is not None) == ("best.toml" in names) == (found.config is not None)
    if found.best is not None:
        run = px.open(found.best_folder, problem())
        assert len(run) == 9
        text = (found.folder / "best.toml").read_text()
        assert parse_config(text).sampler == found.config.sampler
    said = []
    space = {"sampler.friction": [5.0, 50.0], "prior.variance": False}
    again = px.tune(
        problem(), settings=QUICK, space=space, trials=3, out=found.folder, say=said.append
    )  # the kind of search is taken from the folder
    assert again.tuning == found.tuning and "going on with the 3 trials" in said[0]
    with pytest.raises(px.UserError, match="another space"):
        px.tune(problem(), settings=QUICK, trials=3, out=found.folder, say=said.append)


@pytest.fixture
def config(tmp_path):
    random = np.random.default_rng(0)
    np.save(tmp_path / "X.npy", random.normal(size=(40, 2)))
    np.save(tmp_path / "y.npy", random.normal(size=40))
    path = tmp_path / "own.toml"
    path.write_text(
        """
[data]
train = { x = "X.npy", y = "y.npy" }
validation = 0.25
[model]
name = "mlp"
widths = [3]
[sampler]
name = "sgd"
step_size = 1e-4
[chain]
draws = 2
cycle_length = 3
batch_size = 10
"""
    )
    return path


def test_bad_input_is_answered_in_one_sentence_before_anything_runs(config, tmp_path):
    def tuned(*flags):
        return call("tune", str(config), "--out", str(tmp_path / "out"), *flags)

    assert_one_line(tuned("--engine", "slurmm"), 2, "`--engine` cannot be 'slurmm'", "mean `slurm`")
    assert_one_line(tuned("--space", "prior.variance=-1:1"), 2, "above 0 for prior.variance")
    assert_one_line(tuned("--tune.space.prior.variance", "[-1, 1]"), 2, "above 0 for prior.varia")
    assert_one_line(tuned("--space", "prior.varianc"), 2, "no setting", "mean `prior.variance`")
    assert_one_line(tuned("--space", "variance"), 2, "no setting 'variance'", "`prior.variance`")
    assert_one_line(tuned("--space", "nothing"), 2, "'nothing'", "known: sampler.step_size")
    assert_one_line(tuned("--space", "prior.family"), 2, "settings that are numbers")
    depth = ("--space", "expansion.out=0:2", "--search", "best-first")
    assert_one_line(tuned(*depth), 2, "cannot search expansion.out", "`--search tpe`")
    assert_one_line(tuned("--budget", "soon"), 2, "`--budget`", "30m")
    assert_one_line(tuned("--trials", "0"), 2, "`trials`")
    assert_one_line(tuned("--search", "grid"), 2, "`search`", "best-first")
    assert_one_line(tuned("--at-once", "0"), 2, "`at_once`")
    assert_one_line(tuned("--trails", "3"), 2, "--trails", "--trials")
    text = config.read_text()
    config.write_text(text.replace("validation = 0.25\n", ""))
    assert_one_line(tuned(), 2, "validation split", "data.validation")
    config.write_text(text)  # ten steps, which take a moment, but a process starts and compiles
    assert_one_line(tuned("--budget", "0.01s"), 2, "`--budget` must leave time for one trial")
    config.write_text(text.replace("cycle_length = 3", "cycle_length = 100_000_000"))
    assert_one_line(tuned("--budget", "2s"), 2, "`--budget` must leave time for one trial")
    assert not (tmp_path / "out").exists()
    assert_one_line(call("tune", "no-such"), 2, "no-such")


def test_without_optuna_the_built_in_search_is_used_and_said(tmp_path, monkeypatch):
    said = []
    for module in ("beginning", "optuna_search"):
        monkeypatch.setattr(f"pxsgmcmc.tuning.{module}.is_installed", lambda: False)
    assert beginning.proposer_named("auto", tmp_path, 0, said.append).name == "best-first"
    assert "Optuna is not installed" in said[0]
    with pytest.raises(px.UserError, match=r"pip install 'pxsgmcmc\[tune\]'"):
        beginning.proposer_named("tpe", tmp_path, 0, said.append)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"budget": "30m"}, "`budget` must be a time above 0 in seconds, got '30m'"),
        ({"budget": float("nan")}, "`budget`"),
        ({"space": ["prior.variance"]}, "`space` must be a dictionary"),
        ({"settings": "chain.draws"}, "`settings` must be a dictionary"),
        ({"space": {"prior.variance": (-1, 1)}}, "above 0 for prior.variance"),
        ({"engine": "slurmm"}, "cannot be 'slurmm'"),
    ],
)
def test_bad_arguments_in_python_are_named_and_leave_nothing(change, words, tmp_path):
    with pytest.raises(px.UserError, match=words):
        px.tune(problem(), out=tmp_path / "a", **change)
    assert not (tmp_path / "a").exists()


def test_a_problem_without_init_or_validation_is_refused(tmp_path):
    with pytest.raises(px.UserError, match="`init`"):
        px.tune(problem(init=None), out=tmp_path / "a")
    with pytest.raises(px.UserError, match="validation split"):
        px.tune(problem(validation=None), out=tmp_path / "a")
    assert not (tmp_path / "a").exists()  # nothing is left of what was refused
    with pytest.raises(px.UserError, match=r"needs a px\.Problem"):
        px.tune(3, out=tmp_path / "a")
