"""Run the bundled digits with several seeds and write the tables of docs/results.md.

    python studies/digits_seeds.py [--seeds 8] [--workers 2]

Needs the outcome of `digits_search.py`. Every run is a job, sampled and evaluated in a process of
its own; what is there already is not done again.
"""

import argparse
import io
import itertools
import json
import platform
import subprocess
import sys
from contextlib import closing, redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pxsgmcmc import cli
from pxsgmcmc.cli.compare import compare_runs
from pxsgmcmc.cli.compiled import remember_compilations
from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.config import write_config
from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluate.read_results import read_results
from pxsgmcmc.jobs import EVALUATE, SAMPLE, Ended, Job, JobFailed, Local
from pxsgmcmc.jobs.display import Display

ROOT = Path(__file__).parents[1]
OUTCOME = ROOT / "studies" / "digits_search.json"
PAGE = ROOT / "docs" / "results.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
METHODS = {"SGHMC": "digits/sghmc", "PX-SGHMC": "digits/px_sghmc"}  # name -> configuration


def job_of(method: str, seed: int, folder: Path) -> Job:
    """One run: sampled and evaluated."""
    config = load_config(METHODS[method], ["--seed", str(seed), "--threads", "1"])
    return Job(
        write_config(config),
        str(folder / Path(METHODS[method]).name / f"seed-{seed}"),
        f"{method}, seed {seed}",
        stages=(SAMPLE, EVALUATE),
    )


def search_table(chosen: dict[str, Any]) -> str:
    """What the search chose, and between which values."""
    lines = ["| | setting | chosen | tried |", "|---|---|---:|---|"]
    for method, found in chosen.items():
        for name, value in found["settings"].items():
            tried = ", ".join(f"{x:g}" for x in found["tried"][name])
            lines.append(f"| {method} | `{name}` | {value:g} | {tried} |")
    told = []
    for method, found in chosen.items():
        end = "settled" if found["settled"] else "did not settle"
        scores = ", ".join(f"{nll:.4f}" for nll in found["validation_nll"])
        met = "met both its neighbours" if found["inside"] else "did not meet both its neighbours"
        told.append(
            f"{method} {end} after {found['chains']} chains at {found['points']} points; the "
            f"chosen one has validation NLL {scores} and {met} on every axis."
        )
    return "\n".join([*lines, "", *told])


def health_of(verdicts: list[bool | None], seeds: int) -> str:
    """How many of the runs of a method are healthy, and what became of the others."""
    counts = {
        "healthy": verdicts.count(True),
        "not healthy": verdicts.count(False),
        "too short to tell": verdicts.count(None),
        "diverged": seeds - len(verdicts),
    }
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def written(page: str, tables: str) -> str:
    """The page with `tables` between its marks."""
    before, mark, rest = page.partition(BEGIN)
    if not mark or END not in rest:
        raise UserError(f"docs/results.md must have a line {BEGIN} and a line {END}.")
    return f"{before}{BEGIN}\n{tables}\n{END}{rest.partition(END)[2]}"


def provenance(seeds: int) -> str:
    """Where the numbers come from."""
    told = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    versions = ", ".join(f"{name} {version(name)}" for name in ("jax", "jaxlib"))
    return (
        f"{seeds} seeds each, ± is the standard deviation over them. Made by `python "
        f"studies/digits_seeds.py` at revision {told.stdout.strip() or 'unknown'}, Python "
        f"{platform.python_version()}, {versions}, on a CPU."
    )


def make_all(jobs: list[Job], workers: int) -> list[Job] | None:
    """Do what is missing; returns the jobs that ended well, None if a signal stopped it."""
    diverged: list[Job] = []

    def on_end(job: Job, ended: Ended) -> str | None:
        if ended.code in (1, 2, 4) or ended.code < 0:
            raise JobFailed(job, ended).as_error()
        diverged.extend([job] * (ended.diverged))
        return f"{job.label}: diverged" if ended.diverged else None

    with closing(Display("seeds", jobs, on_end, seconds=60.0)) as display:
        if Local(workers).run(display.todo, display) is not None:
            return None
    return [job for job in jobs if job not in diverged]


def tables_of(chosen: dict[str, Any], made: dict[str, list[Path]], seeds: int) -> str:
    """All tables of the page."""
    health = []
    for method, folders in made.items():
        verdicts = [read_results(folder).verdict for folder in folders]
        counts = health_of([one.healthy if one else None for one in verdicts], seeds)
        health.append(f"Chains of {method}: {counts}.")
    side_by_side = io.StringIO()
    with redirect_stdout(side_by_side):
        compare_runs([str(f) for folders in made.values() for f in folders], markdown=True)
    parts = [
        f"### What the search chose\n\n{search_table(chosen)}",
        f"### The two methods as bundled\n\n{side_by_side.getvalue().strip()}",
        " ".join(health),
        provenance(seeds),
    ]
    return "\n\n".join(parts)


def main() -> int:
    """Make all runs, then the page."""
    parser = argparse.ArgumentParser(description="Run the bundled digits with several seeds.")
    parser.add_argument("--seeds", type=int, default=8, help="seeds of each method, from 0")
    parser.add_argument("--workers", type=int, default=2, help="processes, one thread each")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "digits", help="of all runs")
    arguments = parser.parse_args()
    if not OUTCOME.exists():
        raise UserError("studies/digits_search.json is missing: run studies/digits_search.py.")
    chosen = json.loads(OUTCOME.read_text("utf-8"))["chosen"]
    if not all(found["over"] for found in chosen.values()):
        raise UserError("The search is not over: go on with studies/digits_search.py.")
    remember_compilations()
    jobs = {
        method: [job_of(method, seed, arguments.out) for seed in range(arguments.seeds)]
        for method in METHODS
    }
    in_turns = list(itertools.chain.from_iterable(zip(*jobs.values(), strict=True)))
    done = make_all(in_turns, arguments.workers)
    if done is None:
        print("Stopped; the same command goes on.")
        return 130
    made = {m: [Path(job.folder) for job in own if job in done] for m, own in jobs.items()}
    tables = tables_of(chosen, made, arguments.seeds)
    PAGE.write_text(written(PAGE.read_text("utf-8"), tables), "utf-8")
    print(f"{PAGE.relative_to(ROOT)} has the tables")
    return 0


if __name__ == "__main__":
    sys.exit(cli.guarded(main))
