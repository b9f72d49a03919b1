"""A problem of the user's own walks through every command, from a module beside its TOML."""

import json

import numpy as np
import pytest

from pxsgmcmc.store import open_run
from tests.helpers.cli_calls import assert_one_line, call

MODULE = """
import jax
import jax.numpy as jnp
import numpy as np
import pxsgmcmc as px


def network(params, x):
    return jnp.tanh(x @ params["a"]["kernel"]) @ params["b"]["kernel"]


def init(key):
    first, second = jax.random.split(key)
    return {
        "a": {"kernel": jax.random.normal(first, (3, 4))},
        "b": {"kernel": jax.random.normal(second, (4, 2))},
    }


def make_problem():
    random = np.random.default_rng(0)
    x = random.normal(size=(90, 3)).astype(np.float32)
    y = (x[:, 0] + 0.3 * random.normal(size=90) > 0).astype(np.int32)
    return px.Problem(
        network,
        px.likelihoods.categorical(),
        train=(x[:60], y[:60]),
        test=(x[60:], y[60:]),
        init=init,
        names=("no", "yes"),
        name="coins",
        model="two layers",
    )
"""
CONFIG = """
problem = "mine:make_problem"

[expansion]
out = 1
into = 1

[sampler]
name = "sghmc"
step_size = 2e-3
friction = 10.0

[chain]
draws = 6
cycle_length = 20
batch_size = 30
"""
QUICK = ["--plane-points", "0", "--rows", "20", "--lines", "1", "--line-points", "3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A user's folder: a module, a configuration, and a run made from them."""
    place = tmp_path_factory.mktemp("user")
    (place / "mine.py").write_text(MODULE)
    (place / "mine.toml").write_text(CONFIG)
    np.save(place / "new.npy", np.ones((5, 3), np.float32))
    said = call("run", str(place / "mine.toml"), "--out", str(place / "run"))
    assert said.code == 0, said
    return place


def test_config_check_says_what_the_problem_is(folder):
    said = call("config", "check", str(folder / "mine.toml"))
    assert said.code == 0
    assert "# Problem: categorical() on coins, 60 training rows of float32[3], 2 cl" in said.out


def test_every_command_works_on_a_run_of_ones_own_problem(folder):
    run = str(folder / "run")
    shown = call("show", run).out
    assert "PX-SGHMC (c=1, d=1) on coins, two layers" in shown and "6/6" in shown
    out = folder / "probabilities.npy"
    said = call("predict", run, str(folder / "new.npy"), "-o", str(out))
    assert said.code == 0 and np.load(out).shape == (5, 2), said
    said = call("evaluate", run)
    assert said.code == 0 and "test" in said.out, said
    said = call("diagnose", run, *QUICK)
    assert said.code == 0 and "verdict" in said.out, said
    said = call("report", run)
    assert said.code == 0 and (folder / "run/report.html").exists(), said
    assert call("verify", run).code == 0


def test_a_longer_run_equals_one_asked_for_all_at_once(folder):
    flags = ["--chain.draws", "3", "--out", str(folder / "short")]
    assert call("run", str(folder / "mine.toml"), *flags).code == 0
    said = call("resume", str(folder / "short"), "--draws", "6")
    assert said.code == 0, said
    hashes = [[draw.sha256 for draw in open_run(folder / name).draws] for name in ("short", "run")]
    assert hashes[0] == hashes[1]


def test_skipped_draws_are_left_out_by_every_command_that_reads_draws(folder):
    run = str(folder / "run")
    for skip in ("2", "0"):
        out = folder / f"skip{skip}.npy"
        said = call("predict", run, str(folder / "new.npy"), "-o", str(out), "--skip", skip)
        assert said.code == 0 and f"from {6 - int(skip)} draws" in said.out, said
    assert not np.array_equal(np.load(folder / "skip2.npy"), np.load(folder / "skip0.npy"))
    assert call("evaluate", run, "--skip", "2").code == 0
    results = json.loads((folder / "run/results.json").read_bytes())
    assert (results["subject"]["draws"], results["subject"]["skipped"]) == (4, 2)
    assert call("diagnose", run, *QUICK, "--skip", "2").code == 0
    found = json.loads((folder / "run/eval/diagnostics.json").read_bytes())
    assert (found["subject"]["draws"], found["subject"]["skipped"]) == (4, 2)
    page = folder / "page.html"
    assert call("report", run, "--skip", "2", "-o", str(page)).code == 0
    assert "4 draws" in page.read_text("utf-8")
    for command in ("evaluate", "diagnose", "report"):
        said = call(command, run, "--skip", "6")
        assert_one_line(said, 2, "`skip` must be less than the 6 draws of a chain, got 6")
    said = call("predict", run, str(folder / "new.npy"), "-o", str(page) + ".npy", "--skip", "-1")
    assert_one_line(said, 2, "`skip` must be a whole number of at least 0, got -1")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mine", "`problem` must be a module and a function in it"),
        ("os:getcwd", "there is no os.py in"),
        ("mine:nothing", "names 'nothing', which"),
        ("mine:network", "`problem` needs mine:network, which failed with TypeError: network()"),
    ],
)
def test_a_problem_that_cannot_be_had_is_named(folder, tmp_path, name, words):
    said = call("run", str(folder / "mine.toml"), "--problem", name, "--out", str(tmp_path / "run"))
    assert_one_line(said, 2, words)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import nothing_of_that_name", "failed with ModuleNotFoundError: No module named"),
        ("def make_problem(): return 3", "must name a function that returns a `px.Problem`"),
        ("def make_problem(): return 1 / 0", "failed with ZeroDivisionError: division by zero"),
        (MODULE.replace("        init=init,\n", ""), "`problem` must have `init` to start from"),
    ],
)
def test_a_module_that_fails_is_named_in_one_sentence(tmp_path, code, words):
    (tmp_path / "mine.py").write_text(code)
    (tmp_path / "mine.toml").write_text(CONFIG)
    assert_one_line(call("config", "check", str(tmp_path / "mine.toml")), 2, words)


def test_a_changed_problem_is_refused(folder, tmp_path):
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "mine.toml").write_text(CONFIG)
    flags = ["--chain.draws", "1", "--out", str(tmp_path / "run")]
    assert call("run", str(tmp_path / "mine.toml"), *flags).code == 0
    (tmp_path / "mine.py").write_text(MODULE.replace("default_rng(0)", "default_rng(1)"))
    said = call("evaluate", str(tmp_path / "run"))
    assert_one_line(said, 2, "was made from other training data")
    said = call("resume", str(tmp_path / "run"), "--draws", "2")
    assert_one_line(said, 2, "began with other training data")
