"""A likelihood of the user's own: any function of outputs and targets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc import notebook
from pxsgmcmc.errors import UserError
from pxsgmcmc.likelihoods._mixture_prediction import MixtureCollector
from pxsgmcmc.metrics._densities import DensitySums, measure_density_windows
from pxsgmcmc.metrics._windows import Windows
from pxsgmcmc.tree import widen
from pxsgmcmc.types import Array, Tree


def custom(
    log_prob: Callable[[Array, Array], Array],
    *,
    outputs: int | None = None,
    name: str = "custom",
) -> "CustomLikelihood":
    """A likelihood from a function.

    What draws predict is the mean of their outputs and its spread; NLL (the log of the averaged
    density) is measured from the function. Anything else is yours to make from `outputs`.

    Args:
      log_prob: (outputs, targets) -> (batch,), in JAX; differentiable in the outputs.
      outputs: how many numbers the network gives for each input; as many as there are if None.
      name: for tables.

    Example:
      >>> likelihood = custom(lambda z, y: -jnp.abs(z - y)[:, 0], name="absolute error")
      >>> float(likelihood.log_prob(jnp.zeros((1, 1)), jnp.ones((1, 1)))[0])
      -1.0
    """
    if not callable(log_prob):
        raise UserError(f"`log_prob` must be a function of outputs and targets, got {log_prob!r}.")
    return CustomLikelihood(log_prob, outputs, name)


class OutputPrediction(NamedTuple):
    """What draws of a network give, without knowing what it means."""

    outputs: np.ndarray  # (draws, data, numbers)
    mean: np.ndarray  # (data, numbers)
    std: np.ndarray  # (data, numbers), between draws
    draws: int

    def __repr__(self) -> str:
        """A line, not all the numbers."""
        rows, numbers = self.mean.shape
        return (
            f"OutputPrediction({rows} rows, {numbers} output{'s' * (numbers > 1)}, {self.draws} "
            f"draws; mean standard deviation between draws {self.std.mean():.3g})"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the first output of the first rows."""
        rows, numbers = self.mean.shape
        cells = [
            (str(i), f"{m:.4g}", f"{s:.4g}")
            for i, (m, s) in enumerate(zip(self.mean[:5, 0], self.std[:5, 0], strict=True))
        ]
        text = f"{rows} rows, {numbers} outputs, {self.draws} draws; of the first output"
        return notebook.table("OutputPrediction", text, ("row", "mean", "std"), cells)


@dataclass(frozen=True)
class CustomLikelihood:
    """Made by `custom`. A row of the distribution is the outputs themselves."""

    function: Callable[[Array, Array], Array]
    count: int | None
    name: str
    task = "custom"
    headline = ("nll", "ind")

    def outputs(self, targets: int) -> int:
        """As many as were said."""
        return targets if self.count is None else self.count

    def start(self) -> Mapping[str, Array]:
        """Nothing is sampled besides the network."""
        return {}

    def energy(self, own: Tree) -> Array:
        """Nothing."""
        del own
        return jnp.zeros((), float)

    def check_targets(self, y: Any, names: tuple[str, ...], where: str) -> np.ndarray:
        """Any array of numbers."""
        array = np.asarray(y)
        if array.dtype == object or array.ndim == 0:
            raise UserError(f"`{where}` must be an array of numbers, got {type(y).__name__}.")
        return array.astype(np.float32) if array.dtype == np.float64 else array

    def distribution(self, outputs: Array, own: Tree, targets: int) -> Array:
        """The outputs, with all axes after the first laid end to end."""
        del own, targets
        flat = outputs.reshape(outputs.shape[0], -1)
        if self.count is not None and flat.shape[1] != self.count:
            raise UserError(
                f"`apply` must give {self.count} outputs for each input, got {outputs.shape}."
            )
        return widen(flat)

    def log_prob(self, distribution: Array, y: Array) -> Array:
        """What the function says, (batch,)."""
        log_probs = widen(jnp.asarray(self.function(distribution, y)))
        if log_probs.shape != (distribution.shape[0],):
            raise UserError(
                f"`log_prob` must give one number per datum, got shape {log_probs.shape} for "
                f"{distribution.shape[0]} data."
            )
        return log_probs

    def collector(self, rows: int) -> MixtureCollector:
        """Keeps every draw's outputs."""
        return MixtureCollector(rows, _predicted)

    def average(self, distributions: Array, levels: tuple[float, ...]) -> dict[str, Array]:
        """Mean and standard deviation of the outputs between draws."""
        del levels
        return {"mean": jnp.mean(distributions, axis=0), "std": jnp.std(distributions, axis=0)}

    def _log_densities(self, distributions: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(draws, rows)."""
        each = jax.jit(self.log_prob)
        return np.stack([np.asarray(each(draw, y)) for draw in np.asarray(distributions)])

    def sums(self, distributions: np.ndarray, y: np.ndarray) -> DensitySums:
        """NLL of the averaged density, and that of single draws."""
        return DensitySums.of(self._log_densities(distributions, y))

    def measure_windows(
        self, distributions: np.ndarray, y: np.ndarray, names: tuple[str, ...], windows: Windows
    ) -> dict[str, np.ndarray]:
        """Name -> (windows,)."""
        return measure_density_windows(self._log_densities(distributions, y), names, windows)

    def uncertainty(self, distributions: np.ndarray) -> np.ndarray:
        """Standard deviation of the outputs between draws, averaged over outputs."""
        return np.asarray(distributions, np.float64).std(axis=0).mean(axis=-1)

    def followed(self, distributions: np.ndarray) -> np.ndarray:
        """The outputs."""
        return np.asarray(distributions, np.float64)

    def error(self, distribution: np.ndarray, y: np.ndarray) -> float:
        """Mean negative log-probability."""
        return float(-np.mean(self._log_densities(distribution[None], y)))


def _predicted(kept: np.ndarray) -> Any:
    wide = kept.astype(np.float64)
    return OutputPrediction(kept, wide.mean(axis=0), wide.std(axis=0), len(kept))
