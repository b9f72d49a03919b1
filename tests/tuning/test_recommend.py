"""What is recommended is honest by the laws, and says what more would take."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.errors import UserError
from pxsgmcmc.tuning.pilot import pilot
from pxsgmcmc.tuning.recommend import recommend, with_batch_size
from tests.helpers.small_network import LABELS, PARAMS, X, apply
from tests.tuning.linear_gaussian import COORDINATES, POTENTIAL, Y

START = jnp.zeros(COORDINATES)


@pytest.fixture(scope="module")
def found():
    return pilot(POTENTIAL, START, data=Y, batch_size=24, batches=100, settle=0)


@pytest.mark.parametrize("name", ["sgld", "sghmc", "sgnht"])
@pytest.mark.parametrize("cycle_length", [None, 300])
def test_the_recommended_step_is_within_its_bounds(found, name, cycle_length):
    found = dataclasses.replace(found, cycle_length=cycle_length)
    best = found.recommend(name)
    assert best.step_size <= best.prediction.limit / 3.0
    heat = best.prediction.temperatures["base"]
    assert heat.configurational == pytest.approx(1.0, abs=0.055)
    if name == "sgld":
        assert best.friction == {} and math.isnan(heat.kinetic)
    else:
        assert heat.kinetic == pytest.approx(1.0, abs=0.055)
    word = "step size" if cycle_length is None else "peak"
    assert repr(best).startswith(f"{name.upper()}: {word} {best.step_size:g}")
    assert best.larger_step.endswith(".")


@pytest.mark.parametrize("name", ["sgld", "sghmc", "sgnht"])
def test_a_step_much_larger_is_not_honest_at_any_friction(found, name):
    best = found.recommend(name)
    larger = found.describe(name, 2.3 * best.step_size, best.friction or None)
    assert "needs batches of" in larger or "a third of the stability limit" in larger


def test_what_is_beyond_stability_is_told_from_the_limit_itself(found):
    limit = found.predict("sgld", 1e-6).limit
    sentence = found.describe("sgld", 0.5 * limit).splitlines()[1]
    assert f"above {limit / 3.0:.2g}, a third of the stability limit" in sentence
    assert "friction" not in sentence  # SGLD has none
    assert "whatever the friction and the batch size" in found.describe("sghmc", 1.0, 1.0)


def test_settings_that_are_honest_are_not_told_to_change(found):
    best = found.recommend("sghmc")
    assert "is within the tolerance." in found.describe("sghmc", best.step_size, best.friction)
    slower = found.describe("sghmc", 0.5 * best.step_size, 2.0 * best.friction["base"])
    assert "is within the tolerance with friction" in slower and "forgets soonest" in slower
    hot = found.describe("sghmc", best.step_size, 0.05 * best.friction["base"])
    assert "needs friction" in hot


def test_less_noise_and_a_looser_tolerance_allow_a_larger_step(found):
    step = found.recommend("sghmc").step_size
    assert found.recommend("sghmc", tolerance=0.1).step_size > 1.5 * step
    for size, factor in [(48, 1.2), (240, 2.0)]:
        other = with_batch_size(found.measurement, size)
        assert recommend(other).step_size > factor * step
    measured = pilot(POTENTIAL, START, data=Y, batch_size=48, batches=400, settle=0).measurement
    scaled = with_batch_size(found.measurement, 48)
    assert measured.terrain["base"].noise == pytest.approx(scaled.terrain["base"].noise, rel=0.2)


def test_counting_on_shuffled_batches_a_step_is_longer_and_as_honest_by_the_prediction(found):
    careful = recommend(found.measurement, tolerance=0.02)
    best = recommend(found.measurement, tolerance=0.02, shuffled=True)
    assert best.step_size >= careful.step_size
    heat = best.prediction.temperatures["base"]  # which knows of shuffling
    assert max(abs(heat.kinetic - 1.0), abs(heat.configurational - 1.0)) < 0.022
    assert heat.kinetic >= careful.prediction.temperatures["base"].kinetic


def test_without_gradient_noise_the_softest_direction_is_nearly_critically_damped():
    best = pilot(POTENTIAL, START, data=Y, batch_size=240, settle=0).recommend("sghmc")
    assert best.friction["base"] == pytest.approx(2.0 * math.sqrt(2.0 + 240 * 0.02), rel=0.2)


def test_the_temperature_scales_what_is_predicted(found):
    cold = dataclasses.replace(found, temperature=0.1)
    heat = cold.predict("sghmc", 1e-3, 20.0).temperatures["base"].kinetic
    assert heat < 0.9 * found.predict("sghmc", 1e-3, 20.0).temperatures["base"].kinetic
    assert cold.recommend("sghmc").step_size < found.recommend("sghmc").step_size


def test_an_unstable_setting_is_called_so(found):
    assert "unstable, stable to" in found.describe("sghmc", 1.0, 1.0)
    assert not found.predict("sgld", 1.0).stable


def test_a_problem_is_measured_with_its_default_priors_and_prints_a_table():
    problem = px.Problem(apply, px.likelihoods.categorical(), train=(X.astype(np.float32), LABELS))
    params = {
        name: {k: jnp.asarray(v, jnp.float32) for k, v in layer.items()}
        for name, layer in PARAMS.items()
    }
    position = px.expand(params, px.plan(params, out=1, into=1, logits_layer="b"))
    text = repr(pilot(problem, position, batch_size=8, per_layer=True))
    assert text.startswith("Pilot: ") and "batches of 8 of 24 rows" in text
    for word in ("base", "factors", "prior curvature", "layer", "SGLD:", "SGHMC:", "SGNHT:"):
        assert word in text
    assert " -inf" not in text and "nan" not in text


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda f: pilot(3, START, batch_size=2), "`problem` must be a `px.Problem`"),
        (lambda f: pilot(POTENTIAL, START, batch_size=2), "`data` must be given"),
        (lambda f: pilot(POTENTIAL, START, data=Y, batch_size=0), "`batch_size`"),
        (lambda f: pilot(POTENTIAL, START, data=Y, batch_size=999), "at most the number of data"),
        (lambda f: pilot(POTENTIAL, START, data=Y, batch_size=9, temperature=0), "`temperature`"),
        (lambda f: pilot(POTENTIAL, START, data=Y, batch_size=9, batches=1), "`batches`"),
        (lambda f: pilot(POTENTIAL, jnp.full(48, jnp.nan), data=Y, batch_size=9), "finite"),
        (lambda f: pilot(POTENTIAL, {}, data=Y, batch_size=9), "`position`"),
        (lambda f: pilot(POTENTIAL, START, data=(), batch_size=9), "`data` must hold arrays"),
        (lambda f: f.recommend("sghm"), "did you mean `sghmc`?"),
        (lambda f: f.recommend("sghmc", tolerance=0.0), "`tolerance`"),
        (lambda f: f.predict("sghmc", 0.1), "`friction` must be given for SGHMC"),
        (lambda f: f.predict("sgld", 0.1, 1.0), "SGLD has none"),
        (lambda f: f.predict("sghmc", 0.1, {"factors": 1.0}), "got none for 'base'"),
        (lambda f: f.predict("sghmc", -0.1, 1.0), "`step_size`"),
        (
            lambda f: pilot(lambda q, y: -jnp.sum(q**2), START, data=Y, batch_size=9).recommend(),
            "curved upwards",
        ),
    ],
)
def test_bad_input_is_answered_with_one_sentence(found, call, words):
    with pytest.raises(UserError) as caught:
        call(found)
    message = str(caught.value)
    assert words in message
    assert "\n" not in message and message[-1] in ".?"


def test_what_grows_stiffer_along_the_chain_is_measured_there_and_said():
    def energy(q, y):  # curvature 1 at the start, about 1 + 300 / 15 where the chain is
        return jnp.sum(0.5 * q**2 + 25.0 * q**4) + 0.0 * jnp.mean(y)

    known = {"batch_size": 4, "data": np.zeros(8, np.float32)}
    there, here = (
        pilot(energy, jnp.zeros(80), **known),
        pilot(energy, jnp.zeros(80), settle=0, **known),
    )
    assert here.growth == 1.0 and there.growth > 5.0
    assert there.recommend().step_size < 0.5 * here.recommend().step_size
    assert "times as large" in repr(there) and "times as large" not in repr(here)
