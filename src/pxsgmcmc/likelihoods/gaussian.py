"""Numbers with normal noise: y = m(x) + s e, e ~ N(0, 1)."""

from pxsgmcmc.errors import UserError, check_number
from pxsgmcmc.likelihoods._location_scale import LocationScale, Noise, check_noise
from pxsgmcmc.likelihoods._units import Units, check_units


def gaussian(
    noise: Noise = "learned",
    *,
    noise_start: float = 0.5,
    noise_spread: float = 1.0,
    units: Units | None = None,
    noise_floor: float = 0.0,
) -> LocationScale:
    """Regression with normal noise.

    Args:
      noise: standard deviation of the noise; "learned" samples its logarithm along with the
        network, one for all inputs; "network" takes the logarithm from the network for each input,
        which then gives twice as many outputs: means first, log standard deviations after.
      noise_start: where a learned noise begins.
      noise_spread: standard deviation of the normal prior on the logarithm of a learned noise,
        around that of `noise_start`.
      units: (mean, standard deviation) of the targets, by target. The network then works on the
        standardised scale, `noise` too, while targets, predictions and metrics keep their units.
      noise_floor: standard deviation of a part of the noise that is always there, beside what is
        learned or given by the network: s^2 = floor^2 + exp(2 log scale). Targets without noise
        would otherwise let the noise shrink and the curvature grow without end.

    Example:
      >>> import jax.numpy as jnp
      >>> likelihood = gaussian(noise=1.0)
      >>> row = likelihood.distribution(jnp.zeros((1, 1)), {}, 1)
      >>> round(float(likelihood.log_prob(row, jnp.ones((1, 1)))[0]), 4)  # -(1 + log 2 pi) / 2
      -1.4189
    """
    check_number("noise_start", noise_start, above=0.0)
    check_number("noise_spread", noise_spread, above=0.0)
    check_number("noise_floor", noise_floor, at_least=0.0)
    if noise_floor and isinstance(check_noise(noise), float):
        raise UserError(
            "`noise_floor` must be 0 with a known `noise`, which does not shrink, got "
            f"{noise_floor:g}."
        )
    return LocationScale(
        check_noise(noise), None, noise_start, noise_spread, check_units(units), noise_floor
    )
