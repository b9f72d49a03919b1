"""Exact moments of a linear recursion driven by the noise of shuffled epochs, by brute force."""

import numpy as np


def mean_moments(A: np.ndarray, B: np.ndarray, variance: float, batches: int) -> np.ndarray:
    """E x x' averaged over the steps of an epoch, for x <- A x + B n.

    The noises n of an epoch have this variance each and add up to zero; epochs are independent.
    """
    n = len(A)
    whole = np.full((batches, batches), -variance / (batches - 1))
    np.fill_diagonal(whole, variance)
    powers = [np.linalg.matrix_power(A, j) for j in range(batches + 1)]

    def response(j: int) -> np.ndarray:
        """Of x after j steps to the noises of the epoch, (n, batches)."""
        columns = [powers[j - 1 - i] @ B if i < j else np.zeros((n, 1)) for i in range(batches)]
        return np.concatenate(columns, axis=1)

    last = response(batches) @ whole @ response(batches).T
    over = np.kron(powers[batches], powers[batches])
    start = np.linalg.solve(np.eye(n * n) - over, last.ravel()).reshape(n, n)
    each = [
        powers[j] @ start @ powers[j].T + response(j) @ whole @ response(j).T
        for j in range(1, batches + 1)
    ]
    return np.mean(each, axis=0)
