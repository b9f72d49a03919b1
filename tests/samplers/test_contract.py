"""What every sampler promises, for every sampler in the table."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from table import (
    BATCH,
    GROUPED,
    SAMPLERS,
    WITH_FRICTION,
    WITH_MASS,
    WITH_NOISE,
    WITHOUT_NOISE,
)
from tests.helpers.closeness import assert_close
from tests.helpers.quick_jit import quick_jit

from pxsgmcmc.schedules import cyclical

SCHEDULE = cyclical(0.02, 4)


def potential(position, batch):
    """A quartic energy of any tree; in float32 where the leaves' types differ."""
    types = {leaf.dtype for leaf in jax.tree.leaves(position)}
    total = types.pop() if len(types) == 1 else jnp.float32
    parts = [jnp.sum(x**4 / 4 + x**2).astype(total) for x in jax.tree.leaves(position)]
    return sum(parts) + jnp.sum(batch).astype(total)


class Layer(NamedTuple):
    kernel: jax.Array
    bias: jax.Array


def make_position(kernel=jnp.float32, bias=jnp.float32, scale=1.0):
    layer = Layer(np.linspace(-1, 1, 6).reshape(3, 2) * scale, np.full(2, scale))
    layer = Layer(jnp.asarray(layer.kernel, kernel), jnp.asarray(layer.bias, bias))
    return {"layers": [layer], "scale": jnp.asarray(scale, bias)}


class Running(NamedTuple):
    start: object
    step: object  # compiled
    traces: list


@functools.cache
def running(name: str) -> Running:
    sampler, traces = SAMPLERS[name](potential, SCHEDULE), []

    @quick_jit
    def step(key, state, batch):
        traces.append(name)
        return sampler.step(key, state, batch)

    return Running(sampler.init(make_position()), step, traces)


def form(tree):
    """Structure, shapes, types and weakness of types: what a compiled loop must see again."""
    return jax.tree.structure(tree), [
        (x.shape, x.dtype, x.weak_type) for x in jax.tree.leaves(tree)
    ]


def one_step(sampler, position, batch=BATCH):
    """Forms of the state before and after a step, and what it reports; nothing is computed."""
    key = jax.eval_shape(lambda: jax.random.key(0))
    start = jax.eval_shape(sampler.init, position)
    after, info = jax.eval_shape(sampler.step, key, start, batch)
    return start, after, info


def assert_same(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


def differs(a, b) -> bool:
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return any(np.any(np.asarray(x) != np.asarray(y)) for x, y in pairs)


energy_of = quick_jit(potential)


@pytest.mark.parametrize("name", SAMPLERS)
class TestEverySampler:
    @pytest.mark.parametrize(
        "types",
        [(jnp.float32, jnp.float32), (jnp.bfloat16, jnp.bfloat16), (jnp.bfloat16, jnp.float32)],
        ids=["float32", "bfloat16", "mixed"],
    )
    def test_step_keeps_structure_shapes_and_dtypes(self, name, types):
        sampler, position = SAMPLERS[name](potential, SCHEDULE), make_position(*types)
        start, after, info = one_step(sampler, position)
        assert form(start.position) == form(position)
        assert form(after) == form(start)
        assert info.energy.shape == info.step_size.shape == ()

    def test_the_types_are_kept_too_where_float64_is_on(self, name):
        with jax.enable_x64(True):
            for dtype in (jnp.float64, jnp.float32):
                sampler, position = SAMPLERS[name](potential, SCHEDULE), make_position(dtype, dtype)
                start, after, _ = one_step(sampler, position)
                assert form(start.position) == form(position)
                assert form(after) == form(start)

    def test_counts_its_steps_and_reports_energy_and_step_size(self, name, key):
        state, step, _ = running(name)
        assert int(state.step) == 0 and state.step.dtype == jnp.int32
        for t in range(6):
            before = state
            state, info = step(jax.random.fold_in(key, t), state, BATCH)
            assert int(state.step) == t + 1
            expected = SCHEDULE(t - t % 2 if name == "ggmc" else t)  # window of two steps
            assert float(info.step_size) == pytest.approx(float(expected), rel=1e-6)
            where = state if name in {"hmc", "ggmc"} else before
            energy = float(energy_of(where.position, BATCH))
            assert float(info.energy) == pytest.approx(energy, rel=1e-5)

    def test_same_key_same_step_other_key_other_step(self, name, key):
        state, step, _ = running(name)
        once, _ = step(jax.random.clone(key), state, BATCH)
        again, _ = step(jax.random.clone(key), state, BATCH)
        other, _ = step(jax.random.fold_in(key, 1), state, BATCH)
        assert_same(once, again)
        assert differs(once.position, other.position) == (name not in WITHOUT_NOISE)

    def test_zero_temperature_is_deterministic(self, name, key):
        sampler = SAMPLERS[name](potential, 0.02, temperature=0.0)
        start, step = sampler.init(make_position()), quick_jit(sampler.step)
        first, other = start, start
        for t in range(4):
            first, _ = step(jax.random.fold_in(key, t), first, BATCH)
            other, _ = step(jax.random.fold_in(key, 100 + t), other, BATCH)
        assert_same(first.position, other.position)
        before, after = (energy_of(s.position, BATCH) for s in (start, first))
        assert float(after) < float(before)  # downhill

    def test_traces_once_over_many_steps_of_a_schedule(self, name, key):
        state, step, traces = running(name)
        for t in range(9):  # more than two cycles
            state, _ = step(jax.random.fold_in(key, t), state, BATCH)
        assert len(traces) == 1

    def test_a_compiled_loop_walks_the_path_of_single_steps(self, name, key):
        start, step, _ = running(name)
        sampler = SAMPLERS[name](potential, SCHEDULE)

        @quick_jit
        def loop(key, position):
            keys = jax.vmap(functools.partial(jax.random.fold_in, key))(jnp.arange(7))
            state = sampler.init(position)
            return jax.lax.scan(lambda s, k: sampler.step(k, s, BATCH), state, keys)

        after, infos = loop(jax.random.clone(key), make_position())
        alone, energies = start, []
        for t in range(7):
            alone, info = step(jax.random.fold_in(key, t), alone, BATCH)
            energies.append(float(info.energy))
        assert form(after) == form(alone)
        for x, y in zip(jax.tree.leaves(after), jax.tree.leaves(alone), strict=True):
            # Two programs of seven steps: a dozen roundings each, of numbers of size one.
            assert_close(x, y, terms=7 * 16, scale=1.0 + np.max(np.abs(y)))
        assert_close(infos.energy, energies, terms=7 * 16)

    def test_vmap_over_chains_equals_a_loop(self, name, key):
        sampler, step = SAMPLERS[name](potential, SCHEDULE), running(name).step
        starts = [sampler.init(make_position(scale=scale)) for scale in (0.5, 1.0, 1.5)]
        stacked = jax.tree.map(lambda *x: jnp.asarray(np.stack(x)), *starts)
        keys = jax.random.split(jax.random.clone(key), 3)
        together, _ = quick_jit(jax.vmap(sampler.step, in_axes=(0, 0, None)))(keys, stacked, BATCH)
        for start, own_key, chain in zip(starts, jax.random.split(key, 3), range(3), strict=True):
            alone, _ = step(own_key, start, BATCH)
            for x, y in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
                # Two programs of one step: a handful of roundings of numbers of size one.
                assert_close(x[chain], y, terms=16, scale=1.0 + np.max(np.abs(y)))

    def test_any_optax_schedule_will_do(self, name):
        schedules = [
            optax.warmup_cosine_decay_schedule(0.0, 0.1, 5, 50),
            optax.join_schedules([optax.linear_schedule(0.1, 0.0, 9), lambda step: 0.01], [9]),
        ]
        for schedule in schedules:
            start, after, info = one_step(SAMPLERS[name](potential, schedule), make_position())
            assert form(after) == form(start)
            assert info.step_size.dtype == jnp.float32


@pytest.mark.parametrize("name", WITH_NOISE)
def test_noise_zero_keeps_a_group_without_gradient_where_it_is(name, key):
    def only_base(position, batch):
        return potential(position["base"], batch)

    sampler = SAMPLERS[name](only_base, 0.02, noise={"base": 1.0, "factors": 0.0})
    state, step = sampler.init(GROUPED), quick_jit(sampler.step)
    for t in range(3):
        state, _ = step(jax.random.fold_in(key, t), state, BATCH)
    assert_same(state.position["factors"], GROUPED["factors"])
    assert differs(state.position["base"], GROUPED["base"])


@pytest.mark.parametrize("name", WITH_FRICTION)
def test_friction_may_differ_by_group(name, key):
    options = {"full_potential": lambda q: potential(q, BATCH)} if name == "ggmc" else {}

    @quick_jit
    def position_after(key, friction):
        sampler = WITH_FRICTION[name](potential, 0.02, friction=friction, **options)
        return sampler.step(key, sampler.init(GROUPED), BATCH)[0].position

    slow = position_after(jax.random.clone(key), {"base": 2.0, "factors": 1.0})
    fast = position_after(key, {"base": 2.0, "factors": 0.5})
    assert_same(slow["base"], fast["base"])
    assert differs(slow["factors"], fast["factors"])


@pytest.mark.parametrize("name", WITH_MASS)
def test_an_array_of_masses_is_a_mass_for_each_coordinate(name, key):
    """One leaf with an array walks as two leaves with a number each, from the same normals."""
    parts, whole = (
        {"a": jnp.array([1.0, -0.5, 2.0]), "b": jnp.array([0.3, 1.2])},
        jnp.array([1.0, -0.5, 2.0, 0.3, 1.2]),
    )
    masses = [{"a": 2.0, "b": 0.5}, np.array([2.0, 2.0, 2.0, 0.5, 0.5], np.float32)]
    ends = []
    for start, mass in zip((parts, whole), masses, strict=True):
        preconditioned = name in ("psgld", "sgrhmc")
        options = {"decay": 1.0, "preconditioner_start": "zero"} if preconditioned else {}
        sampler = SAMPLERS[name](potential, 0.02, mass=mass, **options)
        state, step = sampler.init(start), quick_jit(sampler.step)
        if preconditioned:  # its square starts from the mean over a leaf
            state = state._replace(square=jax.tree.map(jnp.ones_like, start))
        for t in range(4):
            state, _ = step(jax.random.fold_in(key, t), state, BATCH)
        ends.append(np.concatenate(jax.tree.leaves(state.position)))
    assert_close(ends[1], ends[0], terms=4 * 16, scale=1.0 + np.max(np.abs(ends[0])))
    light = SAMPLERS[name](potential, 0.02)
    state, _ = light.step(jax.random.fold_in(key, 0), light.init(whole), BATCH)
    heavy = SAMPLERS[name](potential, 0.02, mass=masses[1])
    other, _ = heavy.step(jax.random.fold_in(key, 0), heavy.init(whole), BATCH)
    assert differs(state.position, other.position)


def test_a_bfloat16_chain_moves_and_stays_finite(key):
    sampler = SAMPLERS["sghmc"](potential, 0.05)
    state, step = sampler.init(make_position(jnp.bfloat16, jnp.bfloat16)), quick_jit(sampler.step)
    for t in range(20):
        state, _ = step(jax.random.fold_in(key, t), state, BATCH)
    assert differs(state.position, make_position(jnp.bfloat16, jnp.bfloat16))
    assert all(np.all(np.isfinite(np.asarray(x, float))) for x in jax.tree.leaves(state))
