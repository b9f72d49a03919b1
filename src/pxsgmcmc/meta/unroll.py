"""One inner run of the sampler on one task, from fresh weights to the loss of its predictions."""

import functools

import jax
import jax.numpy as jnp

from pxsgmcmc.meta.networks import apply_network, init_network
from pxsgmcmc.meta.settings import MetaSettings
from pxsgmcmc.meta.tasks import Family, FamilyData
from pxsgmcmc.samplers.l2e import l2e
from pxsgmcmc.types import Array, Key, Tree


def meta_loss(
    settings: MetaSettings,
    family: Family,
    weights: Tree,
    key: Key,
    rows: FamilyData,
    residual: Array,
) -> Array:
    """Negative log-likelihood, a held-out row, of predictions averaged over the end of an unroll.

    Args:
      settings: how long, how often, how large the steps are.
      family: the network's shape.
      weights: of the sampler's network.
      key: of the start, the batches and the noise.
      rows: of one data set, without the axis that counts them.
      residual: 1.0 for shortcuts, 0.0 for none.
    """
    start_key, batch_key, noise_key = jax.random.split(key, 3)
    apply = functools.partial(apply_network, family.kind, residual=residual)
    count = len(rows.y)
    decay = settings.weight_decay * count

    def potential(params: Tree, batch: tuple[Array, Array]) -> Array:
        x, y = batch
        fit = jnp.mean(_log_likelihood(jax.nn.log_softmax(apply(params, x)), y))
        squares = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params))
        return -count * fit + 0.5 * decay * squares

    sampler = l2e(
        potential,
        settings.step_size(count),
        data_size=count,
        weights=weights,
        noise_multiplier=settings.noise_multiplier,
    )

    judged = min(settings.held_out_rows, len(rows.held_out_y))
    x, y = rows.held_out_x[:judged], rows.held_out_y[:judged]
    chosen = jax.random.randint(batch_key, (settings.inner_steps, settings.batch_size), 0, count)
    alone = settings.inner_steps - settings.averaged_steps

    def step(t, carry):
        state, total = carry
        batch = (rows.x[chosen[t]], rows.y[chosen[t]])
        state, _ = sampler.step(jax.random.fold_in(noise_key, t), state, batch)

        def with_another(total):
            return jnp.logaddexp(total, jax.nn.log_softmax(apply(state.position, x)))

        due = (t >= alone) & ((t + 1 - alone) % settings.thinning == 0)
        return state, jax.lax.cond(due, with_another, lambda total: total, total)

    params = init_network(
        start_key, family.kind, family.shape, family.width, family.depth, family.classes
    )
    nothing = jnp.full((judged, family.classes), -jnp.inf)
    # One loop for all steps, since a second one would be compiled a second time.
    _, total = jax.lax.fori_loop(0, settings.inner_steps, step, (sampler.init(params), nothing))
    return -jnp.mean(_log_likelihood(total - jnp.log(settings.members), y))


def _log_likelihood(log_probabilities: Array, y: Array) -> Array:
    return jnp.take_along_axis(log_probabilities, y[:, None], axis=1)[:, 0]
