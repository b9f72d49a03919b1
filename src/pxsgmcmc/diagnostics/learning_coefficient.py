"""The local learning coefficient: how fast the loss rises around weights, in singular models too.

With n rows, mean loss L and draws of a posterior around w* at temperature 1 / β,

    λ = n β (E[L(w)] - L(w*))

In a regular model it is half the number of parameters; where the loss is flat along curves or
surfaces it is less. The estimate is that of Lau, Furman, Wang, Murfet and Wei (2023), which follows
Watanabe's WBIC at β = 1 / log n.
"""

from typing import Any, NamedTuple

import numpy as np

from pxsgmcmc.errors import UserError, check_count, check_number


class LearningCoefficient(NamedTuple):
    """An estimate of the local learning coefficient.

    Attributes:
      value: the estimate.
      standard_error: of it, from means over stretches of the chains; what chains that are caught in
        different places disagree about is in it, what all of them miss is not.
      loss: mean of the loss over draws.
      loss_at_weights: at the weights around which was sampled.
      beta: inverse temperature.
      rows: how many data the mean loss is over.
      draws: how many went in.
    """

    value: float
    standard_error: float
    loss: float
    loss_at_weights: float
    beta: float
    rows: int
    draws: int

    def __repr__(self) -> str:
        """A line."""
        return (
            f"LearningCoefficient({self.value:.3g} ± {self.standard_error:.2g}, {self.draws} draws "
            f"at temperature {1.0 / self.beta:.3g})"
        )


def learning_coefficient(
    losses: Any, loss_at_weights: float, *, rows: int, temperature: float
) -> LearningCoefficient:
    """The estimate from losses of draws.

    Args:
      losses: mean loss over all rows of each draw, (chains, draws), at least 4 draws a chain.
      loss_at_weights: the same of the weights around which was sampled.
      rows: how many data the mean is over.
      temperature: of the sampled posterior of all rows, 1 / β.

    Example:
      >>> losses = 1.0 + np.random.default_rng(0).gamma(3.0, 0.01, (4, 500))  # 3 a hundredth
      >>> found = learning_coefficient(losses, 1.0, rows=100, temperature=1.0)
      >>> abs(found.value - 3.0) < 5 * found.standard_error
      True
    """
    values = np.asarray(losses, np.float64)
    if values.ndim != 2 or values.shape[1] < 4 or not np.isfinite(values).all():
        raise UserError(
            "`losses` must be finite, (chains, draws) with at least 4 draws a chain, got shape "
            f"{values.shape}."
        )
    check_count("rows", rows, at_least=1)
    check_number("temperature", temperature, above=0.0)
    beta = 1.0 / temperature
    scale = rows * beta
    return LearningCoefficient(
        value=float(scale * (values.mean() - loss_at_weights)),
        standard_error=float(scale * _standard_error(values)),
        loss=float(values.mean()),
        loss_at_weights=float(loss_at_weights),
        beta=beta,
        rows=rows,
        draws=values.size,
    )


def _standard_error(values: np.ndarray) -> float:
    """Of the mean of all, from the means of stretches of about the root of a chain's length."""
    chains, draws = values.shape
    length = max(1, int(np.sqrt(draws)))
    count = draws // length
    means = values[:, draws - count * length :].reshape(chains * count, length).mean(axis=1)
    return float(means.std(ddof=1) / np.sqrt(len(means)))


def reduced_rank_coefficient(inputs: int, outputs: int, hidden: int, rank: int) -> float:
    """The learning coefficient of y = B A x + noise, known in closed form.

    Args:
      inputs: length of x.
      outputs: length of y.
      hidden: rows of A, columns of B.
      rank: of the true B A.

    Example: with a true map of full rank the model is regular up to its symmetry.
      >>> reduced_rank_coefficient(3, 3, 3, 3), reduced_rank_coefficient(2, 2, 2, 0)
      (4.5, 1.5)

    Reference:
      Aoyagi and Watanabe, Stochastic complexities of reduced rank regression in Bayesian
      estimation, Neural Networks, 2005.
    """
    for name, count in {"inputs": inputs, "outputs": outputs, "hidden": hidden}.items():
        check_count(name, count, at_least=1)
    check_count("rank", rank)
    M, N, H, r = inputs, outputs, hidden, rank
    if r > min(M, N, H):
        raise UserError(f"`rank` must be at most {min(M, N, H)}, the smallest size, got {rank}.")
    if N + r <= M + H and M + r <= N + H and H + r <= M + N:
        s = H + r
        squares = 2 * s * (M + N) + 2 * M * N - s * s - M * M - N * N
        return (squares + (M + N + H + r) % 2) / 8.0
    if M + H < N + r:
        return (H * M - H * r + N * r) / 2.0
    if N + H < M + r:
        return (H * N - H * r + M * r) / 2.0
    return M * N / 2.0
