"""The commands `pxsgmcmc run` and `pxsgmcmc resume`."""

import os
import shlex
import signal
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from msgspec.structs import replace

from pxsgmcmc.cli.companions import companions
from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.cli.in_process import run_one, run_side_by_side
from pxsgmcmc.cli.leaving import BEFORE, ended_by_signals
from pxsgmcmc.cli.opening import WholeNumber
from pxsgmcmc.cli.outputs import check_folder_target
from pxsgmcmc.cli.saying import say
from pxsgmcmc.config import Config, parse_config, started_from_python
from pxsgmcmc.errors import UserError, check_count, printable
from pxsgmcmc.results import Verdict
from pxsgmcmc.store.chains import CHAINS, remove_not_begun
from pxsgmcmc.store.layout import CONFIG, MANIFEST, chain_folders
from pxsgmcmc.store.opening import check_free

if TYPE_CHECKING:
    from pxsgmcmc.jobs import Engine, Job

_STOPPED = 128 + signal.SIGTERM
_WORDS = {0: "done", 2: "input", 3: "diverged", 4: "damaged", 5: "locked"}


def run(
    config: Annotated[str, tyro.conf.arg(metavar="CONFIG")],
    out: Annotated[str | None, tyro.conf.arg(metavar="DIR")] = None,
    resume: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    accept_changes: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    coordinator: Annotated[str | None, tyro.conf.arg(metavar="HOST:PORT")] = None,
    process_id: WholeNumber = None,
    engine: str = "local",
    settings: Annotated[list[str], tyro.conf.Suppress] = [],  # noqa: B006 - never changed
) -> int:
    """Run a configuration: sample, keep draws, survive.

    pxsgmcmc run digits/px_sghmc
    pxsgmcmc run my.toml --out runs/mine --seed 1
    pxsgmcmc run my.toml --chain.draws 10 --sampler.temperature 0.1 --chains 4
    pxsgmcmc run my.toml --chains 64 --engine "slurm --partition=gpu --gpus=1 --time=12:00:00"

    Any setting of the configuration can be given as --section.key value; `pxsgmcmc config check
    --defaults` prints them all. Ctrl-C, SIGTERM or a closed terminal stops after the current chunk
    with everything saved, and `pxsgmcmc resume` goes on as if nothing had happened.

    Args:
      config: a TOML file, or the name of a bundled configuration.
      out: run directory to make; runs/NAME if not given.
      resume: go on with the run in it, if there is one.
      accept_changes: with --resume, go on although what decides the draws (data, settings, JAX's
        random numbers) is not as the run began; that is written into its manifest.
      coordinator: where the first of `chain.processes` listens; the same for all of them. Left out
        where the cluster knows it, as SLURM does.
      process_id: which of these processes this is, from 0.
      engine: where several chains run: local (processes on this machine), slurm (a cluster; what
        follows the name are options of sbatch) or ray (with --address, --num-cpus, --num-gpus of
        each job). See docs/engines.md.
      settings: flags over the configuration.
    """
    if accept_changes and not resume:
        raise UserError("`--accept-changes` needs a run to go on with: give --resume too.")
    chosen = load_config(config, settings)
    _check_engine(engine, chosen.chains)
    folder = Path(out) if out is not None else Path("runs") / Path(config).stem
    with companions(chosen, coordinator, process_id) as first:
        if first:
            _check_place(chosen, folder, resume)
        if chosen.chains > 1:
            return _run_chains(chosen, folder, engine, resume=resume, accept_changes=accept_changes)
        return run_one(chosen, folder, resume=resume, accept_changes=accept_changes, prints=first)


def _check_place(config: Config, folder: Path, resume: bool) -> None:
    """Before long work, not after."""
    if (folder / MANIFEST).exists() and not resume:
        raise UserError(
            f"`{folder}` already holds a run: go on with it (`--resume`), or choose another "
            "directory with --out."
        )
    check_folder_target(str(folder), "--out", may_exist=True)
    if config.chains == 1 and folder.is_dir() and not (folder / MANIFEST).exists():
        check_free(folder)


def resume(
    directory: Annotated[str, tyro.conf.arg(metavar="DIR")],
    draws: WholeNumber = None,
    accept_changes: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    coordinator: Annotated[str | None, tyro.conf.arg(metavar="HOST:PORT")] = None,
    process_id: WholeNumber = None,
    engine: str = "local",
) -> int:
    """Go on with a run that was stopped, killed or lost its machine; or make it longer.

    pxsgmcmc resume runs/mine
    pxsgmcmc resume runs/mine --draws 40

    The draws are those the run would have made without the stop, bit for bit.

    Args:
      directory: of the run, as given to `pxsgmcmc run --out`.
      draws: how many draws each chain is to have in the end; a run that is done goes on to them.
      accept_changes: go on although what decides the draws (data, JAX's random numbers) is not as
        the run began; that is written into its manifest.
      coordinator: as for `pxsgmcmc run`, for a chain of several processes.
      process_id: likewise.
      engine: where several chains run, as for `pxsgmcmc run`; it need not be where they began.
    """
    from pxsgmcmc.jobs.chains import with_asked_draws
    from pxsgmcmc.store import open_run
    from pxsgmcmc.store.chains import is_several, read_chains_config

    folder = Path(directory)
    several = is_several(folder)
    text = read_chains_config(folder) if several else open_run(folder).config
    if started_from_python(text):
        raise UserError(
            f"`{folder}` was started from Python: go on with `sample(..., out={str(folder)!r}, "
            "resume=True)` and the same arguments."
        )
    config = with_asked_draws(parse_config(text, name=f"{folder}/{CONFIG}"), folder)
    if draws is not None:
        check_count("draws", draws, at_least=1)
        config = replace(config, chain=replace(config.chain, draws=draws))
    _check_engine(engine, config.chains)
    if several:
        return _run_chains(config, folder, engine, resume=True, accept_changes=accept_changes)
    stored = open_run(folder)
    if stored.status == "done" and config.chain.draws == len(stored.draws):
        say(f"{printable(folder)} is done, with {len(stored.draws)} draws")
        return 0
    chain = stored.manifest["origin"].get("chain", 0)
    with companions(config, coordinator, process_id) as first:
        return run_one(
            config,
            folder,
            chain=chain,
            resume=True,
            accept_changes=accept_changes,
            prints=first,
        )


def _check_engine(engine: str, chains: int) -> None:
    if chains == 1 and engine != "local":
        raise UserError(
            f"`--engine {engine}` is for several chains, got 1: give --chains, or start `pxsgmcmc "
            "run --resume` itself as a job there."
        )


def _run_chains(
    config: Config,
    folder: Path,
    engine: str,
    *,
    resume: bool,
    accept_changes: bool = False,
) -> int:
    """Run several chains, and say how they ended: a process each, or all of them in this one."""
    if config.chain.executor == "vmap":
        if engine != "local":
            raise UserError(
                f"`chain.executor` can be 'vmap' with --engine local, got {engine!r}: start "
                "`pxsgmcmc run --resume` itself as a job there."
            )
        return run_side_by_side(config, folder, resume=resume, accept_changes=accept_changes)
    there = [] if engine == "local" else ["--engine", engine]
    go_on = f"go on with:\n  {shlex.join(['pxsgmcmc', 'resume', str(folder), *there])}"
    begun = f"Interrupted; {go_on}\n"
    with ended_by_signals(lambda: begun if (folder / CHAINS).exists() else BEFORE):
        from pxsgmcmc.jobs.chains import chain_jobs
        from pxsgmcmc.jobs.engines import engine_named

        machine = engine_named(engine, config.chains)
        made = not os.path.lexists(folder / CHAINS)
        jobs = chain_jobs(config, folder, resume=resume, accept_changes=accept_changes)
        try:
            code = _run_jobs(machine, jobs, folder)
        except UserError:  # nothing was handed in, so another engine may be tried in this place
            if made:
                remove_not_begun(folder)
            raise
    if code >= 128:
        say(go_on)
    return code


def _run_jobs(machine: "Engine", jobs: "list[Job]", folder: Path) -> int:
    """Run them to their end, and say how each ended and how they are together."""
    from pxsgmcmc.jobs import Ended, Job
    from pxsgmcmc.jobs.display import Display
    from pxsgmcmc.jobs.engines import is_cluster

    codes = dict[Job, int]()
    reasons = set[str]()

    def on_end(job: Job, ended: Ended) -> str | None:
        codes[job] = ended.code
        reason = ended.sentence or ended.errors
        if not 0 < ended.code < 128 or reason in reasons:  # what stops all of them is said once
            return None
        reasons.add(reason)
        return f"{job.label}: {reason}"

    shown = Display(folder.name, jobs, on_end, elsewhere=is_cluster(machine))
    with closing(shown) as display:
        codes |= {job: _STOPPED if job in display.todo else 0 for job in jobs}  # until they end
        stopped_by = machine.run(display.todo, display)
    summary, code = _summed_up(list(codes.values()), stopped_by)
    verdict = _verdict_on(folder) if not code else None
    say(
        f"{len(jobs)} chains in {printable(folder)}: {summary}"
        + (f"; {verdict.headline}" if verdict else "")
    )
    for warning in verdict.warnings if verdict else []:
        say(f"  {warning}")
    return code


def _verdict_on(folder: Path) -> Verdict:
    """Over all chains together, R-hat between them included."""
    from pxsgmcmc.run import Run
    from pxsgmcmc.store import open_run

    return Run(
        [open_run(place) for place in chain_folders(folder)], None, None, path=folder
    ).verdict


def _summed_up(codes: list[int], stopped_by: int | None) -> tuple[str, int]:
    """How chains ended, and the exit code: one that failed counts most, then one stopped."""
    words = [_WORDS.get(code, "stopped" if code >= 128 else "died") for code in codes]
    summary = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    if stopped_by is not None:
        return summary, 128 + stopped_by
    failures = [code if code > 0 else 1 for code in codes if code and code < 128]
    return summary, max(failures or codes)
