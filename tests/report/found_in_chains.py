"""Plausible diagnostics, made up."""

import numpy as np

from pxsgmcmc.results import (
    Connection,
    Connectivity,
    ConvergenceResult,
    Diagnostics,
    DistancesResult,
    Extremes,
    GroupTemperature,
    PlaneResult,
    SpectraResult,
    Subject,
    TemperaturesResult,
    Verdict,
)


def made_up_diagnostics(random: np.random.Generator, subject: Subject, draws: int) -> Diagnostics:
    """Of a chain that moves, but has not settled."""
    d = 20 + random.normal(size=draws - 1)
    heat = GroupTemperature(value=1.01, expected=1.0, low=0.95, high=1.05)
    hot = GroupTemperature(value=1.4, expected=1.0, low=0.9, high=1.1)
    at = np.linspace(0, 1, 11)
    x, y = np.linspace(-5, 25, 21), np.linspace(-5, 22, 21)
    bowl = np.minimum.reduce(
        [(x[None] - a) ** 2 + (y[:, None] - b) ** 2 for a, b in ((0, 0), (20, 0), (10, 17))]
    )
    return Diagnostics(
        subject=subject,
        distances=DistancesResult(d=[d.tolist()], d_bar=[[*(d / 21).tolist()[:-1], None]]),
        spectra=_spectra(random, 9, draws),
        factors=_spectra(random, 16, 1),
        connectivity=Connectivity(
            rows=1000,
            lines=[
                Connection(
                    first=i,
                    second=i + 1,
                    at=at.tolist(),
                    error=(0.02 + random.uniform(0.1, 0.4) * np.sin(np.pi * at) ** 2).tolist(),
                    barrier=0.25,
                )
                for i in range(1, 13)
            ],
        ),
        plane=PlaneResult(
            draws=(1, 10, 20),
            points=[(0.0, 0.0), (20.0, 0.0), (10.0, 17.0)],
            x=x.tolist(),
            y=y.tolist(),
            error=(0.01 + 0.85 * (1 - np.exp(-bowl / 60))).tolist(),
        ),
        convergence=ConvergenceResult(
            chains=1,
            draws=draws,
            energy={"r_hat": 1.04, "ess_bulk": 15.2, "ess_tail": 18.0},
            worst={"r_hat": 1.31, "ess_bulk": 5.1, "ess_tail": 8.8},
            median={"r_hat": 1.01, "ess_bulk": 18.2, "ess_tail": 19.5},
            quantities=1000,
        ),
        temperatures=TemperaturesResult(
            kinetic={"base": heat, "factors": heat}, configurational={"base": hot}
        ),
        verdict=Verdict(
            healthy=False,
            headline="not healthy: T[base] 1.4, energy R-hat 1.04",
            warnings=["The worst R-hat is 1.31."],
        ),
    )


def _spectra(random: np.random.Generator, layers: int, draws: int) -> SpectraResult:
    def extremes() -> Extremes:
        low = 0.05 * np.exp(random.normal() * 0.6 + 0.05 * random.normal(size=draws))
        high = 3.0 * np.exp(random.normal() * 0.3 + 0.05 * random.normal(size=draws))
        return Extremes(
            largest=high.tolist(), smallest=low.tolist(), condition=(high / low).tolist()
        )

    return SpectraResult(layers={f"stage_{i}/conv": extremes() for i in range(layers)})
