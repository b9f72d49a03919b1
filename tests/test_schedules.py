import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from pxsgmcmc.errors import UserError
from pxsgmcmc.schedules import as_schedule, constant, cyclical
from tests.helpers.closeness import assert_close


def test_cyclical_has_the_window_averages_of_the_published_run():
    steps = jnp.arange(5_000)
    windows = np.asarray(cyclical(1.0, 5_000)(steps), float).reshape(5, 1_000).mean(axis=1)
    published = [0.9677924, 0.7892071, 0.5001545, 0.2110429, 0.0323031]
    np.testing.assert_allclose(windows, published, rtol=0, atol=5e-8)


def test_cyclical_has_the_step_sizes_of_the_published_logs():
    sizes = np.asarray(cyclical(3e-4, 5_000)(jnp.arange(5_000)), float)
    printed = [f"{mean:.3e}" for mean in sizes.reshape(5, 1_000).mean(axis=1)]
    assert printed == ["2.903e-04", "2.368e-04", "1.500e-04", "6.331e-05", "9.691e-06"]


def test_cyclical_keeps_its_digits_where_it_is_nearly_zero():
    last = float(cyclical(1.0, 5_000)(4_999))
    assert last == pytest.approx(9.8696e-8, rel=1e-4)  # (pi / 10,000)^2
    steps = np.arange(5_000)
    exact = np.cos(np.pi * steps / 10_000) ** 2
    # Relative to each value: two roundings of the angle, two of its sine, doubled by the square.
    assert_close(cyclical(1.0, 5_000)(jnp.asarray(steps)), exact, terms=12, scale=exact)


def test_cyclical_starts_each_cycle_at_the_peak():
    schedule = cyclical(0.3, 7, lowest=0.1)
    values = np.array([schedule(jnp.int32(t)) for t in range(21)])  # bits are compared: one program
    np.testing.assert_array_equal(values[:7], values[7:14])
    np.testing.assert_array_equal(values[:7], values[14:])
    assert values[0] == pytest.approx(0.3) and np.all(np.diff(values[:7]) < 0)
    assert np.min(values) > 0.1


def test_cyclical_is_periodic_after_many_steps():
    schedule = cyclical(1.0, 5_000)
    assert float(schedule(jnp.int32(2_000_000_123))) == float(schedule(123))


def test_cyclical_with_one_step_a_cycle_is_constant():
    assert [float(cyclical(0.5, 1)(t)) for t in range(3)] == [0.5, 0.5, 0.5]


def test_a_number_becomes_a_constant_schedule():
    for value in (0.25, np.float32(0.25), np.float64(0.25)):
        schedule = as_schedule(value, "step_size")
        assert [float(schedule(t)) for t in (0, 9)] == [0.25, 0.25]
    assert as_schedule(1, "step_size")(0).dtype == jnp.float32


@pytest.mark.parametrize(
    "schedule",
    [
        optax.constant_schedule(0.1),
        optax.exponential_decay(0.1, 10, 0.9),
        optax.cosine_decay_schedule(0.1, 20),
        optax.warmup_cosine_decay_schedule(0.0, 0.1, 5, 50),
        optax.piecewise_constant_schedule(0.1, {3: 0.5}),
        optax.join_schedules([optax.linear_schedule(0.1, 0.0, 9), lambda step: 0.01], [9]),
        constant(0.0),
        lambda step: 0.1 / (1.0 + step),
    ],
)
def test_any_schedule_keeps_its_values_and_gets_one_type(schedule):
    ours = jax.jit(as_schedule(schedule, "step_size"))
    for step in (0, 4, 30):
        with jax.numpy_dtype_promotion("standard"):
            expected = float(schedule(jnp.int32(step)))
        assert float(ours(jnp.int32(step))) == pytest.approx(expected, rel=1e-5, abs=1e-9)
        assert ours(jnp.int32(step)).dtype == jnp.float32


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: as_schedule("0.1", "step_size"), "step_size"),
        (lambda: as_schedule(0.0, "step_size"), "step_size"),
        (lambda: as_schedule(True, "step_size"), "step_size"),
        (lambda: as_schedule(np.ones((50, 50)), "step_size"), "step_size"),
        (lambda: constant(-1.0), "value"),
        (lambda: cyclical(0.0, 10), "peak"),
        (lambda: cyclical(float("nan"), 10), "peak"),
        (lambda: cyclical(0.1, 0), "period"),
        (lambda: cyclical(0.1, 10.0), "period"),
        (lambda: cyclical(0.1, 10, lowest=0.2), "lowest"),
        (lambda: cyclical(0.1, 10, lowest=-0.2), "lowest"),
    ],
)
def test_bad_arguments_are_named_in_one_sentence(call, argument):
    with pytest.raises(UserError) as caught:
        call()
    message = str(caught.value)
    assert message.startswith(f"`{argument}` must be ") and "\n" not in message
