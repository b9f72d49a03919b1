"""What a configuration says reaches the sampler: one step of each, against its formula in NumPy.

At temperature 0 a step is arithmetic: with another step size, another friction for a group, or the
frictions of the two groups exchanged, the momentum of that group would be another. The noise of a
group is what temperature 1 adds to that, for the same key.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.chain.groups import by_group
from pxsgmcmc.config import parse_config
from pxsgmcmc.config.build import build
from tests.helpers.closeness import assert_close
from tests.helpers.quick_jit import quick_jit
from tests.helpers.small_settings import SMALL

STEP_SIZE, FACTOR = 2e-3, 0.5
H = STEP_SIZE * FACTOR
FRICTION = {"base": 90.0, "factors": 7.0}
ROWS = 20  # of a batch
DECAY, EPSILON = 0.7, 1e-3
TERMS = 60 * 64  # products in a derivative: rows times inputs of the first layer
SAMPLERS = {
    "sgld": {},
    "psgld": {"decay": DECAY, "epsilon": EPSILON},
    "sghmc": {"friction": FRICTION},
    "sgnht": {"friction": FRICTION},
    "sgrhmc": {"friction": FRICTION, "decay": DECAY, "epsilon": EPSILON},
    "hmc": {"leapfrog_steps": 3, "metropolis": False},
    "ggmc": {"friction": FRICTION, "window": 3},
    "sgd": {"momentum": 0.6},
}
WITH_NOISE = ("sgld", "psgld", "sghmc", "sgnht", "sgrhmc")


def table(settings):
    """As an inline table of TOML."""
    words = []
    for key, value in settings.items():
        text = table(value) if isinstance(value, dict) else repr(value)
        words.append(f"{key} = {str(value).lower() if isinstance(value, bool) else text}")
    return f"{{{', '.join(words)}}}"


def built(name, *flags, **more):
    settings = {"name": name, "step_size": STEP_SIZE} | SAMPLERS[name] | more
    if name != "sgd":
        settings = {"temperature": 0.0} | settings
    rows = 60 if name == "hmc" else ROWS
    flags = [f"--sampler={table(settings)}", f"--chain.batch_size={rows}", *flags]
    return build(parse_config(SMALL, flags))


def shaken(tree, seed, scale=0.3):
    """The same tree with normal numbers added to it."""
    random = np.random.default_rng(seed)
    return jax.tree.map(
        lambda x: x + jnp.asarray(scale * random.normal(size=x.shape), x.dtype), tree
    )


def by_hand(parts, variance=1.0, factor_variance=0.5):
    """The energy, written out: softmax, in full-data units, and the normal priors."""

    def energy(position, batch):
        x, y = batch
        logits = parts.problem.apply(px.collapse(position), parts.problem.transform(x))
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1)
        base, factors = jax.tree.leaves(position.base), jax.tree.leaves(position.factors)
        fit = -60.0 * jnp.mean(chosen)
        fit = fit + sum(jnp.sum(v**2) for v in base) / (2 * variance)
        return fit + sum(jnp.sum(p**2) for p in factors) / (2 * factor_variance)

    return quick_jit(jax.grad(energy))


def first_step(parts, key=None):
    """State before and after a step from a place that is not special, and the batch."""
    sampler = parts.sampler(FACTOR)
    # Step 3 begins a window of GGMC, and is past the start of the running mean squares.
    state = sampler.init(shaken(parts.position(0), 1))._replace(step=jnp.int32(3))
    if hasattr(state, "momentum"):
        state = state._replace(momentum=shaken(state.momentum, 2, scale=1.0))
    if hasattr(state, "square"):
        state = state._replace(square=jax.tree.map(jnp.ones_like, state.square))
    rows = parts.config.chain.batch_size
    batch = jax.tree.map(lambda x: jnp.asarray(x[:rows]), tuple(parts.problem.train))
    after, _ = quick_jit(sampler.step)(jax.random.key(7) if key is None else key, state, batch)
    return state, after, batch


def assert_group_by_group(found, expected, scale):
    for group, part in by_group(found).items():
        pairs = zip(jax.tree.leaves(part), jax.tree.leaves(by_group(expected)[group]), strict=True)
        for ours, theirs in pairs:
            assert_close(ours, theirs, terms=TERMS, scale=scale)


def largest(*trees):
    return max(float(jnp.max(jnp.abs(leaf))) for tree in trees for leaf in jax.tree.leaves(tree))


def frictions(position):
    return px.groups(position, **FRICTION)


def mapped(function, position, *trees):
    """`function` leaf by leaf, the last argument being the friction of the leaf's group."""
    spread = jax.tree.map(
        lambda g, part: jax.tree.map(lambda _: g, part), frictions(position), position
    )
    return jax.tree.map(function, *trees, spread)


def test_the_momentum_of_sghmc_and_sgnht_loses_what_the_friction_of_its_group_takes():
    for name in ("sghmc", "sgnht"):  # whose thermostats start at the friction
        parts = built(name)
        before, after, batch = first_step(parts)
        grad = by_hand(parts)(before.position, batch)
        expected = mapped(
            lambda m, dU, g: (1.0 - H * g) * m - H * dU, before.position, before.momentum, grad
        )
        assert_group_by_group(
            after.momentum, expected, largest(before.momentum) + H * largest(grad)
        )


def test_the_momentum_of_sgrhmc_is_stretched_by_its_decay_and_epsilon():
    parts = built("sgrhmc")
    before, after, batch = first_step(parts)
    grad = by_hand(parts)(before.position, batch)

    def kick(m, dU, g):
        p = 1.0 / jnp.sqrt(EPSILON + jnp.sqrt(DECAY + (1.0 - DECAY) * dU**2))
        return m - H * p * dU - H * g * p**2 * m

    expected = mapped(kick, before.position, before.momentum, grad)
    assert_group_by_group(after.momentum, expected, largest(before.momentum) + H * largest(grad))


def test_the_momentum_of_ggmc_fades_by_group_on_both_sides_of_two_half_kicks():
    parts = built("ggmc")
    before, after, batch = first_step(parts)
    everything = jax.tree.map(jnp.asarray, tuple(parts.problem.train))
    on_all = by_hand(parts)(before.position, everything)
    half = mapped(
        lambda m, dU, g: np.exp(-g * H / 2) * m - 0.5 * H * dU,
        before.position,
        before.momentum,
        on_all,
    )
    moved = jax.tree.map(lambda q, m: q + H * m, before.position, half)
    on_batch = by_hand(parts)(moved, batch)
    expected = mapped(
        lambda m, dU, g: np.exp(-g * H / 2) * (m - 0.5 * H * dU), before.position, half, on_batch
    )
    scale = largest(before.momentum) + H * largest(on_all, on_batch)
    assert_group_by_group(after.momentum, expected, scale)
    assert_group_by_group(after.position, moved, largest(moved) + H * scale)


def test_the_position_of_the_samplers_without_friction_goes_downhill_by_their_formulas():
    for name, move in {
        "sgld": lambda q, dU, m: q - H * dU,
        "psgld": lambda q, dU, m: q - H * dU / (jnp.sqrt(DECAY + (1 - DECAY) * dU**2) + EPSILON),
        "sgd": lambda q, dU, m: q + H * (0.6 * m - dU),
    }.items():
        parts = built(name)
        before, after, batch = first_step(parts)
        grad = by_hand(parts)(before.position, batch)
        momentum = before.momentum if name == "sgd" else jax.tree.map(jnp.zeros_like, grad)
        expected = jax.tree.map(move, before.position, grad, momentum)
        assert_group_by_group(after.position, expected, largest(expected) + H * largest(grad))


def test_hmc_takes_its_leapfrog_steps():
    parts = built("hmc")
    before, after, batch = first_step(parts)
    gradient, scale = by_hand(parts), 0.0
    q, m = before.position, jax.tree.map(jnp.zeros_like, before.position)
    for _ in range(3):
        grad = gradient(q, batch)
        m = jax.tree.map(lambda m, dU: m - 0.5 * H * dU, m, grad)
        q = jax.tree.map(lambda q, m: q + H * m, q, m)
        grad = gradient(q, batch)
        m = jax.tree.map(lambda m, dU: m - 0.5 * H * dU, m, grad)
        scale = max(scale, largest(q) + H * largest(grad))
    assert_group_by_group(after.position, q, 3 * scale)


@pytest.mark.parametrize("name", WITH_NOISE)
def test_temperature_and_noise_by_group_reach_the_sampler(name):
    cold, warm, hot = (first_step(built(name, temperature=T))[1] for T in (0.0, 1.0, 4.0))
    spread = {"base": 2.0, "factors": 0.25}
    grouped = first_step(built(name, temperature=1.0, noise=spread))[1]

    def added(state):
        what = state.momentum if hasattr(state, "momentum") else state.position
        return {
            group: np.concatenate(
                [np.ravel(a - b) for a, b in zip(*map(jax.tree.leaves, pair), strict=True)]
            )
            for group, pair in {
                group: (part, by_group(getattr(cold, what_name))[group])
                for group, part in by_group(what).items()
            }.items()
        }

    what_name = "momentum" if hasattr(cold, "momentum") else "position"
    plain, doubled, by_groups = added(warm), added(hot), added(grouped)
    # What is added is a difference of numbers of the size of the cold ones.
    scale = largest(getattr(cold, what_name))
    for group, factor in spread.items():
        assert np.std(plain[group]) > 0.0
        assert_close(doubled[group], 2.0 * plain[group], terms=8, scale=4.0 * scale)
        assert_close(by_groups[group], factor * plain[group], terms=8, scale=4.0 * scale)


def test_a_cyclical_step_size_has_its_peak_period_and_lowest():
    cycle = {"kind": "cyclical", "peak": 1e-2, "period": 4, "lowest": 1e-3}
    parts = built("sghmc", "--chain.cycle_length=8", step_size=cycle)
    schedule = parts.sampler(FACTOR).facts.step_size
    expected = [1e-3 + 0.5 * (1e-2 - 1e-3) * (1 + np.cos(np.pi * (t % 4) / 4)) for t in range(9)]
    found = [float(schedule(jnp.int32(t))) for t in range(9)]
    assert_close(found, FACTOR * np.array(expected), terms=8)
    whole = built("sghmc", step_size={"kind": "cyclical", "peak": 1e-2}).sampler(1.0)
    assert whole.facts.step_size.period == 5  # that of the chain's cycle


def test_the_priors_that_are_asked_for_stand_on_base_and_factors():
    def weight(position, group, energy):
        return float(sum(jnp.sum(energy(x)) for x in jax.tree.leaves(by_group(position)[group])))

    families = {
        "normal": (["--prior.variance=0.2"], lambda w: w**2 / (2 * 0.2)),
        "laplace": (["--prior.scale=0.3"], lambda w: jnp.abs(w) / 0.3),
        "student_t": (
            ["--prior.scale=0.3", "--prior.freedom=3.0"],
            lambda w: 2.0 * jnp.log1p(w**2 / (3.0 * 0.3**2)),
        ),
    }
    for family, (flags, energy) in families.items():
        parts = built("sghmc", f"--prior.family={family}", *flags, "--prior.factor_variance=0.05")
        here, there = (shaken(parts.position(0), seed) for seed in (3, 4))
        batch = jax.tree.map(lambda x: jnp.asarray(x[:ROWS]), tuple(parts.problem.train))
        found = [parts.potential.parts(place, batch) for place in (here, there)]
        base = [weight(place, "base", energy) for place in (here, there)]
        factors = [weight(place, "factors", lambda w: w**2 / (2 * 0.05)) for place in (here, there)]
        size = sum(map(abs, base + factors))
        assert_close(found[0].prior - found[1].prior, base[0] - base[1], terms=300, scale=size)
        assert_close(
            found[0].factor_prior - found[1].factor_prior,
            factors[0] - factors[1],
            terms=300,
            scale=size,
        )
