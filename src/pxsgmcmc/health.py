"""Should one believe a run? Every threshold and every sentence about it, in one place.

`sample`, `pxsgmcmc show`, `diagnose`, the report and the notebook all ask `judge`, each with the
evidence it has, so that no two of them can give opposite advice.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pxsgmcmc.results import Verdict

WARM = 0.1  # share by which a kinetic temperature may be off
HOT = 0.5  # share from which draws are of another distribution
CONFIGURATIONAL_OFF = 0.3  # share by which a configurational temperature may be off
R_HAT = 1.1  # above it, parts of the chains disagree
R_HAT_FALSE_ALARM = 0.01  # share of runs of independent draws that may be called unsettled
ESS_SHARE = 0.2  # below it, draws repeat each other
D_BAR = 0.05  # below it, draws hardly differ
CONDITION = 1e4  # above it, a factor is nearly singular


@dataclass(frozen=True)
class Heat:
    """A temperature, what it should be, and how far chance alone would take it."""

    value: float
    expected: float
    chance: float = 0.0  # three standard errors, as a share of `expected`

    def off(self, share: float) -> bool:
        """Whether it is further off than this share, and than chance."""
        return abs(self.value / self.expected - 1.0) > max(share, self.chance)

    def __str__(self) -> str:
        """Such as "8.8, where 1 is expected"."""
        return f"{self.value:.3g}, where {self.expected:.3g} is expected"


@dataclass(frozen=True)
class Evidence:
    """What is known of a run; whatever is left out is not judged.

    Attributes:
      status: "running", "interrupted", "done" or "diverged".
      divergence: what was said when it diverged, even if it was set back and went on.
      setbacks: how often it was.
      changes: what was changed on the way, as "another prior after 12 draws".
      step_size_factor: what is left of the step size after these.
      chains: how many.
      draws: of each chain.
      kinetic: group -> mean over the last cycle.
      configurational: group -> at the last state.
      energy_r_hat: NaN if the energy never changes.
      energy_ends: mean over the first and over the last third of the draws.
      prediction_r_hat: the median over what is predicted.
      effective_draws: of a typical prediction.
      moved: median distance between consecutive draws.
      d_bar: the same relative to the length of a draw.
      singular_factors: names of nearly singular factors.
      factors: how many there are.
      found_settings: whether the chains found step size, friction and lengths themselves, as those
        of `px.fit` and of estimators do, so that nobody can be told to change them.
      cut_short: whether `max_seconds` made such chains shorter than they were to be.
    """

    status: str = "done"
    divergence: str = ""
    setbacks: int = 0
    changes: tuple[str, ...] = ()
    step_size_factor: float = 1.0
    chains: int = 1
    draws: int = 0
    kinetic: Mapping[str, Heat] = field(default_factory=dict)
    configurational: Mapping[str, Heat] = field(default_factory=dict)
    energy_r_hat: float | None = None
    energy_ends: tuple[float, float] | None = None
    prediction_r_hat: float | None = None
    effective_draws: float | None = None
    moved: float | None = None
    d_bar: float | None = None
    singular_factors: tuple[str, ...] = ()
    factors: int = 0
    found_settings: bool = False
    cut_short: bool = False

    @property
    def hot(self) -> bool:
        """Whether a kinetic temperature is above what it should be."""
        return any(heat.value > heat.expected and heat.off(WARM) for heat in self.kinetic.values())


def judge(evidence: Evidence) -> Verdict:
    """A verdict: a sentence, and a warning with its remedy for each thing that is wrong.

    Example:
      >>> judge(Evidence(draws=20, kinetic={"base": Heat(8.8, 1.0)})).healthy
      False
      >>> judge(Evidence(draws=20, kinetic={"base": Heat(1.02, 1.0)}, energy_r_hat=1.01)).headline
      'healthy: T[base] 1.02, energy R-hat 1.01'
    """
    warnings = list(_warnings(evidence))
    if warnings:
        return Verdict(
            healthy=False, headline=_headline("not healthy", evidence), warnings=warnings
        )
    r_hats = [r for r in (evidence.energy_r_hat, evidence.prediction_r_hat) if r is not None]
    if evidence.status in ("running", "interrupted"):
        return Verdict(healthy=None, headline=_headline("not finished", evidence))
    if not r_hats:
        fewest = fewest_draws(evidence.chains)
        why = f"too few draws to say whether it has settled ({evidence.draws} of {fewest})"
        if evidence.draws >= fewest:
            why = "nothing known about whether it has settled"
        return Verdict(healthy=None, headline=_headline(why, evidence))
    if max(r_hats) > R_HAT:
        limit = highest_r_hat(evidence.chains, evidence.draws)
        why = f"too few draws to say whether it has settled (R-hat is up to {limit:.3g} by chance)"
        return Verdict(healthy=None, headline=_headline(why, evidence))
    return Verdict(healthy=True, headline=_headline("healthy", evidence))


def _headline(word: str, evidence: Evidence) -> str:
    parts = [f"T[{group}] {heat.value:.3g}" for group, heat in evidence.kinetic.items()]
    if evidence.energy_r_hat is not None:
        parts.append(f"energy R-hat {_number(evidence.energy_r_hat)}")
    if evidence.prediction_r_hat is not None:
        parts.append(f"median R-hat of predictions {_number(evidence.prediction_r_hat)}")
    parts += [f"went on with {change}" for change in evidence.changes]
    if evidence.setbacks:
        parts.append(f"set back {evidence.setbacks} time{'s' * (evidence.setbacks > 1)}")
    return f"{word}: {', '.join(parts)}" if parts else word


def another(what: str) -> str:
    """What is not as it was when a run began, in words.

    Example:
      >>> another("prior"), another("training data"), another("JAX's matmul precision")
      ('another prior', 'other training data', 'another matmul precision of JAX')
    """
    name = what.removeprefix("JAX's ")
    if name != what:
        return f"another {name} of JAX"
    return f"other {what}" if what.endswith("data") else f"another {what}"


def _number(value: float) -> str:
    return "undefined" if math.isnan(value) else "infinite" if math.isinf(value) else f"{value:.3g}"


def _energy(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.4g}"


def _longer(e: Evidence, by_hand: str) -> str:
    """What to do about chains that are too short: `by_hand` unless they found their settings."""
    if not e.found_settings:
        return by_hand
    if e.cut_short:
        return "give a larger `max_seconds`, which cut the chains short"
    return "ask for more `draws`"


def _anew(e: Evidence, by_hand: str) -> str:
    """What to do about steps that are too long: `by_hand` unless they found their settings."""
    return "begin anew with another seed" if e.found_settings else by_hand


def _warnings(e: Evidence) -> Iterator[str]:
    if e.status == "diverged":
        yield f"It diverged: {e.divergence}"
    elif e.setbacks:
        yield (
            f"It diverged and was set back {e.setbacks} time{'s' * (e.setbacks > 1)}, and went on "
            f"with {e.step_size_factor:g} of the step size: {_anew(e, 'start anew with that')}."
        )
    yield from _kinetic_warnings(e)
    yield from _configurational_warnings(e)
    yield from _convergence_warnings(e)
    yield from _distance_warnings(e)
    if e.singular_factors:
        remedy = _anew(e, "raise the friction of the factors, or lower the variance of their prior")
        yield (
            f"{len(e.singular_factors)} of {e.factors} factors are nearly singular "
            f"({e.singular_factors[0]} first), so some directions of the weights cannot move: "
            f"{remedy}."
        )


def _kinetic_warnings(e: Evidence) -> Iterator[str]:
    for group, heat in e.kinetic.items():
        if not heat.off(WARM):
            continue
        if heat.value > heat.expected:
            what = (
                "so these are not draws from the posterior"
                if heat.off(HOT)
                else "so the draws scatter more than the posterior"
            )
            remedy = _anew(e, "lower `step_size`, or raise `friction` or `batch_size`")
            if _still_falls(e):
                longer = _longer(e, "raise `burn_in`")
                remedy = f"its energy still falls, so {longer}; if it stays warm, {remedy}"
        else:
            what = "so the momentum has not warmed up"
            remedy = _longer(e, "run longer, or raise `friction`")
        yield (
            f"The kinetic temperature of {group} over the last cycle is {heat}, {what}: {remedy}."
        )


def _still_falls(e: Evidence) -> bool:
    """Whether the chain comes down from its start, which warms it at any step size."""
    if e.energy_r_hat is None or e.energy_ends is None:
        return False
    early, late = e.energy_ends
    return early > late and e.energy_r_hat > highest_r_hat(e.chains, e.draws)


def _configurational_warnings(e: Evidence) -> Iterator[str]:
    for group, heat in e.configurational.items():
        if not heat.off(CONFIGURATIONAL_OFF):
            continue
        if heat.value < heat.expected:
            longer = _longer(e, "run longer")
            why = f"the weights have not spread out as far as the posterior does: {longer}"
        elif e.hot:
            why = "which comes of the kinetic temperature"
        else:
            longer = _longer(e, "leave out early draws, or run longer")
            why = f"the weights are still on their way: {longer}"
        yield f"The configurational temperature of {group} is {heat}; {why}."


def _convergence_warnings(e: Evidence) -> Iterator[str]:
    who = "the chains disagree" if e.chains > 1 else "its halves disagree"
    limit = highest_r_hat(e.chains, e.draws)
    remedy = _longer(e, "leave out early draws (`skip`), raise `burn_in`, or run longer")
    if e.energy_r_hat is not None and math.isnan(e.energy_r_hat):
        yield "The energy never changes: the chain stands still, or the energy is not reported."
    elif e.energy_r_hat is not None and e.energy_r_hat > limit:
        ends = ""
        if e.energy_ends is not None:
            early, late = map(_energy, e.energy_ends)
            ends = f" ({early} early, {late} late)"
        yield (
            f"The energy has not settled: R-hat is {_number(e.energy_r_hat)} and {who}{ends}; "
            f"{remedy}."
        )
    if e.prediction_r_hat is not None and e.prediction_r_hat > limit:
        yield (
            f"Predictions have not settled: half of the R-hats are above "
            f"{_number(e.prediction_r_hat)} and {who}; {remedy}."
        )
    total = e.chains * e.draws
    if e.effective_draws is not None and e.effective_draws < ESS_SHARE * total:
        yield (
            f"The {total} draws are worth about {e.effective_draws:.0f} independent ones for a "
            f"typical prediction: {_longer(e, 'put more steps between draws (`cycle_length`)')}."
        )


def fewest_draws(chains: int) -> int:
    """Of each chain, to say whether it has settled: several chains also judge each other."""
    return 10 if chains == 1 else 4


def highest_r_hat(chains: int, draws: int) -> float:
    """The R-hat above which parts of the chains disagree, and not by chance.

    Of halves of n independent draws each, R-hat squared is (n - 1 + F) / n, with F of an F
    distribution: of few draws it passes 1.1 often. It is the larger of two such numbers. The same
    limit holds for the median over predictions, which may all follow one direction of the weights;
    where they follow many, their median passes it less often.

    Example:
      >>> round(highest_r_hat(1, 20), 3), highest_r_hat(4, 100)
      (1.386, 1.1)
    """
    from scipy.special import fdtri

    halves, n = 2 * chains, draws // 2
    if n < 2:
        return math.inf
    F = float(fdtri(halves - 1, halves * (n - 1), 1.0 - R_HAT_FALSE_ALARM / 2.0))
    return max(R_HAT, math.sqrt((n - 1 + F) / n))


def _distance_warnings(e: Evidence) -> Iterator[str]:
    if e.moved == 0.0:
        yield "The chain does not move: consecutive draws are the same."
    elif e.d_bar is not None and e.d_bar < D_BAR:
        step = "" if e.hot else "raise `step_size`, or "
        remedy = _longer(e, f"{step}put more steps between draws (`cycle_length`)")
        yield (
            f"Consecutive draws are only {e.d_bar:.2g} of their length apart (independent ones: "
            f"1.4): {remedy}."
        )
