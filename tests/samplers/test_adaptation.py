"""Adaptation: the law after it is exact, the acceptance is the one wished for, then it is frozen.

Ends of independent chains, each of which adapted by itself, are compared with the closed form:
|z| < 4.5 has a false-alarm rate of 6.8e-6 a comparison, of which there are 40 a seed.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from laws import LIMIT
from tests.helpers.quick_jit import quick_jit

from pxsgmcmc.errors import UserError
from pxsgmcmc.samplers import adaptation, hmc
from pxsgmcmc.samplers.adaptation import windows
from pxsgmcmc.schedules import cyclical

SCALES = np.geomspace(0.01, 1.0, 10).astype(np.float32)  # condition number 1e4
STEPS, MORE = 300, 40


def ill_conditioned(q, batch):
    return jnp.sum((q / SCALES) ** 2) / 2


def build(potential=ill_conditioned, step_size=0.1, **options):
    settings = {"leapfrog_steps": 6, "jitter": 0.5, "adapt": adaptation(STEPS)} | options
    return hmc(potential, step_size, **settings)


@functools.cache
def many_chains(chains):
    sampler = build()

    def chain(key):
        start_key, key = jax.random.split(key)

        def step(t, carry):
            state, total = carry
            state, info = sampler.step(jax.random.fold_in(key, t), state, None)
            return state, total + jnp.where(t >= STEPS, info.acceptance, 0.0)

        state = sampler.init(jax.random.normal(start_key, (len(SCALES),)))
        return jax.lax.fori_loop(0, STEPS + MORE, step, (state, jnp.zeros(())))

    run = quick_jit(jax.vmap(chain))

    def ends(seed):
        states, total = run(jax.random.split(jax.random.key(seed), chains))
        return jax.tree.map(np.asarray, states), np.asarray(total) / MORE

    return ends


def test_a_badly_scaled_normal_is_sampled_exactly_from_a_far_start(seed):
    states, acceptance = many_chains(600)(seed)
    q = states.position / SCALES
    assert np.all(np.abs(q.mean(0)) * np.sqrt(len(q)) < LIMIT)
    assert np.all(np.abs((q**2).mean(0) - 1) * np.sqrt(len(q) / 2) < LIMIT)
    # The acceptance of 300 steps of adaptation is near 0.8: 0.795 over chains, sd 0.04.
    assert abs(acceptance.mean() - 0.8) < 0.03
    assert np.quantile(acceptance, [0.01, 0.99]) == pytest.approx(0.8, abs=0.15)
    # The mass has found the scales, which span a factor of 100, to a quarter on average.
    found = np.sqrt(states.adaptation.spread.variance) / SCALES
    assert np.all(np.abs(np.log(found).mean(0)) < 0.25)


def test_after_the_last_step_nothing_changes_any_more(key):
    sampler = build(adapt=adaptation(30))
    step = quick_jit(sampler.step)
    state, sizes, learned = sampler.init(jnp.ones(len(SCALES))), [], []
    for t in range(40):
        state, info = step(jax.random.fold_in(key, t), state, None)
        sizes.append(float(info.step_size))
        learned.append(jax.tree.leaves(jax.tree.map(np.asarray, state.adaptation)))
    assert len(set(sizes[:30])) > 20 and len(set(sizes[30:])) == 1
    for late in learned[30:]:
        assert all(np.array_equal(a, b) for a, b in zip(late, learned[29], strict=True))


def test_without_adaptation_the_steps_are_those_they_were(key):
    plain = hmc(ill_conditioned, 0.01, leapfrog_steps=3)
    state = plain.init(jnp.ones(len(SCALES)))
    assert state.adaptation is None
    assert len(jax.tree.leaves(state)) == 2  # what a state saved before has
    assert plain.facts.adaptation_steps == 0 and build().facts.adaptation_steps == STEPS


def test_the_step_size_alone_can_be_adapted_and_a_mass_be_given():
    mass = {"a": np.array([4.0, 1.0], np.float32), "b": 2.0}
    position = {"a": jnp.zeros(2), "b": jnp.zeros(())}
    alone = build(mass=mass, adapt=adaptation(50, mass=False)).init(position)
    assert alone.adaptation.spread is None
    both = build(mass=mass, adapt=adaptation(50)).init(position)
    assert both.adaptation.spread.variance["a"].tolist() == [0.25, 1.0]
    assert float(both.adaptation.spread.variance["b"]) == 0.5


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_a_step_keeps_structure_shapes_and_types(dtype):
    sampler = build(lambda q, batch: jnp.sum(q["w"] ** 2), adapt=adaptation(100))
    start = jax.eval_shape(sampler.init, {"w": jnp.zeros((2, 3), dtype)})
    key = jax.eval_shape(lambda: jax.random.key(0))
    after, _ = jax.eval_shape(sampler.step, key, start, None)
    assert jax.tree.structure(after) == jax.tree.structure(start)
    for x, y in zip(jax.tree.leaves(start), jax.tree.leaves(after), strict=True):
        assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)


@pytest.mark.parametrize("steps", [1, 19, 20, 60, 149, 150, 300, 1000, 5000])
def test_windows_lie_inside_and_the_last_fifth_is_for_the_step_size(steps):
    first, ends = windows(steps)
    assert ends == sorted(set(ends))
    if steps < 20:
        assert not ends
    else:
        assert 0 < first < ends[0] and ends[-1] == steps - round(0.2 * steps)
        lengths = np.diff([first, *ends])
        assert np.all(lengths[1:] >= lengths[:-1])


def test_a_coordinate_that_never_moves_keeps_its_mass(key):
    sampler = build(lambda q, batch: jnp.where(q[0] == 0.0, jnp.sum(q**2), jnp.nan), 0.5)
    step = quick_jit(sampler.step)
    state = sampler.init(jnp.zeros(2))
    for t in range(150):
        state, _ = step(jax.random.fold_in(key, t), state, None)
    assert np.all(np.isfinite(jax.tree.leaves(jax.tree.map(np.sum, state.adaptation))))
    assert state.adaptation.spread.variance.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: adaptation(0), "`steps` must be a whole number of at least 1"),
        (lambda: adaptation(9, acceptance=1.0), "`acceptance` must be a number greater than 0"),
        (lambda: adaptation(9, mass=2.0), "`mass` must be True or False"),
        (lambda: build(adapt=100), "`adapt` must be made by `px.adaptation`, got 100."),
        (lambda: build(jitter=1.5), "`jitter` must be a number at least 0 and at most 1"),
        (lambda: build(jitter=0.01), "`jitter` must change the 6 leapfrog steps"),
        (lambda: build(step_size=cyclical(0.1, 5)), "`step_size` must be a number with `adapt`"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(UserError) as caught:
        call()
    assert words in str(caught.value)
