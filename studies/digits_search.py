"""Search step size, friction and prior variance of SGHMC and PX-SGHMC on the validation digits.

    python studies/digits_search.py [--workers 2]

Chains are as long as those of the bundled configurations; each is scored by the NLL of the average
of all its draws on the 297 validation rows. `pxsgmcmc.tuning.best_first` says how settings are
tried: both methods get the same grid, the same rule and the same number of chains. Every outcome is
kept in digits_search.json at once, and a search that was stopped goes on from it.
"""

import argparse
import json
import sys
from pathlib import Path

from pxsgmcmc import cli
from pxsgmcmc.cli.compiled import remember_compilations
from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.jobs import Local
from pxsgmcmc.tuning.best_first import Axis, Rules
from pxsgmcmc.tuning.search import Book, Study, search

ROOT = Path(__file__).parents[1]
OUTCOME = ROOT / "studies" / "digits_search.json"
COARSE = (-2, 0, 2)  # factors 1/4, 1 and 4

# Axes are named by the flag of `pxsgmcmc run`. The grids are centred on the published friction and
# between the first values that were seen to work for the one and the other method.
STEP_SIZE = Axis("sampler.step_size.peak", 1e-3, COARSE, stride=1)
VARIANCE = Axis("prior.variance", 0.2, COARSE, stride=1)

DIGITS = Study(
    configs={"SGHMC": "digits/sghmc", "PX-SGHMC": "digits/px_sghmc"},
    rules=Rules(
        axes={
            "SGHMC": [STEP_SIZE, VARIANCE, Axis("sampler.friction", 100.0, COARSE, stride=2)],
            "PX-SGHMC": [
                STEP_SIZE,
                VARIANCE,
                Axis("sampler.friction.base", 100.0, COARSE, stride=2),
                Axis("sampler.friction.factors", 1.0, (0,), stride=2),
            ],
        },
        seeds=(1000, 1001, 1002),  # not those of the runs that are reported
        most=100,
    ),
    load=load_config,
    # The kept search had no burn-in. Of an evaluation the score needs the validation rows alone.
    base=(
        *("--chain.start", "random", "--chain.burn_in", "0", "--chain.cycle_length", "200"),
        *("--evaluate.corruptions", "false", "--evaluate.shifts", "[]"),
        *("--evaluate.out_of_distribution", "[]"),
    ),
)


def main() -> int:
    """Search, or go on with it."""
    parser = argparse.ArgumentParser(description="Search the settings of both methods.")
    parser.add_argument("--workers", type=int, default=2, help="processes, one thread each")
    parser.add_argument("--out", type=Path, default=OUTCOME, help="file of outcomes")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "digits_search")
    arguments = parser.parse_args()
    remember_compilations()
    book = Book(DIGITS, arguments.out)
    stopped_by = search(book, Local(max(1, arguments.workers)), arguments.runs)
    book.save()
    print(json.dumps(book.chosen(), indent=1))
    if stopped_by is None:
        print("The search is over.")
        return 0
    print("The search is not over; the same command goes on.")
    return 128 + stopped_by


if __name__ == "__main__":
    sys.exit(cli.guarded(main))
