"""Learning to explore: a sampler whose kinetic energy is a learned network (Kim et al., 2024).

One step of size h, friction a, temperature T, from position q with momentum r and six running
averages v of the gradient g = dU(q; batch) / N, N being the number of data:

    v_i <- d_i v_i + (1 - d_i) g,             d = .1, .5, .9, .99, .999, .9999
    (alpha, beta) = network(g, q, r, v)
    r <- r - h (dU(q; batch) + alpha + a beta) + sqrt(2 a T s) z,      z ~ N(0, I)
    q <- q + h beta',                         (., beta') = network(g, q, new r, v)

The network is one for all coordinates, 9 -> 32 -> 32 -> 2 with ReLU. Each of its nine inputs is
divided by sqrt(1e-5 + its mean square over the leaf), both outputs are multiplied by 1e-3. They
stand for dK/dq and dK/dr of a kinetic energy K(q, r), so there is no friction but through beta.

What the published code calls something else: h = sqrt(step_mult / N) with N = 50,000; s is its
noise_mult, here times T; its loss, the mean over the data plus (w / 2) |q|^2 with w = 5e-4, is
U / N with the prior `normal(1 / (N w))`, of variance 0.04 there. Any other prior will do: the
network sees it in g.

Target: none is known. A field (alpha, beta) that is the gradient of a K(q, r), with s = h, would
have exp(-(U + K) / T) as h -> 0; a network's outputs are no gradient. For alpha = 0 and beta = k r
the chain is SGHMC with friction a k, mass 1 / k and temperature T s / h, so on U = lam q^2 / 2 with
noise of variance v on the gradient, at every stable h,

    H = T s / h + h v / (2 a),      D = 1 - h a k / 2 - h^2 lam k / 4
    Var r = H / (k D),   Var q = (H / lam) (1 - h a k / 2) / D,   Cov(q, r) = h H / (2 D).

The noise has no factor h: at a fixed s the chain is the hotter the smaller its steps are. At the
published s = 1e-3 and h = sqrt(2 / 50,000) it is at 0.158 T, and s = h would be at T.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.errors import UserError, check_count, check_number, one_line
from pxsgmcmc.schedules import as_schedule
from pxsgmcmc.tree import (
    broadcast_prefix,
    check_float_leaves,
    check_prefix,
    normal_like,
    widen,
    zeros_like,
)
from pxsgmcmc.types import (
    Array,
    Batch,
    Key,
    Potential,
    Sampler,
    SamplerFacts,
    Schedule,
    StepInfo,
    Tree,
)

DECAYS = (0.1, 0.5, 0.9, 0.99, 0.999, 0.9999)
HIDDEN = 32
OUTPUT_SCALE = 1e-3
SHAPES = {
    "linear_0": {"w": (3 + len(DECAYS), HIDDEN), "b": (HIDDEN,)},
    "linear_1": {"w": (HIDDEN, HIDDEN), "b": (HIDDEN,)},
    "linear_2": {"w": (HIDDEN, 2), "b": (2,)},
}

# From gradient, position, momentum, and averages (6, ...) of one leaf to alpha and beta of it.
Outputs = Callable[[Array, Array, Array, Array], tuple[Array, Array]]


class L2EState(NamedTuple):
    """State of `l2e`."""

    step: Array  # () int32, transitions taken so far
    position: Tree
    momentum: Tree  # same structure as `position`
    averages: Tree  # of the mean gradient: each leaf has a leading axis for the six decays


def l2e(
    potential: Potential,
    step_size: float | Schedule,
    *,
    data_size: int,
    weights: Any = "l2e/desk",
    friction: Tree = 0.1,
    temperature: float = 1.0,
    noise_multiplier: float = 1e-3,
) -> Sampler:
    """Momentum and steps from a network that was meta-trained to give good predictions soon.

    Args:
      potential: energy of (position, batch) in full-data units.
      step_size: h, a number or a schedule; sqrt(step_mult / N) of the published code, whose
        step_mult is 0.5 in training and 1 to 5 later.
      data_size: N, the number of data: the network looks at the gradient of U / N.
      weights: "l2e/desk", which comes with this package; a file, of `pxsgmcmc meta-train`
        (.safetensors) or the published one (.pickle); the arrays themselves, {"linear_0": {"w",
        "b"}, "linear_1": ..., "linear_2": ...}; or in the network's place a function (gradient,
        position, momentum, averages) -> (alpha, beta).
      friction: a, a number or a tree prefix of the position; 0.1 in the published code.
      temperature: factor on the variance of the noise, as in the other samplers; but the chain has
        this temperature for no network that is known. 0 injects no noise.
      noise_multiplier: s, which the variance of the noise has for a factor besides.

    Example:
      >>> U = lambda q, batch: jnp.sum(q**2) / 2
      >>> sampler = l2e(U, 0.1, data_size=10, weights=lambda g, q, r, v: (0.0 * r, 2.0 * r))
      >>> state, info = sampler.step(jax.random.key(0), sampler.init(jnp.ones(3)), None)
      >>> state.averages.shape
      (6, 3)

    Reference:
      Kim et al., Learning to explore for stochastic gradient MCMC, ICML 2024.
    """
    step_size = as_schedule(step_size, "step_size")
    N = check_count("data_size", data_size, at_least=1)
    check_prefix("friction", friction)
    T = check_number("temperature", temperature, at_least=0.0)
    s = check_number("noise_multiplier", noise_multiplier, at_least=0.0)
    outputs = _outputs(weights)

    def init(position: Tree) -> L2EState:
        check_float_leaves("position", position)
        broadcast_prefix(friction, position, "friction")
        averages = jax.tree.map(lambda x: jnp.zeros((len(DECAYS), *x.shape), _wide(x)), position)
        return L2EState(jnp.int32(0), position, zeros_like(position), averages)

    def step(key: Key, state: L2EState, batch: Batch) -> tuple[L2EState, StepInfo]:
        h = step_size(state.step)
        energy, grad = jax.value_and_grad(potential)(state.position, batch)
        z = normal_like(key, state.momentum)

        def move(q, r, v, dU, a, z):
            kinds, (q, r, dU, z) = (q.dtype, r.dtype), map(widen, (q, r, dU, z))
            h_, a = h.astype(q.dtype), jnp.asarray(a, q.dtype)
            g = dU / N
            d = jnp.asarray(DECAYS, v.dtype).reshape(-1, *(1,) * q.ndim)
            v = d * v + (1.0 - d) * g[None]
            alpha, beta = outputs(g, q, r, v)
            r = r - h_ * (dU + alpha + a * beta) + jnp.sqrt(2.0 * a * T * s) * z
            _, beta = outputs(g, q, r, v)
            return (q + h_ * beta).astype(kinds[0]), r.astype(kinds[1]), v

        a = broadcast_prefix(friction, state.position, "friction")
        leaves, structure = jax.tree.flatten(state.position)
        others = map(jax.tree.leaves, (state.momentum, state.averages, grad, a, z))
        moved = [move(*leaf) for leaf in zip(leaves, *others, strict=True)]
        position, momentum, averages = (
            jax.tree.unflatten(structure, part) for part in zip(*moved, strict=True)
        )
        return L2EState(state.step + 1, position, momentum, averages), StepInfo(energy, h)

    # Its momentum has no temperature: what is kinetic here is learned.
    facts = SamplerFacts("L2E", potential, step_size, T, friction)
    return Sampler(init, step, facts)


def network(weights: Tree) -> Outputs:
    """The learned network as a function of one leaf: the same for every coordinate of it.

    Args:
      weights: arrays of the shapes `SHAPES`.
    """

    def layer(name: str, x: Array) -> Array:
        own = weights[name]
        return x @ own["w"].astype(x.dtype) + own["b"].astype(x.dtype)[None]

    def outputs(g: Array, q: Array, r: Array, v: Array) -> tuple[Array, Array]:
        features = jnp.concatenate([jnp.stack([g, q, r]), v]).reshape(3 + len(DECAYS), -1)
        scale = jnp.sqrt(1e-5 + jnp.mean(features**2, axis=1, keepdims=True))
        x = (features / scale).T  # (coordinates, 9)
        x = jax.nn.relu(layer("linear_0", x))
        x = jax.nn.relu(layer("linear_1", x))
        alpha, beta = OUTPUT_SCALE * layer("linear_2", x).T
        return alpha.reshape(q.shape), beta.reshape(q.shape)

    return outputs


def check_weights(weights: Any) -> Tree:
    """Return the arrays of a network if there are all of them, of their shapes and finite."""
    if not isinstance(weights, Mapping):
        raise UserError(
            "`weights` must be a name such as 'l2e/desk', a file, arrays or a function, got "
            f"{one_line(weights)}."
        )
    for layer in (*weights, *SHAPES):
        part, names = weights.get(layer), SHAPES.get(layer, {})
        if not names or not isinstance(part, Mapping) or set(part) - set(names):
            raise UserError(
                "`weights` must have w and b of linear_0, linear_1 and linear_2 and nothing else, "
                f"got {one_line(part)} at {one_line(layer)}."
            )
        for name, shape in names.items():
            _check_array(f"{layer}/{name}", part.get(name), shape)
    own = {layer: dict(weights[layer]) for layer in SHAPES}
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), own)


def _check_array(name: str, array: Any, shape: tuple[int, ...]) -> None:
    got = "nothing" if array is None else str(np.shape(array))
    if got != str(shape):
        raise UserError(f"`weights` must have shape {shape} at {name!r}, got {got}.")
    if not jnp.issubdtype(jnp.result_type(array), jnp.floating):
        raise UserError(f"`weights` must be floating-point numbers, got others at {name!r}.")
    try:
        finite = np.all(np.isfinite(np.asarray(array, np.float64)))
    except jax.errors.TracerArrayConversionError:  # its values are not known yet
        return
    if not finite:
        raise UserError(f"`weights` must be finite numbers, got NaN or infinity at {name!r}.")


def _outputs(weights: Any) -> Outputs:
    if callable(weights):
        return cast(Outputs, weights)
    if isinstance(weights, str | Path):
        from pxsgmcmc.pretrained import load_l2e  # reads files, which no sampler does otherwise

        weights = load_l2e(weights)
    return network(check_weights(weights))


def _wide(x: Array) -> Any:
    """The type in which a step of this leaf is computed."""
    return widen(jnp.zeros((), x.dtype)).dtype
