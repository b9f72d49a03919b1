"""One chain of a configuration, into a run directory."""

import dataclasses
import hashlib
from pathlib import Path

import jax
import msgspec
from msgspec.structs import replace

from pxsgmcmc.chain.process_group import is_first, share
from pxsgmcmc.chain.start import run_sampling
from pxsgmcmc.config.automatic import taken_over, with_measured
from pxsgmcmc.config.build import build, sampling_of
from pxsgmcmc.config.incidental import deciding
from pxsgmcmc.config.schema import Config
from pxsgmcmc.config.toml import parse_config, write_config
from pxsgmcmc.config.validate import automatic_settings
from pxsgmcmc.errors import UserError
from pxsgmcmc.problem import Problem
from pxsgmcmc.progress import Progress, Show, progress_for
from pxsgmcmc.run import Run
from pxsgmcmc.store import open_run
from pxsgmcmc.store.layout import CONFIG, MANIFEST, chain_folders


def run_config(
    config: Config,
    out: str | Path,
    *,
    chain: int = 0,
    draws: int | None = None,
    resume: bool = False,
    accept_changes: bool = False,
    blind: bool = False,
    problem: Problem | None = None,
    progress: Show | Progress = True,
) -> Run:
    """Run one chain of a configuration, or go on with it.

    Args:
      config: what to run.
      out: run directory.
      chain: its number.
      draws: how many draws to have in the end, if not as many as the configuration says. A run that
        is extended so has the draws of one that was asked for them at once.
      resume: go on with the run in `out`, if there is one.
      accept_changes: go on although what decides the draws is not as the run began.
      blind: without the test rows, which no trial of a search may see.
      problem: in place of the one that the configuration names.
      progress: show it; or who is told.
    """
    if jax.process_count() != config.chain.processes:
        raise UserError(
            f"`chain.processes` must be the number of processes that run together, "
            f"{jax.process_count()} here, got {config.chain.processes}."
        )
    begun = resume and (Path(out) / MANIFEST).exists() and open_run(out).manifest["resumable"]
    begun = share(begun)  # the first process may make it before another one looks
    if begun and automatic_settings(config):
        config = taken_over(config, parse_config(open_run(out).config, name=f"{out}/{CONFIG}"))
    chain_section = config.chain if draws is None else replace(config.chain, draws=draws)
    asked_for = replace(config, chain=chain_section)
    shown = progress_for(Path(out).name, progress if is_first() else False)
    try:
        built = with_measured(build(asked_for, begun=begun, blind=blind, problem=problem))
        if built.config.measured != config.measured and built.config.measured is not None:
            shown.say(built.config.measured.by)
        config = replace(built.config, chain=config.chain)
        sampling = sampling_of(built, (chain,), write_config(config), settings_digest(config))
        execution = sampling.execution._replace(accept_changes=accept_changes)
        sampling = dataclasses.replace(sampling, execution=execution)
        if begun:  # where it started is no longer read
            sampling.facts["start_sha256"] = None
        return run_sampling(sampling, out, resume=resume, progress=shown)
    finally:
        shown.close()


def run_side_by_side(
    config: Config, out: str | Path, text: str, *, resume: bool, accept_changes: bool = False
) -> Run:
    """Run all chains of a configuration in this process, as one program.

    Args:
      config: what to run, with nothing left to be measured.
      out: folder of the chains.
      text: of the configuration that it keeps.
      resume: go on with the chains in it, if they have begun.
      accept_changes: go on although what decides the draws is not as they began.
    """
    folders = chain_folders(Path(out))
    begun = resume and bool(folders) and all((place / MANIFEST).exists() for place in folders)
    shown = progress_for(Path(out).name, True)
    try:
        built = build(config, begun=begun)
        numbers = tuple(range(config.chains))
        sampling = sampling_of(built, numbers, text, settings_digest(config))
        execution = sampling.execution._replace(accept_changes=accept_changes)
        sampling = dataclasses.replace(sampling, execution=execution)
        if begun:
            sampling.facts["start_sha256"] = None
        return run_sampling(sampling, out, resume=resume, progress=shown)
    finally:
        shown.close()


def settings_digest(config: Config) -> str:
    """Eight digits that two runs share if they differ in their seed alone, or in nothing."""
    settings = deciding(msgspec.to_builtins(config))
    settings.pop("chain.draws", None)  # a run can be made longer; `subject_of` counts what it has
    text = msgspec.json.encode(settings, order="deterministic")
    return hashlib.sha256(text).hexdigest()[:8]
