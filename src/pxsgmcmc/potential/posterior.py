"""Energies: minus log posterior of a position on a batch, in full-data units, in named parts.

    U(q; B) = -(N / |B|) sum_{i in B} log p(y_i | x_i, W) + prior(q) + factor_prior(q),

W = collapse(q). Temperature 1 is the posterior. By default the prior stands on the base V and a
normal of variance 1/2 around zero on the factors, as in the published runs; that changes the
posterior of W. `exact` puts the prior on W itself and leaves its posterior as it was.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.expansion.position import Expanded, collapse
from pxsgmcmc.potential.priors import Exact, Normal, normal, prior_energies
from pxsgmcmc.tree import widen
from pxsgmcmc.types import Array, Batch, Potential, Tree

LogLikelihood = Callable[[Tree, Batch], Array]  # (params, batch) -> (batch size,)


class EnergyParts(NamedTuple):
    """The parts of an energy, each a scalar; they add up to it."""

    likelihood: Array
    prior: Array
    factor_prior: Array


@dataclass(frozen=True)
class Posterior:
    """The energy of a position on a batch: call it, or read its parts."""

    log_likelihood: LogLikelihood
    data_size: int
    prior: Normal | Exact
    factor_prior: Normal | None

    def __call__(self, position: Tree, batch: Batch) -> Array:
        """U(position; batch)."""
        parts = self.parts(position, batch)
        return parts.likelihood + parts.prior + parts.factor_prior

    def parts(self, position: Tree, batch: Batch) -> EnergyParts:
        """The energy's parts."""
        fit = self._fit(collapse(position), batch)
        return EnergyParts(-self.data_size * jnp.mean(fit), *self._priors(position))

    def difference(self, new: Tree, old: Tree, batch: Batch) -> Array:
        """U(new; batch) - U(old; batch), subtracted datum by datum and coordinate by coordinate."""
        fit = self._fit(collapse(new), batch) - self._fit(collapse(old), batch)
        prior, factor_prior = self._priors(new, old)
        return -self.data_size * jnp.mean(fit) + prior + factor_prior

    def on_all(self, data: Batch, *, chunk_size: int | None = None) -> Callable[[Tree], Array]:
        """The energy on all of `data` as a function of the position, chunk by chunk."""
        count = _length("data", data)
        chunk = count if chunk_size is None else check_count("chunk_size", chunk_size, at_least=1)
        chunk = min(chunk, count)
        whole = count - count % chunk
        chunks = jax.tree.map(lambda x: x[:whole].reshape(-1, chunk, *x.shape[1:]), data)
        rest = jax.tree.map(lambda x: x[whole:], data)

        def energy(position: Tree) -> Array:
            params = collapse(position)

            @jax.checkpoint
            def fit(part: Batch) -> Array:
                return jnp.sum(self._fit(params, part))

            total = jnp.sum(jax.lax.map(fit, chunks))
            if whole < count:
                total = total + fit(rest)
            prior, factor_prior = self._priors(position)
            return -total * (self.data_size / count) + prior + factor_prior

        return energy

    def _fit(self, params: Tree, batch: Batch) -> Array:
        fit, count = widen(self.log_likelihood(params, batch)), _length("batch", batch)
        if fit.shape != (count,):  # a sum or a mean would be scaled by the wrong number, silently
            raise UserError(
                f"`log_likelihood` must give one number per datum, got shape {fit.shape} for "
                f"{count} data."
            )
        return fit

    def _priors(self, position: Tree, old: Tree | None = None) -> tuple[Array, Array]:
        return prior_energies(self.prior, self.factor_prior, position, old)


def _length(name: str, data: Batch) -> int:
    """The leading axis that all leaves of `data` share."""
    lengths = {jnp.shape(leaf)[:1] for leaf in jax.tree.leaves(data)}
    if len(lengths) != 1 or lengths in ({()}, {(0,)}):
        found = ", ".join(str(jnp.shape(leaf)) for leaf in jax.tree.leaves(data)) or "none"
        raise UserError(
            f"`{name}` must hold arrays of one length of at least 1, got shapes {found}."
        )
    return lengths.pop()[0]


def posterior(
    log_likelihood: LogLikelihood,
    *,
    data_size: int,
    prior: Normal | Exact | None = None,
    factor_prior: Normal | Literal["default"] | None = "default",
) -> Posterior:
    """The energy for any log-likelihood you bring.

    Args:
      log_likelihood: (params, batch) -> one number per datum in the batch.
      data_size: N, how many data there are in all.
      prior: `normal(variance)` on the base, or `exact(variance)` on the collapsed weights;
        `normal(1.0)` if not given.
      factor_prior: a `normal`, or None for none; `normal(0.5)` if not given.

    Example:
      >>> U = posterior(lambda q, batch: -0.5 * (batch - q) ** 2, data_size=10)
      >>> [float(part) for part in U.parts(jnp.ones(()), jnp.zeros(2))]
      [5.0, 0.5, 0.0]
    """
    check_count("data_size", data_size, at_least=1)
    prior = normal(1.0) if prior is None else prior
    factor_prior = normal(0.5) if factor_prior == "default" else factor_prior
    if not isinstance(prior, Normal | Exact):
        raise UserError(f"`prior` must be made by `normal` or `exact`, got {prior!r}.")
    if not isinstance(factor_prior, Normal | None):
        raise UserError(f"`factor_prior` must be made by `normal` or None, got {factor_prior!r}.")
    return Posterior(log_likelihood, data_size, prior, factor_prior)


def freeze_factors(potential: Potential) -> Potential:
    """The same energy with no gradient for the factors: a control that moves the base alone.

    Use with `noise=plan.groups(base=1.0, factors=0.0)` so that nothing else moves them either.

    Args:
      potential: energy of (expanded position, batch).
    """

    def frozen(position: Tree, batch: Batch) -> Array:
        if not isinstance(position, Expanded):
            return potential(position, batch)
        factors = jax.lax.stop_gradient(position.factors)
        return potential(dataclasses.replace(position, factors=factors), batch)

    return frozen
