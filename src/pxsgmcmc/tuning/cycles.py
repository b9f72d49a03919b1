"""Temperatures over a cycle of step sizes: the laws with a step that changes.

The second moments of a direction obey a linear recursion, whatever the step sizes are. The moments
that a whole cycle returns to themselves are those of a chain in its stride; their means over the
steps of the cycle are what a log of it shows.
"""

import math
from typing import Any

import numpy as np

from pxsgmcmc.tuning.correlation import sghmc_noise_left, sgld_noise_left
from pxsgmcmc.tuning.laws import UNSTABLE, GroupTerrain, Spectrum, Temperatures

MOST_PHASES = 250  # of a cycle that are followed; a longer one repeats each


def cosine_cycle(peak: float, length: int) -> np.ndarray:
    """The step sizes of `pxsgmcmc.cyclical`, one a step.

    Example:
      >>> np.round(cosine_cycle(1.0, 2), 9).tolist()
      [1.0, 0.5]
    """
    return peak * np.cos(0.5 * np.pi * np.arange(length) / length) ** 2


def typical_step_size(step_sizes: np.ndarray) -> float:
    """The step size at which heat is taken up over a cycle: each weighs as much as it moves.

    Example:
      >>> round(typical_step_size(cosine_cycle(1.0, 1000)), 2)
      0.75
    """
    return float(np.sum(step_sizes**2) / np.sum(step_sizes))


def cycle_temperatures(
    terrain: GroupTerrain,
    step_sizes: np.ndarray,
    *,
    friction: float | None,
    temperature: float = 1.0,
    injected: float | None = None,
) -> Temperatures:
    """Mean temperatures over a cycle, of SGHMC, or of SGLD without a friction.

    Args:
      terrain: of the group.
      step_sizes: of the cycle, one a step.
      friction: of the group; None for SGLD.
      temperature: of the sampler.
      injected: friction that the injected noise belongs to, if another: SGNHT's noise constant.

    Example:
      >>> stiff = Spectrum(np.array([3.0]), np.array([1.0]))
      >>> terrain = GroupTerrain(1, stiff, 0.0, stiff, 3.0, 0.0, 3.0, 1.0)
      >>> found = cycle_temperatures(terrain, np.full(5, 0.1), friction=1.0, temperature=0.5)
      >>> round(found.kinetic, 8)
      0.53050398
    """
    repeated = -(-len(step_sizes) // MOST_PHASES)
    phases = step_sizes[repeated // 2 :: repeated]
    injected = friction if injected is None else injected
    stiffest = Spectrum(np.array([terrain.stiffest]), np.ones(1))
    settings = (phases, repeated, friction, injected, terrain)
    plain = _mean_moments(terrain.curvatures, *settings, T=temperature, v=0.0)
    noisy = _mean_moments(terrain.noise_curvatures, *settings, T=0.0, v=terrain.noise)
    top = _mean_moments(stiffest, *settings, T=temperature, v=terrain.stiffest_noise)
    if plain is None or noisy is None or top is None:
        return UNSTABLE
    kinetic = math.nan if friction is None else plain[0] + noisy[0]
    return Temperatures(kinetic, plain[1] + noisy[1], top[1])


def _mean_moments(
    spectrum: Spectrum,
    phases: np.ndarray,
    repeated: int,
    friction: float | None,
    injected: float | None,
    terrain: GroupTerrain,
    *,
    T: float,
    v: float,
) -> tuple[float, float] | None:
    """Means of (m^2, c q^2) over nodes and over a cycle; None if the cycle is unstable."""
    # A flat direction never comes to rest; it is followed as one that is nearly flat.
    floor = max(terrain.softest, 1e-7 * terrain.stiffest, 1e-12)
    c = np.maximum(spectrum.curvatures, floor)
    with np.errstate(all="ignore"):
        maps = [
            np.linalg.matrix_power(_step(c, h, friction, injected, terrain.batches, T, v), repeated)
            for h in phases
        ]
        whole = np.eye(maps[0].shape[-1])
        for one in maps:
            whole = one @ whole
        inner = whole[:, :-1, :-1]
        if not np.isfinite(whole).all() or np.abs(np.linalg.eigvals(inner)).max() >= 1.0:
            return None
        moments = np.linalg.solve(np.eye(inner.shape[-1]) - inner, whole[:, :-1, -1:])[..., 0]
    state = np.concatenate([moments, np.ones((len(c), 1))], axis=1)
    kinetic, configurational = 0.0, 0.0
    for one in maps:
        state = np.einsum("nij,nj->ni", one, state)
        kinetic += spectrum.mean(state[:, -2]) / len(maps)
        configurational += spectrum.mean(c * state[:, 0]) / len(maps)
    return kinetic, configurational


def _step(
    c: np.ndarray, h: float, g: Any, injected: Any, batches: float, T: float, v: float
) -> np.ndarray:
    """One step on (E q^2, E q m, E m^2, 1), (nodes, 4, 4); for SGLD on (E q^2, 1)."""
    if g is None:
        noise = 2.0 * h * T + h**2 * v * sgld_noise_left(c, h, batches)
        zero = np.zeros_like(c)
        return _stack([[(1.0 - h * c) ** 2, zero + noise], [zero, zero + 1.0]])
    noise = 2.0 * h * injected * T + h**2 * v * sghmc_noise_left(c, h, g, batches)[0]
    zero = np.zeros_like(c)
    A, B, C, D = 1.0 - h**2 * c, zero + h * (1.0 - h * g), -h * c, zero + (1.0 - h * g)
    return _stack(
        [
            [A * A, 2.0 * A * B, B * B, h**2 * noise],
            [A * C, A * D + B * C, B * D, h * noise],
            [C * C, 2.0 * C * D, D * D, zero + noise],
            [zero, zero, zero, zero + 1.0],
        ]
    )


def _stack(entries: list[list[np.ndarray]]) -> np.ndarray:
    return np.stack([np.stack(row, axis=-1) for row in entries], axis=-2)
