"""Bad arguments end in one sentence that names the argument, the rule and the value."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from table import GROUPED, SAMPLERS, WITH_FRICTION, WITH_MASS, WITH_NOISE, WITHOUT_NOISE

from pxsgmcmc.errors import UserError
from pxsgmcmc.samplers import ggmc, hmc, psgld, sgd, sghmc, sgld, sgnht, sgrhmc


def potential(position, batch):
    return sum(jnp.sum(x**2) for x in jax.tree.leaves(position))


def refused(call, *words: str) -> None:
    """`call` must raise one sentence on one line that begins with the argument and has `words`."""
    with pytest.raises(UserError) as caught:
        call()
    message = str(caught.value)
    assert message.startswith(f"`{words[0]}` must ")
    assert all(word in message for word in words[1:]), message
    assert "\n" not in message and message.endswith(".") and len(message) < 400


@pytest.mark.parametrize("name", SAMPLERS)
class TestEverySampler:
    @pytest.mark.parametrize(
        "value", ["fast", None, True, 0, -0.1, float("nan"), float("inf"), [0.1]], ids=repr
    )
    def test_step_size(self, name, value):
        refused(lambda: SAMPLERS[name](potential, value), "step_size", repr(value))

    def test_position_without_arrays(self, name):
        refused(lambda: SAMPLERS[name](potential, 0.1).init({"a": []}), "position", "empty tree")

    @pytest.mark.parametrize(
        ("leaf", "what"),
        [(jnp.arange(3), "int32 array"), (jnp.array([True]), "bool array"), (1.0, "float")],
        ids=["integers", "booleans", "number"],
    )
    def test_position_with_other_leaves(self, name, leaf, what):
        sampler = SAMPLERS[name](potential, 0.1)
        refused(lambda: sampler.init({"a": {"b": leaf}}), "position", what, "'a/b'")


@pytest.mark.parametrize("name", sorted(set(SAMPLERS) - WITHOUT_NOISE))
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), "hot", True, None])
def test_temperature(name, value):
    build = functools.partial(SAMPLERS[name], potential, 0.1)
    refused(lambda: build(temperature=value), "temperature", "at least 0", repr(value))


PREFIXES = [("friction", name) for name in WITH_FRICTION]
PREFIXES += [("noise", name) for name in WITH_NOISE]
PREFIXES += [("mass", name) for name in WITH_MASS if "symmetric" not in name]


def build_with(name, **options):
    if name == "ggmc":
        options = {"friction": 1.0, **options}
        return ggmc(potential, 0.1, full_potential=lambda q: potential(q, None), **options)
    if name == "hmc":
        return hmc(potential, 0.1, leapfrog_steps=2, **options)
    if name == "l2e":
        return SAMPLERS["l2e"](potential, 0.1, **options)
    builder = {"sgld": sgld, "psgld": psgld, **WITH_FRICTION}[name]
    if name in WITH_FRICTION:
        options = {"friction": 1.0, **options}
    return builder(potential, 0.1, **options)


@pytest.mark.parametrize(("argument", "name"), PREFIXES)
class TestTreesOfNumbers:
    @pytest.mark.parametrize("value", [-1.0, float("nan"), "1.0", True], ids=repr)
    def test_a_value_that_is_no_number(self, argument, name, value):
        refused(lambda: build_with(name, **{argument: value}), argument, "number", repr(value))

    def test_an_array_where_it_is_no_number_or_of_the_wrong_shape(self, argument, name):
        def call():
            return build_with(name, **{argument: np.ones((40, 40))}).init(GROUPED)

        shown = ("array of the shape (2,)", "'base/b'", "(40, 40)")
        refused(call, argument, *(shown if argument == "mass" else ("number", "array([[")))

    def test_the_place_of_a_bad_value(self, argument, name):
        value = {"base": 1.0, "factors": -2.0}
        refused(lambda: build_with(name, **{argument: value}), argument, "-2.0", "'factors'")

    @pytest.mark.parametrize("value", [None, {}])
    def test_no_value_at_all(self, argument, name, value):
        refused(lambda: build_with(name, **{argument: value}), argument, repr(value))

    @pytest.mark.parametrize(
        "value",
        [{"base": 1.0}, {"base": 1.0, "factor": 1.0}, [1.0, 2.0], {"base": [1.0], "factors": 1.0}],
        ids=["too few", "misspelt", "list", "too deep"],
    )
    def test_a_tree_that_does_not_fit(self, argument, name, value):
        sampler = build_with(name, **{argument: value})
        refused(lambda: sampler.init(GROUPED), argument, "tree prefix of the position", "factors")


@pytest.mark.parametrize("name", [name for name in WITH_MASS if "symmetric" not in name])
@pytest.mark.parametrize("value", [0.0, np.array([1.0, 0.0]), {"a": np.array([np.nan])}])
def test_a_mass_that_is_not_above_zero(name, value):
    refused(lambda: build_with(name, mass=value), "mass", "above 0")


CHOICES = [
    ("preconditioner_start", lambda value: psgld(potential, 0.1, preconditioner_start=value)),
    (
        "preconditioner_start",
        lambda value: sgrhmc(potential, 0.1, friction=1.0, preconditioner_start=value),
    ),
    ("integrator", lambda value: sgnht(potential, 0.1, friction=1.0, integrator=value)),
]


@pytest.mark.parametrize(("argument", "build"), CHOICES)
def test_choices(argument, build):
    for value in ("one", None, 0):
        refused(lambda value=value: build(value), argument, repr(value), " or ")


COUNTS = [
    ("leapfrog_steps", lambda value: hmc(potential, 0.1, leapfrog_steps=value)),
    ("window", lambda value: build_with("ggmc", friction=1.0, window=value)),
]


@pytest.mark.parametrize(("argument", "build"), COUNTS, ids=[name for name, _ in COUNTS])
@pytest.mark.parametrize("value", [0, -3, 2.0, "2", True, None])
def test_counts(argument, build, value):
    refused(lambda: build(value), argument, "whole number of at least 1", repr(value))


NUMBERS = [
    ("momentum", lambda value: sgd(potential, 0.1, momentum=value), [-0.1, 1.0, "0.9"]),
    ("decay", lambda value: psgld(potential, 0.1, decay=value), [-0.1, 1.1, None]),
    ("decay", lambda value: sgrhmc(potential, 0.1, friction=1.0, decay=value), [-0.1, 1.1]),
    ("epsilon", lambda value: psgld(potential, 0.1, epsilon=value), [0.0, -1e-8]),
    ("epsilon", lambda value: sgrhmc(potential, 0.1, friction=1.0, epsilon=value), [0.0]),
]


@pytest.mark.parametrize(("argument", "build", "values"), NUMBERS)
def test_numbers(argument, build, values):
    for value in values:
        refused(lambda value=value: build(value), argument, repr(value))


def test_numpy_numbers_are_numbers(key):
    sampler = hmc(potential, np.float32(0.1), leapfrog_steps=np.int64(2), temperature=np.float32(1))
    state = sampler.init(jnp.ones(2))
    jax.eval_shape(sampler.step, key, state, None)
    sampler = build_with("ggmc", friction=np.float64(1.0), window=np.int64(2))
    jax.eval_shape(sampler.step, key, sampler.init(jnp.ones(2)), None)


def test_a_group_may_be_empty(key):
    friction = {"base": 1.0, "factors": 2.0}
    for build in (sghmc, sgnht):
        sampler = build(potential, 0.1, friction=friction)
        state = sampler.init({"base": jnp.ones(3), "factors": ()})
        state, _ = sampler.step(jax.random.clone(key), state, None)
        assert all(bool(jnp.all(jnp.isfinite(x))) for x in jax.tree.leaves(state))
