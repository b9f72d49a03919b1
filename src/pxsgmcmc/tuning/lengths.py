"""How long a run is to be, from how long its chains remember and the time there is."""

import math

from pxsgmcmc.chain.collection import Collection

SHORTEST, LONGEST = 20, 5000  # steps between draws
SPACING = 2.5  # memories between draws: energies still repeat themselves by half after one
BURN_IN = 6  # cycles, after the steps that led to the settings
SETTLING = 0.25  # share of the steps that are burn-in at least, where time cuts them short
# At most a sixth is lost by rounding.
ROUND = (10, 11, 12, 14, 16, 18, 20, 22, 25, 28, 30, 35, 40, 45, 50, 60, 70, 80, 90)
USED = 0.9  # share of the time that is left that chains are given


def run_lengths(memory: float, draws: int, *, step_seconds: float, seconds: float) -> Collection:
    """Cycles that forget what they began with, or as long as there is time.

    Lengths follow from what was measured, so they depend on the speed of the machine only where
    time cuts them short.

    Args:
      memory: steps in which the softest direction is forgotten.
      draws: of each chain.
      step_seconds: that a step of all chains takes.
      seconds: that are left for steps.
    """
    cycle = round(min(LONGEST, max(SHORTEST, SPACING * memory)))
    burn_in = BURN_IN * cycle
    affordable = USED * max(0.0, seconds) / max(step_seconds, 1e-7)
    if burn_in + draws * cycle > affordable:
        # Draws that are less apart do less harm than chains that have not settled.
        burn_in = round_number(min(burn_in, SETTLING * affordable))
        cycle = round_number(min(cycle, (affordable - burn_in) / draws))
    return Collection(draws, cycle, burn_in)


def round_number(value: float) -> int:
    """The largest of 10, 11, 12, 14, ... 80, 90, 100, 110, 120, 140, ... that is not above it.

    Below 10, the whole number that is not above; 1 at least.
    """
    if value < 10.0:
        return max(1, int(value))
    scale = 10 ** (math.floor(math.log10(value)) - 1)
    return max(unit * scale for unit in ROUND if unit * scale <= value)
