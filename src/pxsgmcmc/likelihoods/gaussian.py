"""Numbers with normal noise: y = m(x) + s e, e ~ N(0, 1)."""

from pxsgmcmc.errors import check_number
from pxsgmcmc.likelihoods._location_scale import LocationScale, Noise, check_noise
from pxsgmcmc.likelihoods._units import Units, check_units


def gaussian(
    noise: Noise = "learned",
    *,
    noise_start: float = 0.5,
    noise_spread: float = 1.0,
    units: Units | None = None,
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

    Example:
      >>> import jax.numpy as jnp
      >>> likelihood = gaussian(noise=1.0)
      >>> row = likelihood.distribution(jnp.zeros((1, 1)), {}, 1)
      >>> round(float(likelihood.log_prob(row, jnp.ones((1, 1)))[0]), 4)  # -(1 + log 2 pi) / 2
      -1.4189
    """
    check_number("noise_start", noise_start, above=0.0)
    check_number("noise_spread", noise_spread, above=0.0)
    return LocationScale(check_noise(noise), None, noise_start, noise_spread, check_units(units))
