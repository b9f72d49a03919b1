"""What a predictor of fewer draws or of rounded weights loses, measured on held-out rows."""

from typing import Any

import numpy as np

from pxsgmcmc.metrics.agreement import agreement, total_variation
from pxsgmcmc.problem import Problem


def measured_loss(
    problem: Problem, split: str, all_rows: np.ndarray, kept_rows: np.ndarray
) -> dict[str, Any]:
    """NLL of both, and how far their predictions agree.

    Args:
      problem: with the targets of the split.
      split: "test" or "validation".
      all_rows: what all draws of the run say, (draws, rows, numbers).
      kept_rows: what the draws of the predictor say, as they are stored.

    Returns:
      nll_of_run, nll_of_predictor, and for classes the share of rows with the same most probable
      class (agreement) and half the mean absolute difference of probabilities (total_variation);
      for numbers the mean difference of means in standard deviations (mean_difference).
    """
    likelihood, y = problem.likelihood, getattr(problem, split).y
    before, after = (likelihood.sums(rows, y).metrics()["nll"] for rows in (all_rows, kept_rows))
    loss: dict[str, Any] = {
        "split": split,
        "rows": len(y),
        "nll_of_run": float(before),
        "nll_of_predictor": float(after),
    }
    if likelihood.task == "classification":
        p, q = (likelihood.followed(rows).mean(axis=0) for rows in (kept_rows, all_rows))
        return {**loss, "agreement": agreement(p, q), "total_variation": total_variation(p, q)}
    if likelihood.task == "regression":
        kept, full = (_finished(problem, rows) for rows in (kept_rows, all_rows))
        difference = np.abs(kept.mean - full.mean) / full.std
        return {**loss, "mean_difference": float(np.mean(difference))}
    return loss


def _finished(problem: Problem, rows: np.ndarray) -> Any:
    collector = problem.likelihood.collector(rows.shape[1])
    for draw in rows:
        collector.add(slice(0, len(draw)), draw)
    return collector.finish(len(rows))


def described(loss: dict[str, Any]) -> str:
    """The loss in one line.

    Example:
      >>> described({"split": "test", "rows": 9, "nll_of_run": 0.1, "nll_of_predictor": 0.1125})
      'NLL 0.1125 instead of 0.1000 on 9 test rows'
    """
    text = (
        f"NLL {loss['nll_of_predictor']:.4f} instead of {loss['nll_of_run']:.4f} on {loss['rows']} "
        f"{loss['split']} rows"
    )
    if "agreement" in loss:
        text += (
            f"; the same class for {loss['agreement']:.1%} of them".replace("%", " %")
            + f", probabilities differ by {loss['total_variation']:#.4g}"
        )
    if "mean_difference" in loss:
        text += f"; means differ by {loss['mean_difference']:#.3g} standard deviations"
    return text
