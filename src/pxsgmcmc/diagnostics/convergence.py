"""Whether chains have come together: R-hat, and effective sample size computed by arviz-stats.

Weights of a network can be permuted without changing what it computes, so chains are compared where
it matters: in function space, by the probabilities they predict, and by their energy. R-hat is the
rank-normalised, split one; bulk and tail effective sample sizes are those of the same paper
(Vehtari et al., 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pxsgmcmc.diagnostics._r_hat import r_hat
from pxsgmcmc.errors import UserError, check_count

if TYPE_CHECKING:
    from jaxtyping import Float, Real
    from xarray import DataTree

LEVELS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


class Convergence(NamedTuple):
    """Diagnostics of many quantities; NaN for one that never changes."""

    r_hat: Float[np.ndarray, "*quantities"]
    ess_bulk: Float[np.ndarray, "*quantities"]
    ess_tail: Float[np.ndarray, "*quantities"]  # the smaller of those of the 5% and 95% quantiles


class ConvergenceSummary(NamedTuple):
    """The worst, the median and the quantiles over quantities; NaN if none of them changes."""

    worst: dict[str, float]  # largest "r_hat", smallest "ess_bulk" and "ess_tail"
    median: dict[str, float]
    levels: tuple[float, ...]
    quantiles: dict[str, Float[np.ndarray, " levels"]]  # at `levels`
    quantities: int  # looked at
    constant: int  # left out because they never change


def convergence(values: Real[np.ndarray, "chains draws *quantities"]) -> Convergence:
    """R-hat and effective sample sizes of each quantity.

    One chain is cut into two halves for R-hat, which then says whether it has settled; only several
    chains can say whether they have found the same place.

    Args:
      values: (chains, draws, ...) with at least 4 draws a chain, 8 if there is one chain. The
        energy is (chains, draws).

    Example:
      >>> energy = np.random.default_rng(0).normal(size=(4, 100))
      >>> bool(convergence(energy).r_hat < 1.05)
      True
    """
    stats = _import("arviz_stats.base").array_stats
    values = _check_chains("values", values)
    chains, draws, *quantities = values.shape
    columns = values.reshape(chains, draws, -1)
    moving = (columns != columns[:1, :1]).any(axis=(0, 1))
    compared = columns[..., moving]
    axes = {"chain_axis": 0, "draw_axis": 1}
    diagnostics = np.full((3, columns.shape[-1]), np.nan)
    if moving.any():
        # The verdict on a run asks the same function, so that both have the same number.
        diagnostics[0, moving] = r_hat(compared)
        with np.errstate(divide="ignore", invalid="ignore"):
            diagnostics[1, moving] = stats.ess(compared, method="bulk", **axes)
            diagnostics[2, moving] = stats.ess(compared, method="tail", prob=(0.05, 0.95), **axes)
    return Convergence(*(statistic.reshape(quantities) for statistic in diagnostics))


def function_space_convergence(
    probabilities: Real[np.ndarray, "chains draws data classes"], most: int | None = 2000
) -> ConvergenceSummary:
    """Summary over data and classes of the convergence of predicted probabilities.

    Args:
      probabilities: (chains, draws, data, classes).
      most: look at no more than about this many (row, class) pairs, on evenly spaced rows, at
        2 to 3 ms each; None for all.

    Example:
      >>> p = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 50, 5))
      >>> function_space_convergence(p).quantities
      15
    """
    p = np.asarray(probabilities)
    if p.ndim != 4:
        raise UserError(
            f"`probabilities` must have axes (chains, draws, data, classes), got shape {p.shape}."
        )
    _, _, data, classes = p.shape
    if most is not None:
        rows = max(1, check_count("most", most, at_least=1) // max(1, classes))
        if rows < data:
            p = p[:, :, np.linspace(0, data - 1, rows).round().astype(int)]
    return summarise(convergence(p))


def summarise(statistics: Convergence) -> ConvergenceSummary:
    """Worst, median and quantiles over the quantities that change.

    Example:
      >>> ones = np.ones(3)
      >>> summarise(Convergence(ones, 100 * ones, 90 * ones)).worst["ess_tail"]
      90.0
    """
    columns = {name: np.ravel(getattr(statistics, name)) for name in Convergence._fields}
    constant = int(np.isnan(columns["ess_bulk"]).sum())
    quantiles = {name: _quantiles(values) for name, values in columns.items()}
    worst = {name: float(q[-1 if name == "r_hat" else 0]) for name, q in quantiles.items()}
    median = {name: float(q[LEVELS.index(0.5)]) for name, q in quantiles.items()}
    return ConvergenceSummary(worst, median, LEVELS, quantiles, columns["r_hat"].size, constant)


def _quantiles(values: np.ndarray) -> np.ndarray:
    """Quantiles at `LEVELS` of what is not NaN."""
    known = values[~np.isnan(values)]
    if not known.size:
        return np.full(len(LEVELS), np.nan)
    # One of the values is taken, since between two infinite ones there is none.
    return np.quantile(known, LEVELS, method="nearest")


def to_datatree(
    posterior: Mapping[str, Any],
    *,
    energy: Real[np.ndarray, "chains draws"] | None = None,
    log_likelihood: Real[np.ndarray, "chains draws data"] | None = None,
    predictions: Real[np.ndarray, "chains draws data classes"] | None = None,
    acceptance: Real[np.ndarray, "chains draws"] | None = None,
    posterior_predictive: Real[np.ndarray, "chains draws data ..."] | None = None,
    observed: Real[np.ndarray, "data ..."] | None = None,
) -> DataTree:
    """Draws as an ArviZ DataTree, for ArviZ's own plots and summaries.

    Args:
      posterior: name -> (chains, draws, ...); a "/" in a name becomes ".".
      energy: (chains, draws), kept as `sample_stats`.
      log_likelihood: (chains, draws, data) of the labels.
      predictions: (chains, draws, data, classes) probabilities.
      acceptance: (chains, draws), kept as `sample_stats`.
      posterior_predictive: (chains, draws, data, ...) labels or targets drawn from what is
        predicted.
      observed: (data, ...) the labels or targets themselves.

    Example:
      >>> tree = to_datatree({"bias": np.zeros((2, 5, 3))}, energy=np.zeros((2, 5)))
      >>> tree["posterior"]["bias"].dims[:2]
      ('chain', 'draw')
    """
    from_dict = _import("arviz_base").from_dict
    given = {
        "posterior": dict(posterior),
        "sample_stats": {"energy": energy, "acceptance_rate": acceptance},
        "log_likelihood": {"y": log_likelihood},
        "posterior_predictive": {"y": posterior_predictive},
        "predictions": {"p": predictions},
    }
    groups = {
        group: {
            # A slash would make the name a path in a DataTree.
            name.replace("/", "."): np.asarray(values)
            for name, values in arrays.items()
            if values is not None
        }
        for group, arrays in given.items()
    }
    groups = {group: arrays for group, arrays in groups.items() if arrays}
    if "posterior" not in groups:
        raise UserError("`posterior` must hold at least one named array, got none.")
    shapes = {
        f"{group} {name}": array.shape
        for group, arrays in groups.items()
        for name, array in arrays.items()
    }
    if len({shape[:2] for shape in shapes.values()}) > 1 or len(min(shapes.values(), key=len)) < 2:
        raise UserError(
            f"Every array must begin with the same axes (chains, draws), got shapes {shapes}."
        )
    if observed is not None:
        groups["observed_data"] = {"y": np.asarray(observed)}
    axes = 1 if observed is None else np.ndim(observed)
    more = [f"target_dim_{i}" for i in range(axes - 1)]
    return from_dict(
        groups,
        dims=None if "y" in groups["posterior"] else {"y": ["data", *more]},
        pred_dims={"p": ["data", "class"]},
    )


def _check_chains(name: str, values: Any) -> np.ndarray:
    array = np.asarray(values, np.float64)
    if array.ndim < 2 or not array.size:
        raise UserError(
            f"`{name}` must be non-empty with axes (chains, draws, ...), got shape {array.shape}."
        )
    chains, draws = array.shape[:2]
    needed = 8 if chains == 1 else 4
    if draws < needed:
        raise UserError(
            f"`{name}` must have at least {needed} draws a chain for R-hat of {chains} chain(s), "
            f"got {draws}."
        )
    if not np.isfinite(array).all():
        raise UserError(f"`{name}` must be finite, got {array[~np.isfinite(array)][0]}.")
    return array


def _import(module: str) -> Any:
    """A module of the extra `diag`, which most users can do without."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise UserError(
            "Convergence diagnostics need the extra `diag`; run pip install 'pxsgmcmc[diag]'."
        ) from None
