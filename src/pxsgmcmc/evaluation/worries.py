"""What in the diagnostics of a run gives reason to worry, in sentences with a remedy."""

from collections.abc import Iterator
from statistics import fmean, median

from pxsgmcmc.results import (
    Convergence,
    Diagnostics,
    Distances,
    GroupTemperature,
    Spectra,
    Temperatures,
)

R_HAT = 1.1  # above it, parts of the chains disagree
ESS_SHARE = 0.2  # below it, draws repeat each other
D_BAR = 0.05  # below it, draws hardly differ
CONDITION = 1e4  # above it, a factor is nearly singular
KINETIC_OFF, CONFIGURATIONAL_OFF = 0.1, 0.3  # shares of what is expected


def worries(found: Diagnostics) -> list[str]:
    """Sentences, the gravest first; none if nothing looks wrong."""
    return [
        *_temperature_worries(found.temperatures),
        *_convergence_worries(found.convergence),
        *_distance_worries(found.distances),
        *_factor_worries(found.factors),
    ]


def _temperature_worries(found: object) -> Iterator[str]:
    if not isinstance(found, Temperatures):
        return
    for group, t in found.kinetic.items():
        if _far(t, KINETIC_OFF):
            hot = t.value > t.expected
            why = (
                "gradient noise heats the chain: lower `step_size`, raise `friction` or "
                "`batch_size`"
                if hot
                else "the momentum has not warmed up yet: run longer"
            )
            yield f"The kinetic temperature of {group} is {_against(t)}; {why}."
    for group, t in found.configurational.items():
        if _far(t, CONFIGURATIONAL_OFF):
            why = (
                "the weights are still on their way, or `step_size` is too large"
                if t.value > t.expected
                else "the weights have not spread out as far as the posterior does: run longer"
            )
            yield f"The configurational temperature of {group} is {_against(t)}; {why}."


def _far(t: GroupTemperature, share: float) -> bool:
    """Outside its band, and by enough to matter: over many coordinates bands are very narrow."""
    return not t.low <= t.value <= t.high and abs(t.value - t.expected) > share * t.expected


def _against(t: GroupTemperature) -> str:
    return f"{t.value:.3g}, where {t.expected:.3g} is expected ({t.low:.3g} to {t.high:.3g})"


def _convergence_worries(found: object) -> Iterator[str]:
    if not isinstance(found, Convergence):
        return
    who = "the chains disagree" if found.chains > 1 else "its halves disagree"
    energy = found.energy.get("r_hat", 1.0)
    if energy is None or energy > R_HAT:
        yield (
            f"The energy has not settled: R-hat is {_number(energy)} and {who}; leave out early "
            "draws, or run longer."
        )
    typical = found.median.get("r_hat", 1.0)
    if typical is not None and typical > R_HAT:
        yield (
            f"Predictions have not settled: half of the R-hats are above {typical:.3g} and {who}; "
            "leave out early draws, or run longer."
        )
    draws, worth = found.chains * found.draws, found.median.get("ess_bulk")
    if worth is not None and worth < ESS_SHARE * draws:
        yield (
            f"The {draws} draws are worth about {worth:.0f} independent ones for a typical "
            "prediction: put more steps between draws."
        )


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.3g}"


def _distance_worries(found: object) -> Iterator[str]:
    if not isinstance(found, Distances):
        return
    moved = median(d for chain in found.d for d in chain)
    shares = [d for chain in found.d_bar for d in chain if d is not None]
    if moved == 0.0:
        yield "The chain does not move: consecutive draws are the same."
    elif shares and fmean(shares) < D_BAR:
        yield (
            f"Consecutive draws are only {fmean(shares):.2g} of their length apart (independent "
            "ones: 1.4): raise `step_size`, or put more steps between draws."
        )


def _factor_worries(found: object) -> Iterator[str]:
    if not isinstance(found, Spectra):
        return
    numbers = {name: extremes.condition for name, extremes in found.layers.items()}
    bad = [name for name, c in numbers.items() if any(x is None or x > CONDITION for x in c)]
    if bad:
        yield (
            f"{len(bad)} of {len(numbers)} factors are nearly singular ({bad[0]} first): raise the "
            "friction of the factors, or lower `prior.factor_variance`."
        )
