"""`python -m pxsgmcmc.cli.one_chain FOLDER NUMBER`: one of several chains, as its own process."""

import sys
from pathlib import Path

from pxsgmcmc import cli
from pxsgmcmc.cli.compiled import remember_compilations
from pxsgmcmc.cli.run import run_one
from pxsgmcmc.config import read_config
from pxsgmcmc.store.layout import CONFIG, chain_folder


def main(folder: str, number: str) -> int:
    """Run or resume the chain; the exit code is that of `pxsgmcmc run`."""
    remember_compilations()
    config, chain = read_config(Path(folder) / CONFIG), int(number)
    place = chain_folder(Path(folder), chain)
    return run_one(config, place, chain=chain, resume=True, progress="plain")


if __name__ == "__main__":
    sys.exit(cli.guarded(lambda: main(*sys.argv[1:])))
