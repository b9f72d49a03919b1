"""What goes wrong with a newcomer's input: one sentence that names the argument and the remedy."""

import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import pxsgmcmc as px
from pxsgmcmc.errors import ChainWarning, UserError
from pxsgmcmc.store import manifest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2)).astype(np.float32)
Y = np.arange(30) % 3
PARAMS = {"layer": {"kernel": jnp.ones((2, 3)) / 4, "bias": jnp.zeros(3)}}


def apply(params, x):
    return x @ params["layer"]["kernel"] + params["layer"]["bias"][None]


def problem(x=X, y=Y, network=apply, likelihood=None, **more):
    return px.Problem(network, likelihood or px.likelihoods.categorical(), train=(x, y), **more)


def sample(of=None, params=PARAMS, *, step_size=1e-3, friction=10.0, **settings):
    of = problem() if of is None else of
    sampler = px.sghmc(px.potential(of), step_size, friction=friction)
    settings = {"draws": 2, "cycle_length": 4, "batch_size": 10, "progress": False, **settings}
    return px.sample(sampler, params, of, **settings)


def spoiled(array, row, value):
    array = np.array(array, np.float32)
    array[row] = value
    return array


def with_network(network):
    graph, params = nnx.split(network)
    return sample(problem(network=lambda p, x: nnx.merge(graph, p)(x)), params)


def with_state_aside(network):
    graph, params, rest = nnx.split(network, nnx.Param, ...)
    return sample(problem(network=lambda p, x: nnx.merge(graph, p, rest)(x)), params)


class Normed(nnx.Module):
    def __init__(self):
        self.layer = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
        self.norm = nnx.BatchNorm(3, rngs=nnx.Rngs(0))

    def __call__(self, x):
        return self.norm(self.layer(x))


class Dropping(nnx.Module):
    def __init__(self):
        self.layer = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
        self.dropout = nnx.Dropout(0.5, rngs=nnx.Rngs(0))

    def __call__(self, x):
        return self.dropout(self.layer(x))


GAUSSIAN = px.likelihoods.gaussian(0.1)
CASES = {
    "labels from 1": (lambda: problem(y=Y + 1), "train[1]", "from 1 to 3", "subtract 1"),
    "labels -1 and 1": (lambda: problem(y=2 * (Y % 2) - 1), "train[1]", "-1 and 1", "map them"),
    "a label -1": (lambda: problem(y=Y - 1), "train[1]", "-1 in rows 0, 3", "correct them"),
    "text labels": (lambda: problem(y=np.array(list("abc"))[Y]), "train[1]", "such as 'a'"),
    "float labels": (lambda: problem(y=Y.astype(float)), "train[1]", "astype('int32')"),
    "fractions as labels": (lambda: problem(y=Y + 0.5), "train[1]", "choose a regression"),
    "NaN in x": (lambda: problem(spoiled(X, 7, np.nan)), "train[0]", "row 7", "drop these rows"),
    "infinity in x": (lambda: problem(spoiled(X, 3, np.inf)), "train[0]", "row 3", "fill in"),
    "NaN in y": (
        lambda: problem(y=spoiled(Y, 5, np.nan), likelihood=GAUSSIAN),
        *("train[1]", "row 5", "drop these rows"),
    ),
    "infinity in y": (
        lambda: problem(y=spoiled(Y, 5, -np.inf), likelihood=GAUSSIAN),
        *("train[1]", "row 5", "fill in"),
    ),
    "a column of labels": (lambda: problem(y=Y[:, None]), "train[1]", "(30, 1)", "[:, 0]"),
    "fewer labels than inputs": (lambda: problem(y=Y[:20]), "train", "30", "20"),
    "x alone": (
        lambda: px.Problem(apply, px.likelihoods.categorical(), train=X),
        *("train", "pair", "(x, y)"),
    ),
    "one logit with categorical": (
        lambda: sample(problem(network=lambda p, x: apply(p, x)[:, :1], y=Y % 2)),
        *("apply", "(batch, 2)", "bernoulli"),
    ),
    "two logits with Bernoulli": (
        lambda: sample(problem(y=Y % 2, likelihood=px.likelihoods.bernoulli())),
        *("apply", "one logit", "categorical"),
    ),
    "a regression's outputs of another shape": (
        lambda: sample(problem(y=RNG.normal(size=30), likelihood=GAUSSIAN)),
        *("apply", "(batch, 1)", "(8, 3)"),
    ),
    "wrong data_size": (
        lambda: px.potential(problem(), data_size=300),
        *("data_size", "30", "leave it out"),
    ),
    "a batch larger than the data": (lambda: sample(batch_size=31), "batch_size", "30", "31"),
    "friction by groups of plain params": (
        lambda: sample(friction=px.plan(PARAMS, expand_input=True).groups(base=1.0, factors=1.0)),
        *("friction", "expand"),
    ),
    "batch norm": (lambda: with_network(Normed()), "params", "norm/mean", "running averages"),
    "dropout": (lambda: with_network(Dropping()), "params", "dropout", "no dropout"),
    "batch norm, state aside": (lambda: with_state_aside(Normed()), "apply", "batch statistics"),
    "dropout, state aside": (lambda: with_state_aside(Dropping()), "apply", ".eval()"),
    "more logits than labels": (lambda: sample(problem(y=Y % 2)), "apply", "(batch, 2)", "`names`"),
    "a draw by name": (lambda: sample()["first"], "run[...]", "whole number", "'first'"),
    "a cycle that does not match": (
        lambda: sample(step_size=px.cyclical(1e-3, 10), cycle_length=15),
        *("cycle_length", "10", "15"),
    ),
    "rank too large": (
        lambda: px.plan(PARAMS, rank=40, expand_input=True, expand_logits=True),
        *("rank", "40"),
    ),
    "a slice out of range": (lambda: sample()[5:], "run[5:]", "2, from 0 to 1"),
    "a draw out of range": (lambda: sample()[2], "run[2]", "2, from 0 to 1"),
    "more skipped than there are": (lambda: sample().skip(2), "skip", "less than the 2 draws"),
    "a test set of another shape": (
        lambda: problem(test=(X[:, :1], Y)),
        *("test[0]", "(rows, 2)", "(30, 1)"),
    ),
    "new inputs of another shape": (lambda: sample().predict(X[0]), "x", "(rows, 2)", "x[None]"),
    "a test set without labels": (lambda: problem(test=X), "test", "pair"),
}  # fmt: skip


def assert_a_sentence(message, *words):
    """One sentence, or two, with the argument in backticks first among `words`."""
    assert "\n" not in message and message.endswith("."), message
    assert "`" in message, message
    for word in words:
        assert word in message, (word, message)


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_named_with_its_remedy(name):
    do, *words = CASES[name]
    with pytest.raises(UserError) as caught:
        do()
    assert_a_sentence(str(caught.value), f"`{words[0]}", *words[1:])


def test_probabilities_instead_of_logits_are_warned_of_even_without_progress():
    of = problem(network=lambda p, x: jax.nn.softmax(apply(p, x)))
    with pytest.warns(ChainWarning, match="Give logits, without softmax") as caught:
        sample(of)
    (said,) = [str(one.message) for one in caught if "softmax" in str(one.message)]
    assert_a_sentence(said, "`apply`")


def test_nested_lists_are_taken_as_arrays():
    assert problem(X.tolist(), Y.tolist()).sha256 == problem(X, Y.astype(np.int32)).sha256
    run = sample()
    listed, plain = run.predict(X[:2].tolist()), run.predict(X[:2])
    np.testing.assert_array_equal(listed.probabilities, plain.probabilities)


def test_a_column_of_targets_is_as_good_as_a_row_in_a_regression():
    y = RNG.normal(size=30)
    one, other = (problem(y=form, likelihood=GAUSSIAN) for form in (y, y[:, None]))
    assert one.sha256 == other.sha256


CHANGES = {
    "data": (lambda out: sample(problem(X + 1), out=out, resume=True), "other training data"),
    "likelihood": (
        lambda out: sample(
            problem(y=Y.astype(float), network=lambda p, x: apply(p, x)[:, 0], likelihood=GAUSSIAN),
            out=out, resume=True,
        ),
        "another",
    ),
    "step size": (lambda out: sample(step_size=2e-3, out=out, resume=True), "step size (0.001 at"),
    "friction": (lambda out: sample(friction=11.0, out=out, resume=True), "base (10.0; now 11.0)"),
    "seed": (lambda out: sample(seed=1, out=out, resume=True), "another seed"),
    "start": (
        lambda out: sample(params=jax.tree.map(lambda x: x + 1, PARAMS), out=out, resume=True),
        "another starting position",
    ),
    "cycle": (lambda out: sample(cycle_length=8, out=out, resume=True), "`cycle_length` must be 4"),
    "fewer draws": (lambda out: sample(draws=1, out=out, resume=True), "`draws` must be at least"),
}  # fmt: skip


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A run directory to be copied."""
    folder = tmp_path_factory.mktemp("begun") / "run"
    sample(out=folder)
    return folder


@pytest.mark.parametrize("name", CHANGES)
def test_a_run_goes_on_only_with_what_it_began_with(name, begun, tmp_path):
    shutil.copytree(begun, tmp_path / "run")
    do, words = CHANGES[name]
    with pytest.raises(UserError) as caught:
        do(tmp_path / "run")
    assert_a_sentence(str(caught.value), words)
    assert len(px.open(tmp_path / "run", problem())) == 2  # and nothing was lost


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way", "utf-8")
    with pytest.raises(UserError) as caught:
        sample(out=tmp_path / "file" / "run")
    assert_a_sentence(str(caught.value), str(tmp_path / "file"), "another folder (`out`)")


def test_a_run_directory_of_a_newer_version_is_not_misread(tmp_path, monkeypatch):
    with monkeypatch.context() as newer:
        newer.setattr(manifest, "FORMAT", manifest.FORMAT + 1)
        newer.setattr(manifest, "version", lambda: "99.0")
        sample(out=tmp_path / "run")
    with pytest.raises(UserError) as caught:
        px.open(tmp_path / "run", problem())
    assert_a_sentence(
        str(caught.value), f"run` is in format {manifest.FORMAT + 1}", "use the one that made it"
    )


def test_a_header_where_none_was_said_is_named(tmp_path):
    (tmp_path / "x.csv").write_text("width,height\n1,2\n3,4\n5,6\n", "utf-8")
    (tmp_path / "y.csv").write_text("0\n1\n0\n", "utf-8")
    files = {"train": {"x": "x.csv", "y": "y.csv"}, "header": False}
    with pytest.raises(UserError) as caught:
        px.data.load_files(files, base=tmp_path)
    assert_a_sentence(str(caught.value), "x.csv", "width", "header")
