"""From starts to settings where steps are dear: networks with convolutions on a CPU.

Looks are few and cheap: the gradients of a few batches, which tell what is noisy, and the largest
curvature. At each of them momenta are drawn anew from their law, for the masses of that look. So
chains are warm from their first step: at rest, they would first take the heat out of their weights.
At the end a stretch with what the laws recommend corrects the noise by how hot the chains get.
"""

import time
from dataclasses import replace

import jax
import numpy as np

from pxsgmcmc.samplers.sghmc import SGHMCState
from pxsgmcmc.tree import size
from pxsgmcmc.tuning.engine.programs import Settings
from pxsgmcmc.tuning.engine.settings import Found, at_rest, cautious, recommended
from pxsgmcmc.tuning.engine.stepper import Flat, Stepper
from pxsgmcmc.tuning.engine.terrain import (
    balanced_masses,
    largest_curvature,
    measure_at,
    noise_at,
    prior_masses,
)
from pxsgmcmc.tuning.laws import sghmc_limit
from pxsgmcmc.tuning.measure import Measurement
from pxsgmcmc.tuning.prediction import temperatures_at
from pxsgmcmc.types import Tree

# Steps between looks, and the share of the stability limit that a step has; the last of them is
# repeated until energies have stopped falling.
FALLING = ((50, 0.2), (50, 0.2), (100, 0.3), (100, 1.0 / 3.0))
LOOKS = 12  # at most
HEAT = 0.1  # share by which gradient noise may heat what falls
SAFETY = 0.45  # share of the stability limit that draws may have: chains in time are set back
TOLERANCE = 0.05  # the same for draws: what is honest enough of the 0.1 that a verdict allows
TRIED = 200  # steps with what the laws recommend, which tell how hot it is
WRONG = (
    0.75,
    3.0,
)  # times, at least and at most, by which the noise that was measured is corrected


def find_dear_settings(
    stepper: Stepper, positions: Tree, sampler: str, ends: float, seed: int
) -> tuple[SGHMCState, Found, int]:
    """States of the chains where energies have fallen, settings that are honest there, steps taken.

    Args:
      stepper: a program of SGHMC and its data, with masses of 1.
      positions: starts of all chains, stacked.
      sampler: that the settings are for.
      ends: when to have looked often enough, by the monotonic clock.
      seed: of the momenta.
    """
    one = jax.tree.map(lambda x: x[0], positions)
    flat = Flat(one, stepper.masses)
    prior = prior_masses(stepper, flat, flat.vectors(positions)[0])
    rng = np.random.default_rng(seed)
    state, taken, before = at_rest(positions), 0, np.inf
    for look in range(LOOKS):
        steps, share = FALLING[min(look, len(FALLING) - 1)]
        place = flat.vectors(state.position)[0]
        here = balanced_masses(stepper, flat, place, prior, free=sampler != "sgld")
        stepper, flat = replace(stepper, masses=here.masses), Flat(one, here.masses)
        largest = largest_curvature(stepper, flat, flat.vectors(state.position)[0])
        h = share * sghmc_limit(max(largest, *here.softness.values()), 0.0)
        friction = {
            name: max(2.0 * np.sqrt(here.softness[name]), h * noise / (2.0 * HEAT))
            for name, noise in here.noise.items()
        }
        state = state._replace(momentum=drawn_momenta(state.position, stepper.masses, rng))
        state, energy = cautious(stepper, state, taken, steps, h, friction)
        taken += steps
        # By less than a standard deviation of the energy in its own law.
        settled = before - energy < np.sqrt(size(one) / 2.0)
        if look >= len(FALLING) - 1 and (settled or time.monotonic() > ends):
            break
        before = energy
    seen = _typical(stepper, flat, flat.vectors(state.position))
    how = {"tolerance": TOLERANCE, "shuffled": True, "safety": SAFETY}
    found = recommended(stepper, seen, sampler, **how)
    if sampler != "sghmc":  # which is what the chains move by until now
        return state, found, taken
    state = state._replace(momentum=drawn_momenta(state.position, stepper.masses, rng))
    h, friction = found.settings.step_size, found.settings.friction
    state, sums = stepper.steps(state, taken, TRIED, h, friction)
    heat = {name: float(np.mean(T)) / TRIED for name, T in sums.temperature.items()}
    found = recommended(stepper, with_noise_of(heat, seen, found.settings), sampler, **how)
    return jax.tree.map(np.asarray, state), found, taken + TRIED


def with_noise_of(heat: dict[str, float], seen: Measurement, settings: Settings) -> Measurement:
    """The measurement with the noise that explains the heat of the steps that were tried.

    Noise at a few positions, less what shuffling takes back of it, is often off by a third.
    The momenta began at their temperature, and what heats them has shown itself in part only.

    Args:
      heat: group -> mean kinetic temperature over `TRIED` steps.
      seen: what was measured.
      settings: of these steps.
    """
    terrain = {}
    for name, one in seen.terrain.items():
        h, friction = settings.step_size, settings.friction[name]
        quiet = one._replace(noise=0.0, stiffest_noise=0.0)
        told, least = (
            temperatures_at(each, "sghmc", h, friction, 1.0).kinetic for each in (one, quiet)
        )
        rate = 2.0 * h * friction * TRIED
        shown = 1.0 - (1.0 - np.exp(-rate)) / rate
        times = (heat[name] - least) / (shown * (told - least)) if told > least else 1.0
        times = float(np.clip(times, *WRONG)) if np.isfinite(times) else max(WRONG)
        terrain[name] = one._replace(
            noise=times * one.noise, stiffest_noise=times * one.stiffest_noise
        )
    return replace(seen, terrain=terrain)


def _typical(stepper: Stepper, flat: Flat, places: np.ndarray) -> Measurement:
    """Curvatures where the first chain is, with the mean over chains of the noise.

    The noise at one position may be three times that at another.
    """
    seen = measure_at(stepper, flat, places[0])
    # Other batches for each chain: a few rows that are far off make most of the noise.
    noises = [noise_at(stepper, flat, place, seed=n) for n, place in enumerate(places)]
    terrain = {}
    for name, one in seen.terrain.items():
        noise = float(np.mean([each.variance(flat.groups[name]) for each in noises]))
        times = noise / one.noise if one.noise > 0.0 else 1.0
        terrain[name] = one._replace(noise=noise, stiffest_noise=times * one.stiffest_noise)
    return replace(seen, terrain=terrain)


def drawn_momenta(positions: Tree, masses: tuple[float, ...], rng: np.random.Generator) -> Tree:
    """Stacked momenta of variance M, for stacked positions."""
    leaves, structure = jax.tree.flatten(positions)
    drawn = [
        (np.sqrt(mass) * rng.standard_normal(leaf.shape)).astype(leaf.dtype)
        for leaf, mass in zip(leaves, masses, strict=True)
    ]
    return jax.tree.unflatten(structure, drawn)
