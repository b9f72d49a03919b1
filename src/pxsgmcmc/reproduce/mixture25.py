"""A mixture of 25 Gaussians, sampled by HMC with and without parameter expansion.

Wanted is y in R^2 with energy U(y). Standard HMC moves y; expanded HMC moves the 14 numbers of
y = W3 W2 W1 x, from W_i = I, under one of three energies:

    flat    U(y)                                              as the paper says
    ridge   U(y) + k/2 sum |W_i|^2                            as its networks have it
    exact   U(y) + k/2 sum |W_i - I|^2 - sum log |det W_i|    the mixture's law for y

`preconditioned` moves y alone, by the force -P(y) dU(y) with P the matrix of Lemma 3.1 at W_i = I.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc import expansion
from pxsgmcmc.data._toys import mixture25_draws, mixture25_energy, mixture25_means
from pxsgmcmc.expansion.precondition import preconditioner
from pxsgmcmc.rng import streams
from pxsgmcmc.samplers import hmc as make_hmc
from pxsgmcmc.types import Array, Batch, Potential, Sampler, Tree

Energy = Callable[[Array], Array]  # y, (2,) -> nats
Point = tuple[float, float]


def standard(y: Array) -> Tree:
    """The position of standard HMC: y itself."""
    return {"x": y}


def expand(y: Array) -> expansion.Expanded:
    """The 14 numbers that stand for `y`: x = y and three 2 x 2 factors, all the identity."""
    params = standard(y)
    return expansion.expand(
        params, expansion.plan(params, out=3, into=0, rules=[expansion.Rule("x", out=0)])
    )


def potential(energy: Energy, penalty: Callable | None = None) -> Potential:
    """The energy of y = `collapse(position)`, of either kind, and a penalty on its factors."""

    def total(position: Tree, batch: Batch) -> Array:
        U = energy(expansion.collapse(position)["x"])
        return U if penalty is None else U + penalty(position.factors["x"].out)

    return total


def ridge(factors: Sequence[Array], strength: float) -> Array:
    """k/2 sum |W_i|^2: pulls the factors to zero."""
    return sum((0.5 * strength * jnp.sum(W**2) for W in factors), start=jnp.zeros((), float))


def exact(factors: Sequence[Array], strength: float) -> Array:
    """k/2 sum |W_i - I|^2 - sum log |det W_i|: y keeps its law, and W_i ~ N(I, 1 / k) beside it.

    For fixed factors dy = |det W3 W2 W1| dx, which the log-determinants make up for.
    """
    volume = sum(jnp.log(jnp.abs(jnp.linalg.det(W))) for W in factors)
    return ridge([W - jnp.eye(2, dtype=W.dtype) for W in factors], strength) - volume


def preconditioned(energy: Energy) -> Potential:
    """The energy of y with P(y) dU(y) in the place of its gradient; P = (1 + 3 |y|^2) I.

    That force is no gradient, so leapfrog does not keep H = U + |m|^2 / 2 even for tiny steps. But
    each kick and each drift keeps volume and runs backwards when m is turned, whatever the force:
    with a Metropolis test on H the chain is exact (only often refused), without one it is not.
    """

    @jax.custom_jvp
    def forced(y: Array) -> Array:
        return energy(y)

    @forced.defjvp
    def forced_jvp(y: tuple[Array], dy: tuple[Array]) -> tuple[Array, Array]:
        eye = jnp.eye(2, dtype=y[0].dtype)
        P = preconditioner([eye, eye, eye, y[0][:, None]])  # of W3 W2 W1 x at x = y
        return energy(y[0]), jnp.dot(P @ jax.grad(energy)(y[0]), dy[0])

    return potential(forced)


class MixtureMethod(NamedTuple):
    """One way to sample the mixture."""

    name: str
    sampler: Sampler
    start: Callable[[Array], Tree]  # y -> position
    tested: bool = True  # by Metropolis


def methods(step_size: float, leapfrog_steps: int, strength: float) -> list[MixtureMethod]:
    """What is compared."""
    U, force = potential(mixture25_energy), preconditioned(mixture25_energy)
    U_ridge = potential(mixture25_energy, partial(ridge, strength=strength))
    U_exact = potential(mixture25_energy, partial(exact, strength=strength))
    hmc = partial(make_hmc, step_size=step_size, leapfrog_steps=leapfrog_steps)
    return [
        MixtureMethod("standard", hmc(U), standard),
        MixtureMethod("standard, h=0.34", hmc(U, step_size=0.34), standard),
        MixtureMethod("flat", hmc(U), expand),
        MixtureMethod("ridge", hmc(U_ridge), expand),
        MixtureMethod("exact", hmc(U_exact), expand),
        MixtureMethod("flat, no test", hmc(U, metropolis=False), expand, tested=False),
        MixtureMethod("preconditioned", hmc(force), standard),
        MixtureMethod("precond. no test", hmc(force, metropolis=False), standard, tested=False),
    ]


class Score(NamedTuple):
    """How well a chain covers the mixture."""

    covered: int  # modes with at least 100 draws within 0.25 of the mean
    seen: int  # modes with at least one
    distance: float  # total variation between shares of draws by nearest mean and 1/25 each
    switches: int  # how often the nearest mean changes from one draw to the next
    mean_square: float  # of |y|; 16.06 for the mixture


def score(y: np.ndarray, *, radius: float = 0.25, enough: int = 100) -> Score:
    """Score draws (draws, 2) in the order they were made.

    Example:
      >>> score(np.repeat([[0.0, 0.0], [2.0, 0.0]], [150, 50], axis=0))[:2]
      (1, 2)
    """
    distances = np.linalg.norm(y[:, None, :] - mixture25_means(), axis=-1)  # (draws, 25)
    nearest = np.argmin(distances, axis=1)
    inside = np.bincount(nearest[np.min(distances, axis=1) < radius], minlength=25)
    share = np.bincount(nearest, minlength=25) / len(y)
    return Score(
        covered=int(np.sum(inside >= enough)),
        seen=int(np.sum(inside >= 1)),
        distance=float(np.sum(np.abs(share - 1 / 25)) / 2),
        switches=int(np.sum(nearest[1:] != nearest[:-1])),
        mean_square=float(np.mean(np.sum(y**2, axis=-1))),
    )


class Result(NamedTuple):
    """The chains of one method with their scores; made by `result`."""

    name: str
    y: np.ndarray  # (starts, seeds, draws, 2)
    numbers: np.ndarray  # (starts, seeds, 6): acceptance, NaN without a test, and the five scores


def result(name: str, y: np.ndarray, acceptance: np.ndarray) -> Result:
    """Score every chain of `y` (starts, seeds, draws, 2)."""
    scores = np.array([[score(path) for path in row] for row in y], float)
    return Result(name, y, np.concatenate([acceptance[..., None], scores], axis=-1))


def run(
    method: MixtureMethod, starts: Sequence[Point], *, seeds: int, draws: int, first_seed: int = 0
) -> Result:
    """A chain for each start and seed, all at once."""

    def chain(number: Any, y: Array) -> tuple[Array, Array]:
        key = streams(first_seed + number % seeds, number // seeds).noise

        def transition(state, _):
            state, info = method.sampler.step(jax.random.fold_in(key, state.step), state, None)
            return state, (expansion.collapse(state.position)["x"], info.acceptance)

        state = method.sampler.init(method.start(y))
        _, (path, acceptance) = jax.lax.scan(transition, state, length=draws)
        return path, jnp.mean(acceptance)

    first = jnp.repeat(jnp.array(starts, float), seeds, axis=0)
    y, acceptance = jax.jit(jax.vmap(chain))(jnp.arange(len(first)), first)
    y = np.asarray(y, np.float64).reshape(len(starts), seeds, draws, 2)
    accepted = np.where(method.tested, acceptance, np.nan).reshape(len(starts), seeds)
    return result(method.name, y, accepted)


def reference(*, seeds: int, draws: int) -> Result:
    """Independent draws of the mixture: what a chain that mixes would look like."""
    draw = jax.vmap(lambda seed: mixture25_draws(streams(seed).init, draws))
    y = np.asarray(jax.jit(draw)(jnp.arange(seeds)), np.float64)
    return result("independent", y[None], np.full((1, seeds), np.nan))
