"""How long a run is to be, from how long its chains remember and the time there is."""

from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.errors import UserError
from pxsgmcmc.tuning.recommend import Recommendation

SHORTEST_CYCLE, LONGEST_CYCLE = 100, 2000  # steps between draws, if there is time
FEWEST_STEPS = 10  # between draws, if there is not
BURN_IN = 10  # cycles
SETTLING = 0.5  # share of the steps that are burn-in at least, where time cuts them short
USED = 0.8  # share of the time that is left that chains are given


def run_lengths(
    found: Recommendation, draws: int, *, step_seconds: float, seconds: float, max_seconds: float
) -> Collection:
    """Burn-in and cycles that forget the softest direction, or as long as there is time.

    Args:
      found: settings, with the autocorrelation times they bring.
      draws: of each chain.
      step_seconds: that a step of all chains takes.
      seconds: that are left for steps.
      max_seconds: that there were in all.
    """
    cycle = min(LONGEST_CYCLE, max(SHORTEST_CYCLE, 2.0 * _memory(found)))
    burn_in = BURN_IN * cycle
    affordable = USED * seconds / max(step_seconds, 1e-7)
    check_time(seconds if affordable >= FEWEST_STEPS * draws else 0.0, max_seconds)
    # Where time is short, draws that are less apart do less harm than chains that have not settled.
    burn_in = min(burn_in, max(SETTLING, burn_in / (burn_in + draws * cycle)) * affordable)
    cycle = min(cycle, max(FEWEST_STEPS, (affordable - burn_in) / draws))
    return Collection(draws, round_number(cycle), round_number(burn_in))


def check_time(left: float, max_seconds: float) -> None:
    """Raise `UserError` if no time is left."""
    if left <= 0.0:
        raise UserError(
            "`max_seconds` must leave time to sample after the settings are found, got "
            f"{max_seconds:g}; try {max(30.0, 3.0 * max_seconds):.0f}, or fewer chains."
        )


def _memory(found: Recommendation) -> float:
    """Steps in which the softest direction that anything holds is forgotten."""
    times = [time for pair in found.prediction.autocorrelation.values() for time in pair]
    return max((time for time in times if time < float("inf")), default=100.0)


def round_number(value: float) -> int:
    """The largest of 1, 2, 3, 5, 7, 10, 20, 30, ... that is not above."""
    rounded = 1
    for number in (
        scale * unit for scale in (10**k for k in range(10)) for unit in (1, 2, 3, 5, 7)
    ):
        rounded = number if number <= value else rounded
    return rounded
