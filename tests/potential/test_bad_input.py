"""Energies that cannot be: one sentence with the argument, the rule and the value."""

import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px

PARAMS = {"kernel": np.ones((4, 3), np.float32)}
X, LABELS = np.ones((6, 4), np.float32), np.zeros(6, np.int32)
TARGETS = np.ones((6, 3), np.float32)


def apply(params, x):
    return x @ params["kernel"]


def sentence(call):
    with pytest.raises(px.UserError) as error:
        call()
    text = str(error.value)
    assert text.count("\n") == 0 and text.endswith(".") and len(text) < 300
    return text


BUILDERS = [
    (lambda: px.normal(-0.1), "`variance` must be a number above 0, got -0.1"),
    (lambda: px.normal(0.0), "`variance` must be a number above 0, got 0.0"),
    (lambda: px.normal({"a": 1.0, "b": -2.0}), "got -2.0 at 'b'"),
    (lambda: px.normal("wide"), "`variance` must be a number above 0, got 'wide'"),
    (lambda: px.normal({}), "`variance` must be a number or a tree of numbers, got {}"),
    (lambda: px.normal(1.0, at="one"), "`at` must be 'zero' or 'identity', got 'one'"),
    (lambda: px.exact(float("inf")), "`variance` must be a number above 0, got inf"),
    (lambda: px.exact(1.0, temperature=-1.0), "`temperature` must be a number at least 0"),
    (lambda: px.classification(apply, data_size=0), "`data_size` must be a whole number of at"),
    (lambda: px.classification(apply, data_size=1.5), "at least 1, got 1.5"),
    (lambda: px.classification(apply, data_size=6, prior=0.1), "`prior` must be made by `normal`"),
    (
        lambda: px.classification(apply, data_size=6, factor_prior=0.5),
        "`factor_prior` must be made by `normal` or None, got 0.5",
    ),
    (lambda: px.regression(apply, noise=0.0, data_size=6), "`noise` must be a number greater than"),
    (lambda: px.regression(apply, noise="unknown", data_size=6), "got 'unknown'"),
    (lambda: px.with_noise(PARAMS, start=-1.0), "`start` must be a number greater than 0, got -1"),
    (lambda: px.by_path(PARAMS, {"bias": 1.0}), "has no pattern for 'kernel'"),
    (
        lambda: px.by_path(PARAMS, {"*": 1.0, "bias": 2.0}),
        "has a pattern that matches nothing: 'bias'",
    ),
]


@pytest.mark.parametrize(("build", "says"), BUILDERS)
def test_a_bad_setting_is_refused_in_one_sentence(build, says):
    assert says in sentence(build)


U = px.classification(apply, data_size=6)
R = px.regression(apply, noise=1.0, data_size=6)
BATCHES = [
    (U, X, "`batch` must be a pair (inputs, targets), got ndarray"),
    (U, (X, LABELS, LABELS), "`batch` must be a pair (inputs, targets), got tuple"),
    (U, (X, LABELS[:5]), "as many inputs as targets, got 6 inputs for 5 targets"),
    (U, ((X, X[:4]), LABELS), "as many inputs as targets, got 4 and 6 inputs for 6 targets"),
    (U, (X, TARGETS), "integer labels of shape (batch size,), got float32 of shape (6, 3)"),
    (U, (X, LABELS.astype(np.float32)), "integer labels of shape (batch size,), got float32"),
    (R, (X, TARGETS[:, :2]), "means of the targets' shape, got (6, 3) for (6, 2)"),
    (R, (X[:2], TARGETS), "as many inputs as targets, got 2 inputs for 6 targets"),
]


@pytest.mark.parametrize(("energy", "batch", "says"), BATCHES)
def test_a_mismatched_batch_is_refused_in_one_sentence(energy, batch, says):
    assert says in sentence(lambda: energy(PARAMS, batch))


def test_logits_of_the_wrong_shape_are_refused():
    flat = px.classification(lambda params, x: (x @ params["kernel"])[:, 0], data_size=6)
    assert "logits of shape (batch size, classes), got (6,)" in sentence(
        lambda: flat(PARAMS, (X, LABELS))
    )


@pytest.mark.parametrize("reduce", [jnp.sum, jnp.mean])
def test_a_log_likelihood_that_was_already_summed_is_refused(reduce):
    summed = px.posterior(lambda q, batch: reduce(-((batch - q) ** 2)), data_size=6)
    text = sentence(lambda: summed(np.float32(0.0), np.ones(6, np.float32)))
    assert "`log_likelihood` must give one number per datum, got shape () for 6 data" in text


def test_learned_noise_needs_parameters_that_hold_it():
    learned = px.regression(apply, noise="learned", data_size=6)
    assert "must be made by `with_noise`" in sentence(lambda: learned(PARAMS, (X, TARGETS)))


def test_a_variance_tree_must_fit_what_it_stands_on():
    wrong = px.classification(apply, data_size=6, prior=px.normal({"weights": 1.0}))
    text = sentence(lambda: wrong(PARAMS, (X, LABELS)))
    assert "`variance` must be a number or a tree prefix of the position" in text


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ((X, LABELS[:5]), "`data` must hold arrays of one length of at least 1"),
        ((), "`data` must hold arrays of one length of at least 1, got shapes none"),
        ((X[:0], LABELS[:0]), "`data` must hold arrays of one length of at least 1"),
        (np.float32(1.0), "got shapes ()"),
    ],
)
def test_all_data_must_have_one_length(data, says):
    assert says in sentence(lambda: U.on_all(data))


def test_a_chunk_has_at_least_one_datum():
    assert "`chunk_size` must be a whole number of at least 1, got 0" in sentence(
        lambda: U.on_all((X, LABELS), chunk_size=0)
    )
