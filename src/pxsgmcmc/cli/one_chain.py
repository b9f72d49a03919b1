"""`python -m pxsgmcmc.cli.one_chain FOLDER NUMBER`: one of several chains, as its own process."""

import sys
from pathlib import Path

from pxsgmcmc import cli
from pxsgmcmc.config import read_config


def run_one(folder: str, chain: str) -> int:
    """Run or resume the chain; the exit code is that of `pxsgmcmc run`."""
    from pxsgmcmc.chain.parallel import CONFIG
    from pxsgmcmc.experiment import run_chain

    place = Path(folder)
    samples = run_chain(
        read_config(place / CONFIG),
        place / f"chain-{int(chain):04}",
        chain=int(chain),
        resume=True,
        progress="plain",
    )
    return 0 if samples.stopped_by is None else 128 + samples.stopped_by


if __name__ == "__main__":
    sys.exit(cli.guarded(lambda: run_one(*sys.argv[1:])))
