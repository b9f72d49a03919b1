"""The commands `pxsgmcmc run` and `pxsgmcmc resume`."""

from pathlib import Path
from typing import Annotated

import tyro

from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.config import Config, parse_config, read_config, write_config
from pxsgmcmc.errors import UserError
from pxsgmcmc.store.layout import MANIFEST


def run(
    config: Annotated[str, tyro.conf.arg(metavar="CONFIG")],
    out: Annotated[str | None, tyro.conf.arg(metavar="DIR")] = None,
    resume: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    settings: Annotated[list[str], tyro.conf.Suppress] = [],  # noqa: B006 - never changed
) -> int:
    """Run a configuration: sample, keep draws, survive.

    pxsgmcmc run digits/px_sghmc
    pxsgmcmc run my.toml --out runs/mine --seed 1
    pxsgmcmc run my.toml --chain.draws 10 --sampler.temperature 0.1 --chains 4

    Any setting of the configuration can be given as --section.key value; `pxsgmcmc config check`
    prints them all. Ctrl-C or SIGTERM stops after the current chunk with everything saved, and
    `pxsgmcmc resume` goes on as if nothing had happened.

    Args:
      config: a TOML file, or the name of a bundled configuration.
      out: run directory to make; runs/NAME if not given.
      resume: go on with the run in it, if there is one.
      settings: flags over the configuration.
    """
    chosen = load_config(config, settings)
    folder = Path(out) if out is not None else Path("runs") / Path(config).stem
    if (folder / MANIFEST).exists() and not resume:
        raise UserError(
            f"`{folder}` already holds a run: go on with --resume, or choose another directory "
            "with --out."
        )
    if chosen.chains > 1:
        return _many(chosen, folder, resume)
    return _one(chosen, folder, chain=0, resume=resume)


def resume(directory: Annotated[str, tyro.conf.arg(metavar="DIR")]) -> int:
    """Go on with a run that was stopped, killed or lost its machine.

    pxsgmcmc resume runs/mine

    The draws are those the run would have made without the stop, bit for bit.

    Args:
      directory: of the run, as given to `pxsgmcmc run --out`.
    """
    from pxsgmcmc.chain.parallel import CONFIG, chain_folders
    from pxsgmcmc.store import open_run

    folder = Path(directory)
    if chain_folders(folder):
        return _many(read_config(folder / CONFIG), folder, resume=True)
    stored = open_run(folder)
    config = parse_config(stored.config, name=f"{folder}/config.toml")
    return _one(config, folder, chain=stored.manifest["origin"]["chain"], resume=True)


def _one(config: Config, folder: Path, chain: int, resume: bool) -> int:
    from pxsgmcmc.experiment import run_chain

    samples = run_chain(config, folder, chain=chain, resume=resume)
    if samples.stopped_by is not None:
        print(
            f"Stopped with {len(samples)} of {config.chain.draws} draws kept; go on with:\n"
            f"  pxsgmcmc resume {folder}"
        )
        return 128 + samples.stopped_by
    print(f"{len(samples)} draws in {folder}")
    return 0


def _many(config: Config, folder: Path, resume: bool) -> int:
    from pxsgmcmc.chain.parallel import run_chains

    done = run_chains(write_config(config), config.chains, folder, resume=resume)
    print(f"{config.chains} chains in {folder}: {done.summary}")
    if done.code >= 128:
        print(f"go on with:\n  pxsgmcmc resume {folder}")
    return done.code
