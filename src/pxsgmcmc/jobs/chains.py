"""Several chains of one configuration as jobs: a process each, so that none can touch another."""

import os
from pathlib import Path

from msgspec.structs import replace

from pxsgmcmc.config import Config, parse_config, write_config
from pxsgmcmc.config.automatic import measure_config, taken_over
from pxsgmcmc.errors import UserError
from pxsgmcmc.jobs.job import Job
from pxsgmcmc.store import open_run
from pxsgmcmc.store.chains import CHAINS, create_chains, read_chains_config
from pxsgmcmc.store.layout import CONFIG, MANIFEST, chain_folder, chain_folders


def chain_jobs(
    config: Config, folder: Path, *, resume: bool, accept_changes: bool = False
) -> list[Job]:
    """The chains of a configuration, a job each; see `begin_chains`.

    Args:
      config: what to run.
      folder: of all chains.
      resume: go on with the chains in it, if there are any.
      accept_changes: go on although data or surroundings are not as the chains began.
    """
    if config.chain.executor == "vmap":
        raise UserError(
            "`chain.executor` must not be 'vmap' where each chain is a job of its own: leave it "
            "out, or start the chains by `pxsgmcmc run`."
        )
    config, text = begin_chains(config, folder, resume=resume)
    return [
        Job(
            text,
            str(chain_folder(folder, number)),
            f"chain {number}",
            chain=number,
            draws=config.chain.draws,
            accept_changes=accept_changes,
        )
        for number in range(config.chains)
    ]


def begin_chains(config: Config, folder: Path, *, resume: bool) -> tuple[Config, str]:
    """Make the folder of the chains, or see that the one there holds the same ones.

    Args:
      config: what to run. When the chains have begun, it may ask for more draws than they began
        with and for another [evaluate], which changes no draw.
      folder: of all chains.
      resume: go on with the chains in it, if there are any.

    Returns:
      What to run, measured where it said "auto", and the text of it that the folder keeps.
    """
    if os.path.lexists(folder / CHAINS):
        if not resume:
            raise UserError(
                f"`{folder}` already holds a run: go on with it (`--resume`), or choose another "
                "directory with --out."
            )
        text = read_chains_config(folder)
        begun = parse_config(text, name=f"{folder}/{CONFIG}")
        config = taken_over(config, begun)
        chain = replace(begun.chain, draws=config.chain.draws)
        if replace(begun, evaluate=config.evaluate, chain=chain) != config:
            raise UserError(
                f"`{folder}` holds a run with other settings: choose another directory."
            )
    else:
        config = measure_config(config)  # once for all chains, before the first of them begins
        text = write_config(config)
    create_chains(folder, config.chains, text)
    return config, text


def with_asked_draws(config: Config, folder: Path) -> Config:
    """The configuration of a run with the draws it was last asked for: it may have been extended.

    Args:
      config: as the run keeps it.
      folder: of the run, or of several chains.
    """
    counts = [config.chain.draws]
    for place in chain_folders(folder) or [folder]:
        if (place / MANIFEST).exists():
            counts.append(open_run(place).manifest["progress"].get("draws", 0))
    return replace(config, chain=replace(config.chain, draws=max(counts)))
