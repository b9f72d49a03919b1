"""Which normal prior predicts best: cross-validation of a dense network by HMC, test rows unseen.

    python studies/prior_scales.py --task "wine MLP" --scales 100/0.15 300/0.15 100/2 300/2
    python studies/prior_scales.py --task "digits MLP" --folds 2 --scales 100/0.03 300/0.03 300/1

A scale N/B is a variance of N / fan-in on the last layer and of B for the biases of the hidden one,
whose kernels have 2 / fan-in; N/B/H gives these H / fan-in. The network is scikit-learn's: 100
rectifiers. For each scale and each of four parts of the training and validation rows, four chains
of HMC see the others: 30 trajectories from a draw of the prior to adapt the step, 40 to average.
Beside it, scikit-learn's MLP and logistic regression on the same parts. Differences are paired by
row.
"""

import argparse
import math
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
from automatic import inputs, problem_of

from pxsgmcmc.tuning.default_prior import HIDDEN

WIDTH, PARTS, CHAINS = 100, 4, 4
ADAPTING, KEPT = 30, 40  # trajectories


def logits(z: Any, scale: Any, x: Any, classes: int) -> Any:
    """Of the network whose weights have the size of the prior times `z`, standard normal."""
    last, bias, first = scale
    a, b = x.shape[1] * WIDTH, x.shape[1] * WIDTH + WIDTH
    c = b + WIDTH * classes
    hidden = x @ z[:a].reshape(-1, WIDTH) * jnp.sqrt(first / x.shape[1]) + z[a:b] * jnp.sqrt(bias)
    out = jax.nn.relu(hidden) @ z[b:c].reshape(WIDTH, classes) + z[c:]
    return out * jnp.sqrt(last / WIDTH)


def trajectory(x: Any, y: Any, classes: int, steps: int, key: Any, z: Any, scale: Any, rows, size):
    """A step of HMC, and how likely it was to be accepted."""
    first, second, third = jax.random.split(key, 3)
    momentum = jax.random.normal(first, z.shape)
    size = size * jax.random.uniform(third, (), minval=0.7, maxval=1.3)

    @jax.value_and_grad
    def energy(z):
        each = jax.nn.log_softmax(logits(z, scale, x, classes))
        return -jnp.sum(rows * jnp.take_along_axis(each, y[:, None], 1)[:, 0]) + 0.5 * z @ z

    def leap(carry, _):
        q, m, slope = carry
        m = m - 0.5 * size * slope
        q = q + size * m
        here, slope = energy(q)
        return (q, m - 0.5 * size * slope, slope), here

    start, slope = energy(z)
    (q, m, _), energies = jax.lax.scan(leap, (z, momentum, slope), None, length=steps)
    gain = start + 0.5 * momentum @ momentum - energies[-1] - 0.5 * m @ m
    likely = jnp.where(jnp.isfinite(gain), jnp.exp(jnp.minimum(gain, 0.0)), 0.0)
    return jnp.where(jax.random.uniform(second, ()) < likely, q, z), likely


def held_out_losses(x, y, part, folds: int, scales: list[tuple[float, ...]], steps: int) -> Any:
    """NLL of each row by chains that did not see it, (scales, rows of the folds)."""
    classes = int(y.max()) + 1
    size = x.shape[1] * WIDTH + WIDTH + WIDTH * classes + classes
    many = [(fold, scale) for fold in range(folds) for scale in scales for _ in range(CHAINS)]
    seen = jnp.asarray([part != fold for fold, _ in many], jnp.float32)
    scale = tuple(jnp.asarray([s[i] for _, s in many], jnp.float32) for i in (0, 1, 2))
    xs, ys = jnp.asarray(x, jnp.float32), jnp.asarray(y)
    go = jax.jit(jax.vmap(partial(trajectory, xs, ys, classes, steps)))
    outputs = jax.jit(jax.vmap(lambda z, s: jax.nn.softmax(logits(z, s, xs, classes))))
    z = jax.random.normal(jax.random.key(0), (len(many), size))
    step, total = jnp.full(len(many), 0.02), np.zeros(())
    for number in range(ADAPTING + KEPT):
        keys = jax.random.split(jax.random.key(number + 1), len(many))
        z, likely = go(keys, z, scale, seen, step)
        if number < ADAPTING:
            step = step * jnp.exp(0.5 / (1.0 + number / 20.0) * (likely - 0.75))
        else:
            total = total + np.asarray(outputs(z, scale))
    mean = (total / KEPT).reshape(folds, len(scales), CHAINS, len(x), classes).mean(axis=2)
    chosen = -np.log(mean[:, :, np.arange(len(x)), y])
    return np.concatenate([chosen[fold][:, part == fold] for fold in range(folds)], axis=1)


def losses_of(model: Any, x, y, part, folds: int) -> np.ndarray:
    """The same of a model of scikit-learn."""
    found = []
    for fold in range(folds):
        out = part == fold
        p = model.fit(x[~out], y[~out]).predict_proba(x[out])
        found.append(-np.log(p[np.arange(len(p)), y[out]]))
    return np.concatenate(found)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", required=True)
    parser.add_argument("--scales", nargs="+", required=True)
    parser.add_argument("--folds", type=int, choices=range(1, PARTS + 1), default=PARTS)
    parser.add_argument("--steps", type=int, default=40, help="of a trajectory")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    problem = problem_of(arguments.task)
    known = (problem.train, problem.validation)
    x = np.concatenate([inputs(problem, rows.x) for rows in known])
    y = np.concatenate([rows.y for rows in known])
    part = np.empty(len(x), int)
    part[np.random.default_rng(1).permutation(len(x))] = np.arange(len(x)) % PARTS
    scales = [(*map(float, text.split("/")), HIDDEN)[:3] for text in arguments.scales]
    ours = held_out_losses(x, y, part, arguments.folds, scales, arguments.steps)
    models = (MLPClassifier(random_state=0), LogisticRegression(max_iter=1000))
    others = [losses_of(model, x, y, part, arguments.folds) for model in models]

    def spelt(losses: np.ndarray, sign: str = "") -> str:
        return f"{losses.mean():{sign}.3f} ± {losses.std() / math.sqrt(len(losses)):.3f}"

    print(f"{arguments.task}: MLP {spelt(others[0])}, logistic regression {spelt(others[1])}")
    print("| scale | NLL | less MLP | less logistic |", "|---|---|---|---|", sep="\n")
    for name, losses in zip(arguments.scales, ours, strict=True):
        less = [spelt(losses - other, "+") for other in others]
        print(f"| {name} | {spelt(losses)} | {' | '.join(less)} |")


if __name__ == "__main__":
    main()
