"""Adapted HMC on public reference posteriors: means as posteriordb publishes them.

Models, data and means are those of posteriordb (Magnusson et al., github.com/stan-dev/posteriordb),
whose reference draws come from long runs of Stan. Positive parameters are sampled by their
logarithm, rates by their logit. |z| < 5 with the standard errors of both sides: 6e-7 a comparison
for a normal z, perhaps ten times that with estimated effective sizes. `pytest -rP` prints the table
of docs/general_densities.md.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_adapted_targets import mean_and_error

import pxsgmcmc as px

pytestmark = pytest.mark.slow
LIMIT = 5.0


class Reference(NamedTuple):
    """A log density of a vector, functions of it, and their published means and errors."""

    log_density: Any
    dimension: int
    of: Any
    mean: list[float]
    error: list[float]
    leapfrog_steps: int = 10
    acceptance: float = 0.9
    start: Any = 0.0


def rates():
    """Rate_2: 5 and 7 successes of 10 each; in closed form the means are 6/12 and 8/12."""
    successes = np.array([5.0, 7.0])

    def log_density(q):
        return jnp.sum((successes + 1) * q - 12 * jnp.logaddexp(0.0, q))

    return Reference(
        log_density, 2, jax.nn.sigmoid, [0.50204, 0.66451], [0.00138, 0.00129], leapfrog_steps=4
    )


def eight_schools():
    """Noncentred; mu ~ N(0, 5), tau ~ half-Cauchy(5)."""
    effect = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    error = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

    def of(q):
        mu, tau = q[:1], jnp.exp(q[1:2])
        return jnp.concatenate([mu + tau * q[2:], mu, tau])

    def log_density(q):
        tau = jnp.exp(q[1])
        prior = -0.5 * (q[0] / 5) ** 2 - jnp.log1p((tau / 5) ** 2) + q[1]
        prior += -0.5 * jnp.sum(q[2:] ** 2)
        return prior - 0.5 * jnp.sum(((effect - of(q)[:8]) / error) ** 2)

    mean = [6.1505, 4.9396, 3.9059, 4.7960, 3.6144, 4.0511, 6.3172, 4.8840, 4.4105, 3.6021]
    errors = [0.0557, 0.0462, 0.0542, 0.0475, 0.0461, 0.0485, 0.0499, 0.0543, 0.0330, 0.0319]
    return Reference(log_density, 10, of, mean, errors)


PLACES = np.arange(-10.0, 11.0, 2.0)


def kernel(rho, alpha, noise):
    distance = (PLACES[:, None] - PLACES) / rho
    return alpha**2 * jnp.exp(-0.5 * distance**2) + noise * np.eye(len(PLACES))


def log_prior_of_kernel(rho, alpha):
    """rho ~ Gamma(25, 4), alpha ~ half-normal(2), both by their logarithm."""
    return 25 * jnp.log(rho) - 4 * rho - 0.5 * (alpha / 2) ** 2 + jnp.log(alpha)


def poisson_process():
    """Counts with the exponential of a Gaussian process as their rate, noncentred."""
    counts = np.array([40.0, 37, 29, 12, 4, 3, 9, 19, 77, 82, 33])

    def of(q):
        rho, alpha = jnp.exp(q[:2])
        return jnp.concatenate(
            [jnp.exp(q[:2]), jnp.linalg.cholesky(kernel(rho, alpha, 1e-10)) @ q[2:]]
        )

    def log_density(q):
        whole = of(q)
        f = whole[2:]
        prior = log_prior_of_kernel(*whole[:2]) - 0.5 * jnp.sum(q[2:] ** 2)
        return prior + jnp.sum(counts * f - jnp.exp(f))

    mean = [5.66653, 2.92134, 3.63574, 3.68861, 3.25467, 2.40917, 1.56153, 1.29526]
    mean += [1.93120, 3.17961, 4.25292, 4.41510, 3.50682]
    errors = [0.00677, 0.00792, 0.00150, 0.00127, 0.00144, 0.00196, 0.00244, 0.00266]
    errors += [0.00225, 0.00144, 0.00097, 0.00093, 0.00163]
    return Reference(log_density, 13, of, mean, errors, leapfrog_steps=30)


def gaussian_process():
    """Its kernel and the variance of the noise, called sigma there; sigma ~ half-normal(1)."""
    y = [4.75906, 1.59423, 2.99548, 5.27501, 1.66472, 2.24347, 2.8914, 4.08681, 4.60588]
    y = np.array([*y, 0.802364, 3.92136])

    def log_density(q):
        rho, alpha, sigma = jnp.exp(q)
        L = jnp.linalg.cholesky(kernel(rho, alpha, sigma))
        z = jax.scipy.linalg.solve_triangular(L, y, lower=True)
        prior = log_prior_of_kernel(rho, alpha) - 0.5 * sigma**2 + q[2]
        return prior - 0.5 * jnp.sum(z**2) - jnp.sum(jnp.log(jnp.diag(L)))

    return Reference(
        log_density, 3, jnp.exp, [6.87435, 2.44240, 1.82873], [0.01276, 0.00776, 0.00503]
    )


def lynx_and_hare():
    """Lotka and Volterra's equations and 21 years of pelts; four Runge-Kutta steps a year.

    Against forty steps a year the log density changes by less than 0.01 at the means.
    """
    hare = [30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1, 40.3, 57.0, 76.6]
    hare += [52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7]
    lynx = [4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4, 8.0, 12.3, 19.5, 45.7, 51.1]
    lynx += [29.7, 15.8, 9.7, 10.1, 8.6]
    pelts = np.log(np.stack([hare, lynx], axis=1))

    def log_density(q, steps=4):
        a, b, c, d = theta = jnp.exp(q[:4])
        sigma = jnp.exp(q[6:])

        def speed(z):  # of the logarithms
            u, v = jnp.exp(z)
            return jnp.stack([a - b * v, -c + d * u])

        def year(z, _):
            def part(_, z):
                h = 1.0 / steps
                k1 = speed(z)
                k2 = speed(z + h / 2 * k1)
                k3 = speed(z + h / 2 * k2)
                return z + h / 6 * (k1 + 2 * k2 + 2 * k3 + speed(z + h * k3))

            z = jax.lax.fori_loop(0, steps, part, z, unroll=True)
            return z, z

        _, later = jax.lax.scan(year, q[4:6], length=20)
        z = jnp.concatenate([q[None, 4:6], later])
        centre, scale = np.array([1.0, 0.05, 1.0, 0.05]), np.array([0.5, 0.05, 0.5, 0.05])
        prior = -0.5 * jnp.sum(((theta - centre) / scale) ** 2) + jnp.sum(q[:4])
        prior += -0.5 * jnp.sum((q[4:6] - np.log(10.0)) ** 2) - 0.5 * jnp.sum((q[6:] + 1) ** 2)
        misfit = jnp.sum(((pelts - z) / sigma[None]) ** 2)
        return prior - 0.5 * misfit - len(pelts) * jnp.sum(q[6:])

    mean = [0.546864, 0.0277473, 0.800095, 0.0240859, 34.0352, 5.93590, 0.248057, 0.251017]
    errors = [0.000626, 0.0000412, 0.000885, 0.0000350, 0.0293, 0.00534, 0.000439, 0.000440]
    start = np.log([1.0, 0.05, 1.0, 0.05, 30.0, 4.0, 0.5, 0.5])
    return Reference(log_density, 8, jnp.exp, mean, errors, leapfrog_steps=15, start=start)


REFERENCES = {
    "Rate_2": rates,
    "eight_schools_noncentered": eight_schools,
    "gp_pois_regr": poisson_process,
    "gp_regr": gaussian_process,
    "lotka_volterra": lynx_and_hare,
}


def adapted_means(reference):
    sampler = px.hmc(
        px.from_log_density(reference.log_density),
        0.1,
        leapfrog_steps=reference.leapfrog_steps,
        jitter=0.5,
        adapt=px.adaptation(1000, acceptance=reference.acceptance),
    )
    start = reference.start

    def near(key):
        return start + 0.05 * jax.random.normal(key, (reference.dimension,))

    run = px.sample(
        sampler, near, draws=2000, cycle_length=2, burn_in=1000, chains=4, progress=False
    )
    return run, *mean_and_error(run.stacked(reference.of))


@pytest.mark.parametrize("name", REFERENCES)
def test_means_are_those_that_are_published(name, in_float64):
    reference = REFERENCES[name]()
    run, mean, error = adapted_means(reference)
    published, its_error = np.array(reference.mean), np.array(reference.error)
    z = (mean - published) / np.hypot(error, its_error)
    far = np.max(np.abs(mean / published - 1))
    print(
        f"{name}: {len(z)} means, acceptance {run.acceptance.mean():.2f}, largest |z| "
        f"{np.abs(z).max():.1f}, largest relative difference {far:.1%}"
    )
    assert run.acceptance.mean() == pytest.approx(reference.acceptance, abs=0.06)
    assert np.all(np.abs(z) < LIMIT), z
    if name == "Rate_2":  # known in closed form
        assert np.all(np.abs(mean - np.array([6, 8]) / 12) < LIMIT * error)


def test_four_steps_a_year_are_enough(in_float64):
    of = lynx_and_hare()
    q = np.log(of.mean)
    coarse, fine = (float(of.log_density(q, steps=steps)) for steps in (4, 40))
    assert abs(coarse - fine) < 0.01
