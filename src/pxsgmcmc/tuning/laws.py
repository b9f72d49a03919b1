"""What a step size and a friction do, from the exact laws of the samplers on a quadratic energy.

In a direction of curvature c, with step h, friction g, temperature T and gradient noise of variance
v, the stationary laws (SGHMC and SGNHT with momentum m, all with position q) are

    SGHMC   E m^2   = (T + h v k / (2 g)) / D,             D = 1 - h g / 2 - h^2 c / 4
            c E q^2 = (T + h v k / (2 g)) (1 - h g / 2) / D
    SGNHT   the same with friction x and temperature A T / x, where x makes the mean of E m^2 be T
    SGLD    c E q^2 = (T + h v k / 2) / (1 - h c / 2)

k is 1 if batches are drawn independently. Batches here are cut from shuffled epochs, K to an epoch,
so that their noises add up to nothing over each: noise at lag j has correlation
-(1 - j / K) / (K - 1), and with r(j) the correlation of m (or q) at lag j

    k = 1 - 2 / (K - 1) sum_j (1 - j / K) r(j),      j = 1 .. K - 1.

Where E m^2 and c E q^2 should both be T, their mean over the coordinates of a group are its kinetic
and its configurational temperature.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from pxsgmcmc.tuning.correlation import sghmc_noise_left, sgld_noise_left


class Spectrum(NamedTuple):
    """How something is spread over curvatures: a few curvatures and the share at each."""

    curvatures: np.ndarray  # (nodes,)
    shares: np.ndarray  # (nodes,), adding up to 1

    def mean(self, values: np.ndarray) -> float:
        """Mean of one value per node."""
        return float(np.sum(self.shares * values))


class GroupTerrain(NamedTuple):
    """What the laws need to know of one group of coordinates.

    Attributes:
      size: coordinates.
      curvatures: how its coordinates are spread over curvatures.
      noise: variance of the gradient of a batch, mean over coordinates.
      noise_curvatures: how that variance is spread over curvatures.
      stiffest: its largest curvature.
      stiffest_noise: variance of the gradient of a batch along the direction of that curvature.
      softest: its smallest curvature, as far as it is known; not above 0 where it is not.
      batches: to an epoch.
    """

    size: int
    curvatures: Spectrum
    noise: float
    noise_curvatures: Spectrum
    stiffest: float
    stiffest_noise: float
    softest: float
    batches: float


class Temperatures(NamedTuple):
    """What a group of coordinates will show; the sampler's own temperature if all were right."""

    kinetic: float  # NaN for a sampler without momentum
    configurational: float
    stiffest: float  # of the position, in the stiffest direction alone


UNSTABLE = Temperatures(math.inf, math.inf, math.inf)


def sgld_limit(curvature: float) -> float:
    """The step size from which SGLD is unstable.

    Example:
      >>> sgld_limit(4.0)
      0.5
    """
    return 2.0 / curvature if curvature > 0.0 else math.inf


def sghmc_limit(curvature: float, friction: float) -> float:
    """The step size from which SGHMC is unstable: where D is 0.

    Example:
      >>> sghmc_limit(4.0, friction=0.0)
      1.0
    """
    # Written so that nothing cancels where the friction is large, or the curvature zero.
    root = friction / 2.0 + math.sqrt(friction**2 / 4.0 + max(curvature, 0.0))
    return 2.0 / root if root > 0.0 else math.inf


def sgld_temperatures(
    terrain: GroupTerrain, step_size: float, *, temperature: float = 1.0, shuffled: bool = True
) -> Temperatures:
    """Temperatures of SGLD's stationary law.

    Args:
      terrain: of the group.
      step_size: constant.
      temperature: of the sampler.
      shuffled: whether batches are cut from shuffled epochs, else they are independent.

    Example:
      >>> flat = Spectrum(np.array([4.0]), np.array([1.0]))
      >>> terrain = GroupTerrain(1, flat, 0.0, flat, 4.0, 0.0, 4.0, 1.0)
      >>> sgld_temperatures(terrain, 0.1).configurational
      1.25
    """
    h, T = step_size, temperature
    if h >= sgld_limit(terrain.stiffest):
        return UNSTABLE
    batches = terrain.batches if shuffled else math.inf

    def hot(c: np.ndarray, v: float) -> np.ndarray:
        return h * v / 2.0 * sgld_noise_left(c, h, batches) / (1.0 - h * c / 2.0)

    c, noisy = _at_least_0(terrain.curvatures), _at_least_0(terrain.noise_curvatures)
    configurational = T * c.mean(1.0 / (1.0 - h * c.curvatures / 2.0))
    configurational += noisy.mean(hot(noisy.curvatures, terrain.noise))
    top = np.array([max(terrain.stiffest, 0.0)])
    stiffest = T / (1.0 - h * top / 2.0) + hot(top, terrain.stiffest_noise)
    return Temperatures(math.nan, configurational, float(stiffest[0]))


def sghmc_temperatures(
    terrain: GroupTerrain,
    step_size: float,
    *,
    friction: float,
    temperature: float = 1.0,
    shuffled: bool = True,
) -> Temperatures:
    """Temperatures of SGHMC's stationary law.

    Args:
      terrain: of the group.
      step_size: constant.
      friction: of the group.
      temperature: of the sampler.
      shuffled: whether batches are cut from shuffled epochs, else they are independent.

    Example:
      >>> stiff = Spectrum(np.array([3.0]), np.array([1.0]))
      >>> terrain = GroupTerrain(1, stiff, 0.0, stiff, 3.0, 0.0, 3.0, 1.0)
      >>> found = sghmc_temperatures(terrain, 0.1, friction=1.0, temperature=0.5)
      >>> round(found.kinetic, 8), round(found.configurational / 3.0, 8)
      (0.53050398, 0.16799293)
    """
    h, g, T = step_size, friction, temperature
    if h >= sghmc_limit(terrain.stiffest, g):
        return UNSTABLE
    if g == 0.0 and terrain.noise > 0.0:
        return UNSTABLE  # nothing takes the heat of the noise away
    damped = 1.0 - h * g / 2.0
    batches = terrain.batches if shuffled else math.inf

    def parts(c: np.ndarray, v: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """1 / D, and what gradient noise adds to the kinetic and configurational temperature."""
        D = damped - h**2 * c / 4.0
        heat = h * v / (2.0 * g) / D if v > 0.0 else np.zeros_like(D)
        of_momentum, of_position = sghmc_noise_left(c, h, g, batches)
        return 1.0 / D, heat * of_momentum, heat * of_position * damped

    c, noisy = _at_least_0(terrain.curvatures), _at_least_0(terrain.noise_curvatures)
    plain = T * c.mean(parts(c.curvatures, 0.0)[0])
    _, kinetic, configurational = parts(noisy.curvatures, terrain.noise)
    top = parts(np.array([max(terrain.stiffest, 0.0)]), terrain.stiffest_noise)
    return Temperatures(
        plain + noisy.mean(kinetic),
        plain * damped + noisy.mean(configurational),
        float((T * damped * top[0] + top[2])[0]),
    )


def sgnht_friction(
    terrain: GroupTerrain,
    step_size: float,
    *,
    friction: float,
    temperature: float = 1.0,
    shuffled: bool = True,
) -> float:
    """Where SGNHT's thermostat settles in a large group; NaN if nowhere.

    Args:
      terrain: of the group.
      step_size: constant.
      friction: the noise constant A.
      temperature: of the sampler.
      shuffled: whether batches are cut from shuffled epochs, else they are independent.

    Example:
      >>> mixed = Spectrum(np.array([1.0, 9.0]), np.array([0.5, 0.5]))
      >>> terrain = GroupTerrain(200, mixed, 0.0, mixed, 9.0, 0.0, 1.0, 1.0)
      >>> round(sgnht_friction(terrain, 0.1, friction=2.0), 4)
      2.2914
    """

    def excess(x: float) -> float:
        held = friction * temperature / x
        settings = {"friction": x, "temperature": held, "shuffled": shuffled}
        return sghmc_temperatures(terrain, step_size, **settings).kinetic - temperature

    # More friction is less heat only up to h x = 1, and the momentum is too hot at x = A.
    low, high = friction, 1.0 / step_size
    if not (low < high and excess(high) < 0.0):
        return math.nan
    if excess(low) <= 0.0:  # by rounding alone
        return low
    return float(brentq(excess, low, high, rtol=1e-12))  # pyright: ignore[reportArgumentType]


def sgnht_temperatures(
    terrain: GroupTerrain,
    step_size: float,
    *,
    friction: float,
    temperature: float = 1.0,
    shuffled: bool = True,
) -> Temperatures:
    """Temperatures of SGNHT's stationary law in a large group; its kinetic one is right.

    Args:
      terrain: of the group.
      step_size: constant.
      friction: the noise constant A.
      temperature: of the sampler.
      shuffled: whether batches are cut from shuffled epochs, else they are independent.
    """
    settings: dict[str, Any] = {"friction": friction, "temperature": temperature}
    x = sgnht_friction(terrain, step_size, **settings, shuffled=shuffled)
    if math.isnan(x):
        return UNSTABLE
    held = {"friction": x, "temperature": friction * temperature / x}
    return sghmc_temperatures(terrain, step_size, **held, shuffled=shuffled)


def _at_least_0(spectrum: Spectrum) -> Spectrum:
    """A direction of negative curvature has no stationary law; it is taken for a flat one."""
    return spectrum._replace(curvatures=np.maximum(spectrum.curvatures, 0.0))
