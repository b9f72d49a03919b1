"""Energies: minus log posterior of a position on a batch, in full-data units, in named parts.

    U(q; B) = -(N / |B|) sum_{i in B} log p(y_i | x_i, W) + prior(q) + factor_prior(q),

W = collapse(q). Temperature 1 is the posterior. By default the prior stands on the base V and a
normal of variance 1/2 around zero on the factors, as in the published runs; that changes the
posterior of W. `priors.on_weights` puts the prior on W itself and leaves its posterior as it was.
"""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc.devices import batch_mean
from pxsgmcmc.errors import UserError, check_count, one_line
from pxsgmcmc.expansion.factors import LowRank, as_square, log_abs_det, transpose
from pxsgmcmc.expansion.position import Expanded, collapse
from pxsgmcmc.priors import Normal, OnWeights, Prior, as_prior, normal
from pxsgmcmc.problem import Problem
from pxsgmcmc.tree import broadcast_prefix, widen
from pxsgmcmc.types import Array, Batch, Potential, Tree

LogLikelihood = Callable[[Tree, Batch], Array]  # (params, batch) -> (batch size,)


class EnergyParts(NamedTuple):
    """The parts of an energy, each a scalar; they add up to it."""

    likelihood: Array
    prior: Array
    factor_prior: Array


@dataclass(frozen=True)
class PosteriorPotential:
    """The energy of a position on a batch: call it, or read its parts. Made by `potential`."""

    log_likelihood: LogLikelihood
    data_size: int
    prior: Prior
    factor_prior: Prior | None
    problem: Problem | None = None

    def __call__(self, position: Tree, batch: Batch) -> Array:
        """U(position; batch)."""
        parts = self.parts(position, batch)
        return parts.likelihood + parts.prior + parts.factor_prior

    def parts(self, position: Tree, batch: Batch) -> EnergyParts:
        """The energy's parts."""
        fit = batch_mean(self._fit, collapse(position), batch)
        return EnergyParts(-self.data_size * fit, *self._priors(position))

    def difference(self, new: Tree, old: Tree, batch: Batch) -> Array:
        """U(new; batch) - U(old; batch), subtracted datum by datum and coordinate by coordinate."""

        def gained(pair: tuple[Tree, Tree], batch: Batch) -> Array:
            return self._fit(collapse(pair[0]), batch) - self._fit(collapse(pair[1]), batch)

        fit = batch_mean(gained, (new, old), batch)
        prior, factor_prior = self._priors(new, old)
        return -self.data_size * fit + prior + factor_prior

    def on_all(self, data: Batch, *, chunk_size: int | None = None) -> "FullPotential":
        """The energy on all of `data` as a function of the position, chunk by chunk."""
        count = _length("data", data)
        chunk = count if chunk_size is None else check_count("chunk_size", chunk_size, at_least=1)
        return FullPotential(self, data, count, min(chunk, count))

    def _fit(self, params: Tree, batch: Batch) -> Array:
        fit, count = widen(self.log_likelihood(params, batch)), _length("batch", batch)
        if fit.shape != (count,):  # a sum or a mean would be scaled by the wrong number, silently
            raise UserError(
                f"`log_likelihood` must give one number per datum, got shape {fit.shape} for "
                f"{count} data."
            )
        return fit

    def _priors(self, position: Tree, old: Tree | None = None) -> tuple[Array, Array]:
        """Energies of the prior and of the factor prior, relative to those of `old` if given."""
        base, factors = _base_and_factors(position)
        old_base, old_factors = (None, None) if old is None else _base_and_factors(old)
        if isinstance(self.prior, OnWeights):
            base, old_base = collapse(position), None if old is None else collapse(old)
        energy = self._base_energy(base, old_base)
        if isinstance(self.prior, OnWeights):
            volume = _log_volume(position) - (0.0 if old is None else _log_volume(old))
            energy = energy - self.prior.temperature * volume
        if factors is None or self.factor_prior is None:
            return energy, jnp.zeros_like(energy)
        return energy, self.factor_prior.energy(factors, old_factors)

    def _base_energy(self, base: Tree, old: Tree | None) -> Array:
        """The prior on the network, and the likelihood's own on what it samples besides."""
        if self.problem is None or not self.problem.likelihood.start():
            return self.prior.energy(base, old)
        network, own = self.problem.split(base)
        before, own_before = (None, None) if old is None else self.problem.split(old)
        energy = self.prior.energy(network, before) + self.problem.likelihood.energy(own)
        if own_before is not None:
            energy = energy - self.problem.likelihood.energy(own_before)
        return energy


@dataclass(frozen=True)
class FullPotential:
    """The energy of a position on all the data. Made by `PosteriorPotential.on_all`."""

    potential: PosteriorPotential
    data: Batch
    count: int
    chunk: int

    def __call__(self, position: Tree) -> Array:
        """U(position) on all the data."""
        params = collapse(position)
        fit = self._sum(lambda part: self.potential._fit(params, part))
        return self._energy(fit, self.potential._priors(position))

    def difference(self, new: Tree, old: Tree) -> Array:
        """U(new) - U(old), subtracted datum by datum and coordinate by coordinate."""
        after, before = collapse(new), collapse(old)
        fit = self._sum(
            lambda part: self.potential._fit(after, part) - self.potential._fit(before, part)
        )
        return self._energy(fit, self.potential._priors(new, old))

    def _energy(self, fit: Array, priors: tuple[Array, Array]) -> Array:
        return -fit * (self.potential.data_size / self.count) + priors[0] + priors[1]

    def _sum(self, of_each: Callable[[Batch], Array]) -> Array:
        """The sum over all the data of one number a datum, a chunk in memory at a time."""
        whole = self.count - self.count % self.chunk
        chunks = jax.tree.map(lambda x: x[:whole].reshape(-1, self.chunk, *x.shape[1:]), self.data)
        of_chunk = jax.checkpoint(lambda part: jnp.sum(of_each(part)))
        total = jnp.sum(jax.lax.map(of_chunk, chunks))
        if whole < self.count:
            total = total + of_chunk(jax.tree.map(lambda x: x[whole:], self.data))
        return total


def potential(
    problem: Problem | LogLikelihood,
    *,
    prior: Any = None,
    factor_prior: Any = "default",
    data_size: int | None = None,
) -> PosteriorPotential:
    """The energy of a problem, or of any log-likelihood you bring.

    Args:
      problem: what is fitted to which data; or a function (params, batch) -> one log-likelihood per
        datum in the batch, for things that are no network.
      prior: on the base, from `px.priors`, or a function of the parameters that gives minus a log
        density; `px.priors.on_weights(...)` puts it on the collapsed weights. `normal(1.0)` if not
        given.
      factor_prior: the same for the factors, or None for none; `normal(0.5)` if not given.
      data_size: how many data there are in all; that of the problem's training data unless given.

    Example:
      >>> U = potential(lambda q, batch: -0.5 * (batch - q) ** 2, data_size=10)
      >>> [float(part) for part in U.parts(jnp.ones(()), jnp.zeros(2))]
      [5.0, 0.5, 0.0]
    """
    log_likelihood = problem
    if isinstance(problem, Problem):
        log_likelihood, rows = problem.log_likelihood, len(problem.train.x)
        if data_size not in (None, rows):
            raise UserError(
                f"`data_size` must be the number of training rows, {rows}, got {data_size!r}; "
                "leave it out."
            )
        data_size = rows
    elif not callable(problem):
        raise UserError(
            "`problem` must be a `px.Problem` or a function (params, batch) -> log-likelihoods, "
            f"got {one_line(problem)}."
        )
    if data_size is None:
        raise UserError("`data_size` must say how many data there are for an own log-likelihood.")
    check_count("data_size", data_size, at_least=1)
    return PosteriorPotential(
        log_likelihood,  # pyright: ignore[reportArgumentType]
        data_size,
        normal(1.0) if prior is None else as_prior(prior, "prior"),
        _factor_prior(factor_prior),
        problem if isinstance(problem, Problem) else None,
    )


def _factor_prior(value: Any | Literal["default"] | None) -> Prior | None:
    if value is None:
        return None
    return normal(0.5) if value == "default" else as_prior(value, "factor_prior")


def freeze_factors(potential: Potential) -> Potential:
    """The same energy with no gradient for the factors: a control that moves the base alone.

    Use with `noise=plan.groups(base=1.0, factors=0.0)` so that nothing else moves them either.

    Args:
      potential: energy of (expanded position, batch).

    Example:
      >>> from pxsgmcmc.expansion import expand, plan
      >>> params = {"dense": {"kernel": jnp.ones((2, 2))}}
      >>> position = expand(params, plan(params, out=1))
      >>> def U(q, batch):
      ...     return jnp.sum(collapse(q)["dense"]["kernel"])
      >>> grad = jax.grad(freeze_factors(U))(position, ())
      >>> float(jnp.sum(grad.factors["dense"].out[0])), float(jnp.sum(grad.base["dense"]["kernel"]))
      (0.0, 4.0)
    """

    def frozen(position: Tree, batch: Batch) -> Array:
        if not isinstance(position, Expanded):
            return potential(position, batch)
        factors = jax.lax.stop_gradient(position.factors)
        return potential(dataclasses.replace(position, factors=factors), batch)

    return frozen


def factor_warnings(potential: Any, position: Tree) -> list[str]:
    """A sentence if `on_weights` meets a factor prior that does not keep factors from singular.

    Of I + sqrt(v) G with a standard normal G of width n, almost none has a negative determinant
    while v n is below 1/2, and half of all from v n = 2 on; around zero it is always half. The
    energy of a singular factor is infinite, and steep around it.
    """
    known = isinstance(potential, PosteriorPotential) and isinstance(potential.prior, OnWeights)
    if not (
        known and isinstance(position, Expanded) and isinstance(potential.factor_prior, Normal)
    ):
        return []
    prior = potential.factor_prior
    factors, structure = jax.tree.flatten(position.factors, lambda node: isinstance(node, LowRank))
    likewise = jax.tree.unflatten(structure, list(range(len(factors))))
    variances = jax.tree.leaves(broadcast_prefix(prior.variance, likewise, "factor_prior"))
    dense = [
        (float(v) * len(factor), len(factor), float(v))
        for factor, v in zip(factors, variances, strict=True)
        if not isinstance(factor, LowRank)
    ]
    if not dense:
        return []
    share, width, v = max(dense)
    if prior.at == "identity" and share <= 0.5:
        return []
    where = "around zero" if prior.at == "zero" else f"of variance {v:g} at width {width}"
    return [
        f"`factor_prior` {where} lets many factors be singular or turn their sign, where the "
        "energy of `on_weights` is steep: give "
        f"`px.priors.normal({0.25 / width:.1g}, at='identity')`, a variance well below 1 / {width}."
    ]


def _base_and_factors(position: Tree) -> tuple[Tree, Tree | None]:
    if isinstance(position, Expanded):
        return position.base, position.factors
    return position, None


def _length(name: str, data: Batch) -> int:
    """The leading axis that all leaves of `data` share."""
    lengths = {jnp.shape(leaf)[:1] for leaf in jax.tree.leaves(data)}
    if len(lengths) != 1 or lengths in ({()}, {(0,)}):
        shapes = ", ".join(str(jnp.shape(leaf)) for leaf in jax.tree.leaves(data)) or "none"
        raise UserError(
            f"`{name}` must hold arrays of one length of at least 1, got shapes {shapes}."
        )
    return lengths.pop()[0]


def _log_volume(position: Tree) -> Array:
    """Logarithm of |dW/dV| at fixed factors: each factor counts once per column it multiplies."""
    total = jnp.zeros((), float)
    if not isinstance(position, Expanded):
        return total
    for layer in position.layers:
        factors = position.factors[layer.name]
        for side, width in (("out", layer.out_width), ("into", layer.into_width)):
            if width is None:
                continue
            columns = sum(
                math.prod(leaf.shape) // width for leaf in layer.leaves if getattr(leaf, side)
            )
            own = getattr(factors, side)
            # Wider inside, they count by their product; its order does not matter to |det|.
            own = as_square(own if side == "out" else tuple(map(transpose, own)))
            for factor in own:
                total = total + columns * log_abs_det(factor)
    return total
