"""What temperature does to the draws of L2E: short chains on digits at several temperatures.

    python studies/l2e_temperature.py [WEIGHTS]       WEIGHTS: l2e/desk unless given

A dense network with two hidden layers of 24, 1,000 rows, 1,500 steps of sqrt(50 / 1,000), a draw
every 100 steps after 500, four seeds with the same starts and batches at every temperature. Prints
the negative log-likelihood of the averaged predictions on validation rows, by how much the single
draws are worse (what they disagree about), and how large the injected noise is beside h dU, the two
things that a step adds to the momentum.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

import pxsgmcmc as px
from pxsgmcmc.meta.networks import apply_network, init_network
from pxsgmcmc.meta.tasks import load_rows

WIDTH, DEPTH, BATCH, SEEDS = 24, 2, 32, 4
BURN_IN, THINNING, DRAWS = 500, 100, 10
FRICTION, NOISE_MULTIPLIER, WEIGHT_DECAY = 0.1, 1e-3, 5e-4
TEMPERATURES = (0.0, 0.01, 1.0, 1e4)


def main(weights: str = "l2e/desk") -> None:
    """Run the chains and print a line for each temperature."""
    rows = load_rows("digits")
    x, y, N = jnp.asarray(rows.x), jnp.asarray(rows.y), len(rows.y)
    seen, labels = jnp.asarray(rows.held_out_x), jnp.asarray(rows.held_out_y)
    h = float(np.sqrt(50.0 / N))

    def logits(params, x):
        return apply_network("dense", params, x, jnp.float32(0.0))

    def log_likelihood(params, x, y):
        return jnp.take_along_axis(jax.nn.log_softmax(logits(params, x)), y[:, None], axis=1)[:, 0]

    def potential(params, chosen):
        squares = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params))
        fit = jnp.mean(log_likelihood(params, x[chosen], y[chosen]))
        return N * (0.5 * WEIGHT_DECAY * squares - fit)

    def chain(key, temperature):
        start, batches, noise = jax.random.split(key, 3)
        sampler = px.l2e(potential, h, data_size=N, weights=weights, temperature=temperature)

        def step(state, t):
            chosen = jax.random.randint(jax.random.fold_in(batches, t), (BATCH,), 0, N)
            return sampler.step(jax.random.fold_in(noise, t), state, chosen)[0], None

        def cycle(state, first):
            state, _ = jax.lax.scan(step, state, first + jnp.arange(THINNING))
            gradient = jax.grad(potential)(state.position, jnp.arange(BATCH))
            kicks = jnp.concatenate([h * leaf.ravel() for leaf in jax.tree.leaves(gradient)])
            draw = jax.nn.log_softmax(logits(state.position, seen))
            return state, (draw, jnp.sqrt(jnp.mean(kicks**2)))

        params = init_network(start, "dense", x.shape[1:], WIDTH, DEPTH, rows.classes)
        firsts = jnp.arange(0, BURN_IN + THINNING * DRAWS, THINNING)
        _, (draws, kick) = jax.lax.scan(cycle, sampler.init(params), firsts)
        kept = BURN_IN // THINNING
        return draws[kept:], jnp.mean(kick[kept:])

    keys = jax.random.split(jax.random.key(0), SEEDS)
    print("temperature  NLL of the average     draws worse by         noise / h dU")
    for temperature in TEMPERATURES:
        run = jax.jit(jax.vmap(lambda key, T=temperature: chain(key, T)))
        draws, kick = run(jax.random.clone(keys))
        log_p = np.take_along_axis(np.asarray(draws), np.asarray(labels)[None, None, :, None], 3)
        log_p = log_p[..., 0]  # (seeds, draws, rows)
        average = np.log(np.mean(np.exp(log_p), axis=1))
        nll, worse = -average.mean(axis=1), -log_p.mean(axis=(1, 2)) + average.mean(axis=1)
        ratio = np.sqrt(2 * FRICTION * temperature * NOISE_MULTIPLIER) / float(jnp.mean(kick))
        print(f"{temperature:11g}  {_with_error(nll)}    {_with_error(worse)}    {ratio:.2g}")


def _with_error(values: np.ndarray) -> str:
    return f"{values.mean():.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"


if __name__ == "__main__":
    main(*sys.argv[1:])
