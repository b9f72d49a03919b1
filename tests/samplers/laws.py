"""Exact stationary laws of the discretised samplers on U(q) = lam q^2 / 2, and the tests for them.

All are functions of the step size h, so a comparison has Monte-Carlo error and nothing else: no
"small enough step". v is the variance of the noise on the gradient. Arguments may be arrays.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# Chance that a correct sampler fails one comparison with |z| < 4.5: 6.8e-6 for a Gaussian z. With
# about 1,800 comparisons a seed, a false alarm is expected for 1 seed in 80. Cases of one run
# share their normals, so alarms come in clusters, and the more seldom.
LIMIT = 4.5


class Law(NamedTuple):
    """A centred Gaussian law of (position, momentum); samplers without momentum leave it 0."""

    position: Any
    momentum: Any = 0.0
    covariance: Any = 0.0


def sgld_law(*, lam, h, T, v=0.0, mass=1.0) -> Law:
    """Law of `q <- q - h (lam q + noise) / M + sqrt(2 h T / M) z`; needs h lam < 2 M."""
    return Law((T + h * v / (2 * mass)) / (lam * (1 - h * lam / (2 * mass))))


def sghmc_law(*, lam, h, g, T, v=0.0, mass=1.0) -> Law:
    """Law of momentum first, then position with the new momentum; needs `dent` below positive."""
    hot = T + h * v / (2 * g * mass)
    dent = 1 - h * g / 2 - h**2 * lam / (4 * mass)
    position = hot / lam * (1 - h * g / 2) / dent
    return Law(position, mass * hot / dent, h * hot / dent / 2)


def sgrhmc_law(*, lam, h, g, T, p, v=0.0, mass=1.0) -> Law:
    """SGHMC in the coordinate q / p, with friction p^2 g and curvature p^2 lam."""
    law = sghmc_law(lam=p**2 * lam, h=h, g=p**2 * g, T=T, v=p**2 * v, mass=mass)
    return Law(p**2 * law.position, law.momentum, p * law.covariance)


def l2e_law(*, lam, h, k, a, s, T, v=0.0) -> Law:
    """Law of L2E with alpha = 0 and beta = k r, as its docstring has it."""
    H = T * s / h + h * v / (2 * a)
    D = 1 - h * a * k / 2 - h**2 * lam * k / 4
    return Law(H / lam * (1 - h * a * k / 2) / D, H / (k * D), h * H / (2 * D))


def explicit_euler_law(*, lam, h, g, T) -> Law:
    """What SGHMC would have if the position moved with the old momentum: our samplers do not."""
    a = 1 - h * g
    lost = (1 - a**2) - h**2 * lam * (1 + 3 * a) / 2 - h**4 * lam**2 / 2
    momentum = 2 * h * g * T / lost
    position = momentum / lam * (1 - h * g / 2 + h**2 * lam / 2)
    return Law(position, momentum, -h * momentum / 2)


def stationary_covariance(A: np.ndarray, BB: np.ndarray) -> np.ndarray:
    """The S that solves S = A S A' + BB', by writing it as one linear system."""
    n = len(A)
    return np.linalg.solve(np.eye(n * n) - np.kron(A, A), BB.ravel()).reshape(n, n)


def sghmc_recursion(*, lam, h, g, T, v=0.0, mass=1.0) -> tuple[np.ndarray, np.ndarray]:
    """Matrices A and BB' of one SGHMC step on (position, momentum)."""
    kick = np.array([[1.0, 0.0], [-h * lam, 1 - h * g]])
    drift = np.array([[1.0, h / mass], [0.0, 1.0]])
    noise = np.array([[0.0, 0.0], [0.0, 2 * h * g * T * mass + h**2 * v]])
    return drift @ kick, drift @ noise @ drift.T


def z_scores(law: Law, q: np.ndarray, m: np.ndarray | None = None) -> dict[str, Any]:
    """How many standard errors the moments of independent chains (last axis) are off `law`.

    The errors are exact for Gaussian chains of known mean zero: with n chains the mean square has
    variance 2 S^2 / n, the mean product (Sq Sm + C^2) / n and the mean S / n.
    """
    n = q.shape[-1]
    q = np.asarray(q, float)

    def of_square(x, variance):
        return (np.mean(x**2, -1) / variance - 1) * np.sqrt(n / 2)

    scores = {
        "mean position": np.mean(q, -1) * np.sqrt(n / law.position),
        "var position": of_square(q, law.position),
    }
    if m is not None:
        m = np.asarray(m, float)
        spread = np.sqrt((law.position * law.momentum + law.covariance**2) / n)
        scores["mean momentum"] = np.mean(m, -1) * np.sqrt(n / law.momentum)
        scores["var momentum"] = of_square(m, law.momentum)
        scores["cov"] = (np.mean(q * m, -1) - law.covariance) / spread
    return scores


def z_of_mean(values: np.ndarray, expected: float) -> float:
    """How many standard errors the mean of independent values is off `expected`.

    The error is the sample's own, so z is Student's t; with 200 values or more |z| >= 4.5 happens
    with a chance below 1.2e-5 when the values are near Gaussian.
    """
    values = np.asarray(values, float).ravel()
    return (values.mean() - expected) / (values.std(ddof=1) / np.sqrt(values.size))


def misses(cases: dict[str, np.ndarray], scores: dict[str, np.ndarray]) -> list[str]:
    """The cases that are off by more than the limit, in words."""
    return [
        " ".join(f"{name}={column[index]:g}" for name, column in cases.items())
        + f": {what} off by {z[index]:.1f} standard errors"
        for what, z in scores.items()
        for index in np.flatnonzero(~(np.abs(z) < LIMIT))
    ]


def thermostat_root(*, lam, h, A, T, v=0.0, mass=1.0) -> float:
    """Where SGNHT's thermostat settles with many coordinates of curvatures `lam`: m^2 / M is T."""
    lam = np.asarray(lam, float)

    def heat(x):
        return np.mean(sghmc_law(lam=lam, h=h, g=x, T=A * T / x, v=v, mass=mass).momentum) / mass

    return friction_that_cools(heat, T, most=1.0 / h)


def friction_that_cools(heat: Callable[[float], float], T: float, *, most: float) -> float:
    """The friction below `most` at which `heat`, which falls with it, is T."""
    cold, hot = most, 1e-6
    for _ in range(100):
        middle = (cold + hot) / 2
        cold, hot = (cold, middle) if heat(middle) > T else (middle, hot)
    return (cold + hot) / 2


def sgnht_law(*, lam, h, A, T, v=0.0, mass=1.0) -> Law:
    """The law of one coordinate of curvature `lam` when there are many: SGHMC at the root."""
    x = thermostat_root(lam=lam, h=h, A=A, T=T, v=v, mass=mass)
    return sghmc_law(lam=np.asarray(lam, float), h=h, g=x, T=A * T / x, v=v, mass=mass)


def symmetric_recursion(*, lam, h, x, A, T, v=0.0, mass=1.0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Matrices A and BB' of SGNHT's symmetric step with its thermostat at x, in two parts.

    The first part ends before friction and noise, the second with the step.
    """
    kick = np.array([[1.0, 0.0], [-h * lam, 1.0]])
    half = np.array([[1.0, h / (2 * mass)], [0.0, 1.0]])
    damp = np.diag([1.0, np.exp(-h * x)])
    heat = np.diag([0.0, A * T * mass * -np.expm1(-2 * h * x) / x])
    shaken = half @ np.diag([0.0, h**2 * v]) @ half.T
    return [(half @ kick, shaken), (half @ damp, half @ heat @ half.T)]


def symmetric_law(*, lam, h, x, A, T, v=0.0, mass=1.0) -> tuple[Law, float]:
    """The law at the end of a symmetric step, and the heat that its thermostat sees."""
    (first, noise), (second, push) = symmetric_recursion(
        lam=lam, h=h, x=x, A=A, T=T, v=v, mass=mass
    )
    S = stationary_covariance(second @ first, second @ noise @ second.T + push)
    middle = first @ S @ first.T + noise
    return Law(S[0, 0], S[1, 1], S[0, 1]), (middle[1, 1] + S[1, 1]) / (2 * mass)


def symmetric_sgnht_law(*, lam, h, A, T, v=0.0, mass=1.0) -> tuple[Law, float]:
    """As `sgnht_law` for the symmetric integrator and one curvature, and the thermostat's place.

    Without noise on the gradient it is T / lam, T M and h T / 2 at every stable h, at x = A.
    """
    setting = dict(lam=lam, h=h, A=A, T=T, v=v, mass=mass)
    x = friction_that_cools(lambda x: symmetric_law(**setting, x=x)[1], T, most=3.0 / h)
    return symmetric_law(**setting, x=x)[0], x
