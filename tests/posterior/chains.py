"""Many independent short chains at once: their last states are independent draws."""

import functools
import warnings

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats

from tests.helpers.quick_jit import OPTIONS

QUICK = OPTIONS | {"xla_backend_optimization_level": 1}  # most of the time is compilation


@functools.partial(jax.jit, static_argnames=("sampler", "steps"), compiler_options=QUICK)
def last_positions(sampler, starts, batch, steps, key):
    """The positions after `steps` steps of one chain from each start.

    Args:
      sampler: of one chain.
      starts: a position with a leading axis that counts chains.
      batch: what every step of every chain is given, or with a leading axis that counts chains.
      steps: as many for each.
      key: of all of them.
    """
    chains = jax.tree.leaves(starts)[0].shape[0]

    def one_step(states, t):
        keys = jax.random.split(jax.random.fold_in(key, t), chains)
        states, _ = jax.vmap(sampler.step)(keys, states, batch)
        return states, None

    states, _ = jax.lax.scan(one_step, jax.vmap(sampler.init)(starts), jnp.arange(steps))
    return states.position


def per_chain(data, chains):
    """The same data for every chain."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (chains, *x.shape)), data)


def scattered(position, chains, key, *, by):
    """Starts around a position, each leaf moved by normals of standard deviation `by`."""
    leaves, structure = jax.tree.flatten(position)
    keys = jax.random.split(key, len(leaves))
    moved = [
        leaf[None] + by * jax.random.normal(k, (chains, *leaf.shape))
        for leaf, k in zip(leaves, keys, strict=True)
    ]
    return jax.tree.unflatten(structure, moved)


@functools.partial(
    jax.jit, static_argnames=("energy", "step_size", "steps"), compiler_options=QUICK
)
def _nuts(energy, starts, step_size, steps, key):
    leaves = jax.tree.leaves(starts)
    chains = leaves[0].shape[0]
    kernel = blackjax.nuts(
        lambda q: -energy(q),
        step_size=step_size,
        inverse_mass_matrix=jnp.ones(sum(leaf.size for leaf in leaves) // chains),
        max_num_doublings=7,
    )

    def one_step(states, t):
        keys = jax.random.split(jax.random.fold_in(key, t), chains)
        states, info = jax.vmap(kernel.step)(keys, states)
        return states, info.acceptance_rate

    states, acceptance = jax.lax.scan(one_step, jax.vmap(kernel.init)(starts), jnp.arange(steps))
    return states.position, acceptance


def nuts(energy, starts, *, step_size, steps, key):
    """The last positions of BlackJAX's NUTS on exp(-energy), one chain from each start."""
    # BlackJAX was not written for the strict settings of our own tests.
    lenient = (jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"),
               jax.debug_key_reuse(False))  # fmt: skip
    with lenient[0], lenient[1], lenient[2], warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        positions, acceptance = _nuts(energy, starts, step_size, steps, key)
    assert 0.6 < float(acceptance.mean()) <= 1.0
    return positions


def smallest_p_value(a, b):
    """Kolmogorov-Smirnov over the columns of two samples (draws, columns), after Bonferroni."""
    assert np.all(np.isfinite(a)) and np.all(np.isfinite(b))
    p = [scipy.stats.ks_2samp(x, y).pvalue for x, y in zip(a.T, b.T, strict=True)]
    return min(1.0, min(p) * len(p))
