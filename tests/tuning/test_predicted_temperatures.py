"""Predicted temperatures against those of chains with shuffled batches on a linear model.

Gradient noise here is Gaussian enough and does not depend on the position, so that the laws are
exact for SGLD and SGHMC, and exact up to terms in 1 / coordinates for SGNHT. What is compared are
means over 96 independent chains, in standard errors of those chains: Student's t, so that a
comparison is more than 3 off with a chance of 0.34 %. A test fails by chance if more of its
comparisons are than happen with a probability of 1e-3, or if one is 5 off, 2.6e-6 each.
"""

import math

import numpy as np
import pytest
from scipy import stats

from tests.tuning.linear_gaussian import measured, run

TEMPERATURE = 0.7
# Shares of the stability limit without friction, and frictions in units of the root of curvature.
SHARES = {
    "sgld": np.array([0.08, 0.2, 0.35, 0.5]),
    "sghmc": np.array([0.08, 0.2, 0.35, 0.5]),
    # A thermostat settles only where a friction of at most 1 / h will do.
    "sgnht": np.array([0.01, 0.02, 0.04, 0.06]),
}
FRICTIONS = np.array([3.0, 25.0, 8.0, 2.0])


def standard_errors(name, batch_size, shares, frictions=FRICTIONS, epochs=400):
    """How far measured temperatures are off predicted ones, and how far those are off T."""
    found = measured(batch_size, TEMPERATURE)
    largest = found.measurement.largest
    steps = shares * (2.0 / largest if name == "sgld" else 2.0 / math.sqrt(largest))
    laws = [
        found.predict(name, float(h), None if name == "sgld" else float(g))
        for h, g in zip(steps, frictions, strict=True)
    ]
    seen = run(
        name,
        steps,
        frictions,
        batch_size=batch_size,
        temperature=TEMPERATURE,
        epochs=epochs,
        thermostats=np.array([law.friction.get("base", 0.0) for law in laws]),
    )
    scores, heats = [], []
    for case, law in enumerate(laws):
        expected = law.temperatures["base"]
        pairs = [(seen.configurational[case], expected.configurational)]
        if name != "sgld":
            pairs.append((seen.kinetic[case], expected.kinetic))
        for (mean, error), value in pairs:
            scores.append((mean - value) / error)
            heats.append(value / TEMPERATURE - 1.0)
    return np.array(scores), np.array(heats)


def check(scores):
    beyond = int(np.sum(np.abs(scores) > 3.0))
    chance = 2.0 * stats.t(95).sf(3.0)
    # More than so many of them happen by chance with a probability below 1e-3.
    assert beyond <= stats.binom(len(scores), chance).ppf(1 - 1e-3), scores
    assert np.abs(scores).max() < 5.0, scores


@pytest.mark.parametrize(
    "name", ["sghmc", *(pytest.param(name, marks=pytest.mark.slow) for name in ("sgld", "sgnht"))]
)
def test_measured_temperatures_are_the_predicted_ones(name):
    scores, heats = standard_errors(name, 40, SHARES[name])
    check(scores)
    assert np.abs(heats).max() > 0.03  # there is something to predict


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sgld", "sghmc", "sgnht"])
@pytest.mark.parametrize("batch_size", [12, 40, 120])
def test_measured_temperatures_are_the_predicted_ones_at_any_batch_size(name, batch_size):
    each = [1.0] if name == "sgld" else [2.0, 8.0, 30.0]
    shares, frictions = np.repeat(SHARES[name], len(each)), np.tile(each, 4)
    scores, _ = standard_errors(name, batch_size, shares, frictions, epochs=50 * batch_size)
    check(scores)
