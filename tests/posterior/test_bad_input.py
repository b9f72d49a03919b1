"""Energies that cannot be: one sentence with the argument, the rule and the value."""

import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from tests.helpers.energies import classification
from tests.helpers.small_network import on_weights

PARAMS = {"kernel": np.ones((4, 3), np.float32)}
X, LABELS = np.ones((6, 4), np.float32), np.zeros(6, np.int32)
TARGETS = np.ones((6, 3), np.float32)


def apply(params, x):
    return x @ params["kernel"]


CATEGORICAL = px.likelihoods.categorical()
PROBLEM = px.Problem(apply, CATEGORICAL, train=(X, LABELS), names=("a", "b", "c"))


def sentence(call):
    with pytest.raises(px.UserError) as error:
        call()
    text = str(error.value)
    assert text.count("\n") == 0 and text.endswith(".") and len(text) < 300
    return text


BUILDERS = [
    (lambda: px.priors.normal(-0.1), "`variance` must be a number above 0, got -0.1"),
    (lambda: px.priors.normal(0.0), "`variance` must be a number above 0, got 0.0"),
    (lambda: px.priors.normal({"a": 1.0, "b": -2.0}), "got -2.0 at 'b'"),
    (lambda: px.priors.normal("wide"), "`variance` must be a number above 0, got 'wide'"),
    (lambda: px.priors.normal({}), "`variance` must be a number or a tree of numbers, got {}"),
    (
        lambda: px.priors.normal(1.0, at="one"),
        "`at` must be 'zero', 'identity' or a tree of weights, got 'one'",
    ),
    (lambda: on_weights(1.0, temperature=-1.0), "`temperature` must be a number at least 0"),
    (lambda: classification(apply, data_size=0), "`data_size` must be a whole number of at"),
    (lambda: classification(apply, data_size=1.5), "at least 1, got 1.5"),
    (lambda: classification(apply, data_size=6, prior=0.1), "`prior` must be made by `px.priors."),
    (
        lambda: classification(apply, data_size=6, factor_prior=0.5),
        "`factor_prior` must be made by `px.priors.normal` or its like",
    ),
    (
        lambda: classification(apply, data_size=6, factor_prior=on_weights(1.0)),
        "`factor_prior` cannot be made by `on_weights`",
    ),
    (lambda: px.potential(apply), "`data_size` must say how many data there are"),
    (lambda: px.potential(3, data_size=6), "`problem` must be a `px.Problem` or a function"),
    (lambda: px.potential(PROBLEM, data_size=7), "`data_size` must be the number of training rows"),
    (lambda: px.likelihoods.gaussian(0.0), "`noise` must be a positive number, 'learned'"),
    (lambda: px.likelihoods.gaussian("unknown"), "got 'unknown'"),
    (lambda: px.likelihoods.gaussian(noise_start=-1.0), "`noise_start` must be a number greater"),
    (lambda: px.likelihoods.gaussian(units=(1.0, 0.0)), "`units` must be a mean and a positive"),
    (lambda: px.likelihoods.student_t(freedom=0.0), "`freedom` must be a number greater than 0"),
    (lambda: px.likelihoods.custom(3), "`log_prob` must be a function of outputs and targets"),
    (lambda: px.priors.laplace(0.0), "`scale` must be a number above 0, got 0.0"),
    (lambda: px.priors.student_t(1.0, freedom=-1.0), "`freedom` must be a number greater than 0"),
    (lambda: px.priors.by_path({}), "`priors` must hold at least one pattern"),
    (lambda: px.by_path(PARAMS, {"bias": 1.0}), "has no pattern for 'kernel'"),
    (
        lambda: px.by_path(PARAMS, {"*": 1.0, "bias": 2.0}),
        "has a pattern that matches nothing: 'bias'",
    ),
]


@pytest.mark.parametrize(("build", "says"), BUILDERS)
def test_a_bad_setting_is_refused_in_one_sentence(build, says):
    assert says in sentence(build)


U = px.potential(PROBLEM)
R = px.potential(px.Problem(apply, px.likelihoods.gaussian(1.0), train=(X, TARGETS)))
BATCHES = [
    (U, X, "`batch` must be a pair (inputs, targets), got ndarray"),
    (U, (X, LABELS, LABELS), "`batch` must be a pair (inputs, targets), got tuple"),
    (U, (X, LABELS[:5]), "as many inputs as targets, got shapes (6, 4) and (5,)"),
    (R, (X[:2], TARGETS), "as many inputs as targets, got shapes (2, 4) and (6, 3)"),
]


@pytest.mark.parametrize(("energy", "batch", "says"), BATCHES)
def test_a_mismatched_batch_is_refused_in_one_sentence(energy, batch, says):
    assert says in sentence(lambda: energy(PARAMS, batch))


def test_outputs_of_the_wrong_shape_are_refused_with_what_is_expected():
    flat = px.Problem(lambda p, x: (x @ p["kernel"])[:, 0], CATEGORICAL, train=(X, LABELS))
    assert "one logit is for `px.likelihoods.bernoulli()`" in sentence(
        lambda: px.potential(flat)(PARAMS, (X, LABELS))
    )
    two = px.Problem(apply, px.likelihoods.gaussian(1.0), train=(X, TARGETS[:, :2]))
    assert "`apply` must give outputs of shape (batch, 2), one mean a target" in sentence(
        lambda: px.potential(two)(PARAMS, (X, TARGETS[:, :2]))
    )
    assert "(batch, 6), means, then log scales" in sentence(
        lambda: px.potential(
            px.Problem(apply, px.likelihoods.gaussian("network"), train=(X, TARGETS))
        )(PARAMS, (X, TARGETS))
    )


@pytest.mark.parametrize("reduce", [jnp.sum, jnp.mean])
def test_a_log_likelihood_that_was_already_summed_is_refused(reduce):
    summed = px.potential(lambda q, batch: reduce(-((batch - q) ** 2)), data_size=6)
    text = sentence(lambda: summed(np.float32(0.0), np.ones(6, np.float32)))
    assert "`log_likelihood` must give one number per datum, got shape () for 6 data" in text


def test_learned_noise_needs_parameters_that_hold_it():
    learned = px.Problem(apply, px.likelihoods.gaussian("learned"), train=(X, TARGETS))
    assert "must be made by `problem.start(params)`" in sentence(
        lambda: px.potential(learned)(PARAMS, (X, TARGETS))
    )


def test_a_variance_tree_must_fit_what_it_stands_on():
    wrong = classification(apply, data_size=6, prior=px.priors.normal({"weights": 1.0}))
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
