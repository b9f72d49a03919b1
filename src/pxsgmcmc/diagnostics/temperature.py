"""Temperatures that a chain should show if it samples exp(-U/T), group by group.

    kinetic          mean of r^2 over coordinates          E = T  (momentum r, unit mass)
    configurational  mean of q dU/dq over coordinates      E = T  (position q)

A finite step moves both by a known `factor`. On a quadratic U of curvature c, SGHMC with step h and
friction g gives (`sghmc_factors`)

    kinetic  1 / D,    configurational  (1 - h g / 2) / D,    D = 1 - h g / 2 - h^2 c / 4.

The bands say where an estimate should lie with a given probability, if the temperature is right and
what is stated with each function holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pxsgmcmc.diagnostics._flat import Tree, flatten_groups
from pxsgmcmc.errors import UserError, check_count, check_number

if TYPE_CHECKING:
    from jaxtyping import Real


class Temperature(NamedTuple):
    """An estimate and the band in which it is expected."""

    estimate: float
    low: float
    high: float
    size: int  # coordinates, or draws, that went into the estimate

    @property
    def as_expected(self) -> bool:
        """Whether the estimate lies within the band."""
        return self.low <= self.estimate <= self.high


def sghmc_factors(step_size: float, friction: float, curvature: float = 0.0) -> tuple[float, float]:
    """(kinetic, configurational) factor on the temperature of SGHMC at a finite step.

    Example:
      >>> kinetic, configurational = sghmc_factors(0.1, friction=1.0, curvature=3.0)
      >>> round(0.5 * kinetic, 8), round(0.5 * configurational / 3.0, 8)  # Var r, Var q at T = 0.5
      (0.53050398, 0.16799293)
    """
    damped = 1.0 - step_size * friction / 2.0
    denominator = damped - step_size**2 * curvature / 4.0
    if denominator <= 0.0:
        raise UserError(
            f"`step_size` must be small enough for SGHMC to be stable, got {step_size} with "
            f"friction {friction} and curvature {curvature}."
        )
    return 1.0 / denominator, damped / denominator


def kinetic_temperature(
    momentum: Tree,
    groups: Tree = None,
    *,
    temperature: float = 1.0,
    confidence: float = 0.99,
    factor: float | Mapping[str, float] = 1.0,
) -> dict[str, Temperature]:
    """Mean square of the momentum at one step, by group.

    The band is exact (chi-square) for independent normal coordinates of one variance, which is how
    momentum is distributed as the step goes to zero.

    Args:
      momentum: a tree of arrays, or group -> arrays. For a mass other than 1 divide by its root.
      groups: a tree prefix of `momentum` whose leaves are group names. None: the keys of `momentum`
        if it is a mapping, else one group called "all".
      temperature: that the chain should have.
      confidence: probability that an estimate lies within its band.
      factor: on the temperature, from a finite step; a number or group -> number.

    Example:
      >>> kinetic_temperature({"base": np.array([1.0, -1.0, 2.0])})["base"].estimate
      2.0
    """
    from scipy.special import gammaincinv  # a dependency of jax

    tail = _tail(confidence)
    by_group = {}
    for group, (values,) in flatten_groups(groups, momentum).items():
        expected, n = _expected(temperature, factor, group), values.size
        # A chi-square quantile of n degrees is 2 gammaincinv(n / 2, .).
        low, high = expected * 2.0 * gammaincinv(n / 2.0, [tail, 1.0 - tail]) / n
        by_group[group] = Temperature(float(np.mean(values**2)), float(low), float(high), n)
    return by_group


def configurational_temperature(
    position: Tree,
    gradient: Tree,
    groups: Tree = None,
    *,
    temperature: float = 1.0,
    confidence: float = 0.99,
    factor: float | Mapping[str, float] = 1.0,
) -> dict[str, Temperature]:
    """Mean of position times gradient of U at one step, by group.

    The gradient may be stochastic if its batch was not used to arrive at this position. The band
    is the central limit's for independent coordinates, with the spread seen in them. Weights of a
    network are not independent given data, so it is too narrow for groups that the data determine:
    average over draws and use `temperature_over_draws` there.

    Args:
      position: a tree of arrays, or group -> arrays.
      gradient: of U (not of U/T) at `position`, same structure.
      groups: as for `kinetic_temperature`.
      temperature: that the chain should have.
      confidence: probability that an estimate lies within its band.
      factor: on the temperature, from a finite step; a number or group -> number.

    Example:
      >>> q = np.array([1.0, -1.0, 2.0])
      >>> configurational_temperature(q, 0.5 * q)["all"].estimate
      1.0
    """
    from scipy.special import ndtri  # a dependency of jax

    z = -ndtri(_tail(confidence))
    by_group = {}
    for group, (q, dU) in flatten_groups(groups, position, gradient).items():
        expected, products = _expected(temperature, factor, group), q * dU
        # One coordinate shows no spread: its band is everything.
        spread = products.std(ddof=1) if len(products) > 1 else np.inf
        reach = float(z * spread / np.sqrt(len(products)))
        by_group[group] = Temperature(
            float(products.mean()), expected - reach, expected + reach, len(products)
        )
    return by_group


def temperature_over_draws(
    estimates: Real[np.ndarray, " draws"],
    *,
    temperature: float = 1.0,
    confidence: float = 0.99,
    factor: float = 1.0,
    batches: int = 20,
) -> Temperature:
    """Mean of either temperature over the draws of a chain, with a band by batch means.

    The draws are cut into consecutive batches, whose means are taken for independent normal: true
    when a batch is much longer than the time in which the chain forgets. What is left over at the
    beginning is not used.

    Args:
      estimates: (draws,) one estimate a draw, in order.
      temperature: that the chain should have.
      confidence: probability that the mean lies within its band.
      factor: on the temperature, from a finite step.
      batches: how many, at least 2; as many as there are draws takes the draws for independent.

    Example:
      >>> temperature_over_draws(np.array([0.9, 1.1, 1.0, 1.2]), batches=4).as_expected
      True
    """
    from scipy.special import stdtrit  # a dependency of jax

    check_count("batches", batches, at_least=2)
    series = np.asarray(estimates, np.float64)
    if series.ndim != 1 or len(series) < batches:
        raise UserError(
            f"`estimates` must hold at least as many draws as `batches`, {batches}, "
            f"got shape {series.shape}."
        )
    if not np.isfinite(series).all():
        raise UserError(f"`estimates` must be finite, got {series[~np.isfinite(series)][0]}.")
    used = series[len(series) % batches :]
    means = used.reshape(batches, -1).mean(axis=1)
    expected = _expected(temperature, factor, "all")
    t = -stdtrit(batches - 1, _tail(confidence))
    reach = float(t * means.std(ddof=1) / np.sqrt(batches))
    return Temperature(float(used.mean()), expected - reach, expected + reach, len(used))


def _tail(confidence: float) -> float:
    """Probability on either side of a band."""
    return (1.0 - check_number("confidence", confidence, above=0.0, below=1.0)) / 2.0


def _expected(temperature: float, factor: float | Mapping[str, float], group: str) -> float:
    check_number("temperature", temperature, at_least=0.0)
    if isinstance(factor, Mapping):
        if group not in factor:
            raise UserError(f"`factor` must have every group, got none for {group!r}.")
        factor = factor[group]
    return temperature * check_number("factor", factor, above=0.0)
