"""A run as arrays with axes (chains, draws): what its index says, and functions of its draws."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.run.journals import by_chain
from pxsgmcmc.types import Tree

if TYPE_CHECKING:
    from xarray import DataTree


class RunArrays:
    """What `Run` gives as arrays; chains are cut to the shortest, so that rows have one length."""

    chains: Any
    index: Any
    draws_of: Callable[[int], Iterator[Tree]]

    @property
    def energies(self) -> np.ndarray:
        """The energy reported at each draw, (chains, draws)."""
        return by_chain(self, "energy")

    @property
    def steps(self) -> np.ndarray:
        """The steps taken at each draw, (chains, draws)."""
        return by_chain(self, "step").astype(int)

    @property
    def acceptance(self) -> np.ndarray:
        """The mean acceptance since the draw before, (chains, draws); NaN without a test."""
        return by_chain(self, "acceptance")

    def stacked(self, of: Callable[[Tree], Any] | None = None) -> Tree:
        """All draws in memory at once, each array with the axes (chains, draws, ...).

        Args:
          of: a function of one draw, of which the values are stacked instead: a part of the
            parameters, a prediction, constrained values.

        Example: `run.stacked(lambda params: params["logits"]["bias"]).mean((0, 1))`
        """
        shortest = self.energies.shape[1]
        if not shortest:
            raise UserError("There must be a draw in every chain, and one has none yet.")
        function = (lambda params: params) if of is None else jax.jit(of)
        rows = [
            [
                jax.tree.map(np.asarray, function(params))
                for _, params in zip(range(shortest), self.draws_of(chain), strict=False)
            ]
            for chain in range(self.chains)
        ]
        chains = [jax.tree.map(lambda *draws: np.stack(draws), *row) for row in rows]
        return jax.tree.map(lambda *each: np.stack(each), *chains)

    def to_arviz(
        self,
        names: str | None = None,
        rows: int = 50,
        *,
        functions: Mapping[str, Callable[[Tree], Any]] | None = None,
        train_rows: int | None = None,
        seed: int = 0,
    ) -> "DataTree":
        """As an ArviZ DataTree, for ArviZ's summaries, `loo` and plots; needs the extra `diag`.

        Args:
          names: pattern of the parameters to keep, such as "head/*"; all of them unless functions
            are given.
          rows: test rows, evenly spaced, whose predictions are kept; 0 for none.
          functions: name -> function of one draw, kept as `posterior` too.
          train_rows: training rows, evenly spaced, whose log-likelihood, posterior predictive draws
            and targets are kept; None for all, which `arviz_stats.loo` needs for a total; 0 for
            none.
          seed: of the posterior predictive draws.
        """
        from pxsgmcmc.evaluate.datatree import run_to_datatree

        return run_to_datatree(
            self,  # pyright: ignore[reportArgumentType]
            names,
            rows,
            functions=functions,
            train_rows=train_rows,
            seed=seed,
        )
