"""Numbers with heavy-tailed noise, which outliers pull less: y = m(x) + s e, e ~ Student-t."""

from pxsgmcmc.errors import check_number
from pxsgmcmc.likelihoods._location_scale import LocationScale, Noise, check_noise
from pxsgmcmc.likelihoods._units import Units, check_units


def student_t(
    noise: Noise = "learned",
    *,
    freedom: float = 4.0,
    noise_start: float = 0.5,
    noise_spread: float = 1.0,
    units: Units | None = None,
) -> LocationScale:
    """Regression with Student-t noise.

    Args:
      noise: scale of the noise, as in `gaussian`; it is not the standard deviation, which is
        sqrt(freedom / (freedom - 2)) times larger.
      freedom: degrees of freedom; 1 is Cauchy noise, 30 nearly normal. The variance is infinite up
        to 2.
      noise_start: where a learned scale begins.
      noise_spread: standard deviation of the normal prior on the logarithm of a learned scale.
      units: (mean, standard deviation) of the targets, as in `gaussian`.

    Example:
      >>> import jax.numpy as jnp
      >>> likelihood = student_t(noise=1.0, freedom=1.0)
      >>> row = likelihood.distribution(jnp.zeros((1, 1)), {}, 1)
      >>> round(float(likelihood.log_prob(row, jnp.ones((1, 1)))[0]), 4)  # -log 2 pi
      -1.8379
    """
    check_number("freedom", freedom, above=0.0)
    check_number("noise_start", noise_start, above=0.0)
    check_number("noise_spread", noise_spread, above=0.0)
    return LocationScale(
        check_noise(noise), float(freedom), noise_start, noise_spread, check_units(units)
    )
