"""Run the chosen settings on digits with several seeds and write the tables of docs/results.md.

    python studies/digits_seeds.py [--seeds 8] [--workers 2]

Needs the outcome of `digits_search.py`. Every run is `pxsgmcmc run` and `pxsgmcmc evaluate` in a
process of its own; what is there already is not done again. Beside the chosen settings there are
the published ones, which nobody tuned to these data.
"""

import argparse
import itertools
import json
import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from pxsgmcmc import cli
from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluation.compare import compare, read_results
from pxsgmcmc.results import Comparison, Summary

ROOT = Path(__file__).parents[1]
OUTCOME = ROOT / "studies" / "digits_search.json"
PAGE = ROOT / "docs" / "results.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
DIVERGED = 3  # exit code of `pxsgmcmc run`
SHOWN = (
    *("test/err", "test/nll", "test/ece", "test/amb", "corruptions/nll", "shift digits-shift/nll"),
    *("ood photos-sklearn/auroc", "ood photos-skimage/auroc"),
)
STEP, VARIANCE = "sampler.step_size.peak", "prior.variance"


class Variant(NamedTuple):
    """One way to sample, run with all seeds."""

    label: str
    config: str  # bundled
    settings: dict[str, Any]  # over it, by the name of the flag


def variants(chosen: dict[str, Any]) -> dict[str, Variant]:
    """What is run, by the name of its folder."""
    plain, expanded = (chosen[method]["settings"] for method in ("SGHMC", "PX-SGHMC"))
    base, factors = "sampler.friction.base", "sampler.friction.factors"
    return {
        "sghmc": Variant("SGHMC, searched", "digits/sghmc", plain),
        "px_sghmc": Variant("PX-SGHMC, searched", "digits/px_sghmc", expanded),
        "sghmc_published": Variant(
            "SGHMC, published settings",
            "digits/sghmc",
            {STEP: 3e-4, VARIANCE: 0.05, "sampler.friction": 100.0},
        ),
        "px_sghmc_published": Variant(
            "PX-SGHMC, published settings",
            "digits/px_sghmc",
            {STEP: 1e-4, VARIANCE: 0.02, base: 100.0, factors: 1.0},
        ),
    }


def flags(variant: Variant, seed: int) -> list[str]:
    """The flags of `pxsgmcmc run`."""
    values = {**variant.settings, "seed": seed, "threads": 1}
    return [word for name, value in values.items() for word in (f"--{name}", str(value))]


def make_run(folder: Path, variant: Variant, seed: int) -> bool:
    """Run and evaluate, or go on with it; says whether it ended well."""

    def call(*words: str) -> int:
        command = [sys.executable, "-m", "pxsgmcmc", *words]
        done = subprocess.run(
            command, env=os.environ | {"PJRT_NPROC": "1"}, capture_output=True, text=True
        )
        if done.returncode not in (0, DIVERGED):
            raise UserError(f"`pxsgmcmc {' '.join(words)}` failed: {done.stderr.strip()[-300:]}")
        return done.returncode

    folder.parent.mkdir(parents=True, exist_ok=True)
    run = ["run", variant.config, "--out", str(folder), "--resume", *flags(variant, seed)]
    well = call(*run) == 0
    if well and not (folder / "results.json").exists():
        call("evaluate", str(folder))
    print(f"{folder.parent.name} seed {seed}: {'evaluated' if well else 'diverged'}", flush=True)
    return well


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


def variants_table(found: Comparison, labels: list[str], diverged: dict[str, int]) -> str:
    """A line for each way to sample; `found` has them in the order of `labels`."""

    def cell(summary: Summary | None) -> str:
        if summary is None:
            return "-"
        return f"{summary.mean:.3f}" + ("" if summary.sd is None else f" ± {summary.sd:.3f}")

    head = ["", *(row.title for row in found.rows)]
    lines = [f"| {' | '.join(head)} |", "|---" + "|---:" * len(found.rows) + "|"]
    for place, label in enumerate(labels):
        cells = [cell(row.methods[place]) for row in found.rows]
        lines.append(f"| {' | '.join([label, *cells])} |")
    lost = [f"{count} of the runs of {label} diverged." for label, count in diverged.items()]
    return "\n".join([*lines, *(["", " ".join(lost)] if lost else [])])


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


def make_all(planned: dict[str, Variant], seeds: int, workers: int, out: Path) -> dict[str, Any]:
    """All runs; returns the folders of those that ended well, by variant."""
    jobs = list(itertools.product(range(seeds), planned))

    def make(job: tuple[int, str]) -> Path | None:
        seed, name = job
        folder = out / name / f"seed-{seed}"
        return folder if make_run(folder, planned[name], seed) else None

    with ThreadPoolExecutor(workers) as pool:
        made = dict(zip(jobs, pool.map(make, jobs), strict=True))
    return {n: [f for (_, name), f in made.items() if name == n and f] for n in planned}


def tables_of(chosen: dict[str, Any], made: dict[str, list[Path]], seeds: int) -> str:
    """All tables of the page."""
    planned = variants(chosen)
    lost = {planned[n].label: seeds - len(f) for n, f in made.items() if len(f) < seeds}
    kept = {name: folders for name, folders in made.items() if folders}
    everything = compare([read_results(f) for f in itertools.chain(*kept.values())], metrics=SHOWN)
    searched = [str(folder) for name in ("sghmc", "px_sghmc") for folder in kept[name]]
    side_by_side = subprocess.run(
        [sys.executable, "-m", "pxsgmcmc", "compare", *searched, "--markdown"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    labels = [planned[name].label for name in kept]
    parts = [
        f"### What the search chose\n\n{search_table(chosen)}",
        f"### The two methods at their best\n\n{side_by_side}",
        f"### All that was run\n\n{variants_table(everything, labels, lost)}",
        provenance(seeds),
    ]
    return "\n\n".join(parts)


def main() -> int:
    """Make all runs, then the page."""
    parser = argparse.ArgumentParser(description="Run the chosen settings with several seeds.")
    parser.add_argument("--seeds", type=int, default=8, help="seeds of each variant, from 0")
    parser.add_argument("--workers", type=int, default=2, help="processes, one thread each")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "digits", help="of all runs")
    asked = parser.parse_args()
    if not OUTCOME.exists():
        raise UserError("studies/digits_search.json is missing: run studies/digits_search.py.")
    chosen = json.loads(OUTCOME.read_text("utf-8"))["chosen"]
    if not all(found["over"] for found in chosen.values()):
        raise UserError("The search is not over: go on with studies/digits_search.py.")
    made = make_all(variants(chosen), asked.seeds, asked.workers, asked.out)
    tables = tables_of(chosen, made, asked.seeds)
    PAGE.write_text(written(PAGE.read_text("utf-8"), tables), "utf-8")
    print(f"{PAGE.relative_to(ROOT)} has the tables")
    return 0


if __name__ == "__main__":
    sys.exit(cli.guarded(main))
