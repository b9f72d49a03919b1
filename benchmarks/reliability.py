"""Run the proofs of reliability at their full counts and write the table in docs/reliability.md.

    python benchmarks/reliability.py                   all proofs, a quarter of an hour on two cores
    python benchmarks/reliability.py --from FOLDER     the table alone, from counts left there

Each proof is a slow test that leaves its counts as a JSON file in $PXSGMCMC_PROOF_DIR.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
SAMPLERS = ("sgld", "psgld", "sghmc", "sgnht", "px_sghmc")
ENGINES = ("slurm", "ray")
SLOW = ("tests/reliability", "tests/store", "tests/jobs")
# Whole files: what they count are their own cases, each a test.
QUICK = (
    *("tests/store/test_store_malice.py", "tests/store/test_store_power_cuts.py"),
    *("tests/cli/test_outputs.py", "tests/chain/test_perturbed.py"),
)


def run_proofs(folder: Path) -> None:
    """Run the slow tests, and the quick ones that count something."""
    environment = os.environ | {"PXSGMCMC_PROOF_DIR": str(folder)}
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    for chosen in (["-m", "slow", *SLOW], ["-m", "not slow", *QUICK]):
        subprocess.run([*pytest, *chosen], cwd=ROOT, env=environment, check=False)


def rows(counts: dict[str, dict]) -> list[tuple[str, str, str]]:
    """What was shown, the bar, and what was counted; "not run" where the counts are missing."""

    def told(name: str, text: str) -> str:
        return text.format(**counts[name]) if name in counts else "not run"

    def all_told(*pairs: tuple[str, str]) -> str:
        return "; ".join(told(*pair) for pair in pairs)

    kills = [counts[f"sigkill_{name}"] for name in SAMPLERS if f"sigkill_{name}" in counts]

    def total(what: str) -> int:
        return sum(one.get(what, 0) for one in kills)

    by_sampler = ", ".join(
        f"{name} {counts[f'sigkill_{name}']['kills']}"
        for name in SAMPLERS
        if f"sigkill_{name}" in counts
    )
    killed = (
        f"{total('kills')} kills ({by_sampler}): {total('draws_lost')} draws lost, "
        f"{total('torn_files')} files torn, {total('identical')} of {total('runs')} continued runs "
        "identical in every draw, energy and final state"
        if kills
        else "not run"
    )
    return [
        (
            "SIGKILL at random moments of a chain",
            "200 kills, at least 20 for each sampler: nothing lost, nothing torn, all identical",
            killed,
        ),
        (
            "SIGKILL at random moments of the store alone",
            "as above",
            told(
                "store_sigkill", "{kills} kills, {runs_identical} of {runs} runs identical, 0 lost"
            ),
        ),
        (
            "power cuts: what was not flushed lost or reordered, also while a run recovers",
            "1,000 states: each goes on as a prefix of the run; every flush left out is noticed",
            all_told(
                ("store_power_cuts", "{states} states: {lost} draws lost, {torn} files torn"),
                ("store_flushes", "{missed} of {flushes} left-out flushes noticed"),
            ),
        ),
        (
            "a writer stopped past its lease and woken, others wanting its place, on the same host "
            "and on others",
            "200 contests: 0 double writes, 0 lost draws",
            told(
                "store_contests",
                "{contests} contests, {places_taken} places taken and {places_kept} kept: "
                "{double_writes} double writes, {draws_lost} draws lost, {runs_identical} of "
                "{runs} runs identical",
            ),
        ),
        *(
            (
                f"4 chains over 3 nodes by `--engine {name}`: workers killed, nodes killed, nodes "
                "cut off past the lease",
                "20 faults: all chains finish, every draw identical, 0 double writes",
                told(
                    f"engine_{name}",
                    "{worker_killed} workers killed, {node_killed} nodes killed, {node_cut_off} "
                    "cut off: {identical} of {chains} chains identical in every draw, "
                    "{double_writes} double writes, {damaged} damaged",
                ),
            )
            for name in ENGINES
        ),
        (
            "SIGTERM to saved and exited",
            "within what the device was given, 50 of 50",
            told(
                "sigterm",
                "{stopped_within_two_chunks} of {sent} within two chunks, {all_saved} with every "
                "step saved; median {median_seconds} s, longest {longest_seconds} s, with two "
                "chunks in {chunk_seconds} s",
            ),
        ),
        (
            "single bit flips anywhere in a run directory",
            "1,000 of 1,000 noticed by `verify` and by loading",
            told("store_bit_flips", "{by_verify} and {by_loading} of {flips}"),
        ),
        (
            "truncated, empty, missing, swapped, foreign files",
            "300: one line and exit code 4 each",
            all_told(
                ("harmed_runs", "{refused} of {cases} through the command line"),
                ("store_harmed_files", "{noticed} of {cases} in the store"),
            ),
        ),
        (
            "disk full at each write point",
            "20 of 20: earlier draws readable, one line, exit code not 0",
            all_told(
                ("store_disk_full_points", "{survived} of {points} failing calls"),
                ("store_file_size_limits", "{survived} of {limits} limits on the file size"),
                ("store_small_file_system", "{survived} of {levels} levels of a small disk"),
            ),
        ),
        (
            "cost to commit a draw of 1 MB, with hash and flush",
            "at most 10 ms, one file",
            told(
                "store_commit_time", "{commit_ms} ms, one file (a bare write: {bare_write_ms} ms)"
            ),
        ),
        (
            "same seed: chunk sizes x cores x chains in a process x virtual devices",
            "at least 24 layouts bit-identical",
            told("layouts", "{identical} of {layouts}, {of_each_executor} of each executor"),
        ),
        (
            "a number that is not finite, at a random step",
            "200 of 200 noticed within the chunk, 0 bad draws kept",
            told(
                "poisoned",
                "{noticed_within_the_chunk} of {injected}, {bad_draws_kept} bad draws kept",
            ),
        ),
        (
            "cost of that watch",
            "at most 2% of a step, in CPU seconds",
            told(
                "watch",
                "{cost_percent}% of a step of {step_ms} ms on one thread, {steps_a_chunk} to a "
                "chunk, over a loop that keeps the last energy; {with_energies_percent}% over one "
                "that computes none, {with_reports_percent}% with the temperatures of the log",
            ),
        ),
        (
            "fuzzed configurations and flags",
            "1,000: one line with the place of the setting, exit code 2",
            told("fuzzed_settings", "{refused} of {tried}"),
        ),
        (
            "soak: 200,000 steps of a small network",
            "memory grows by less than 1%, open files constant, nothing compiled again",
            told(
                "soak",
                "{steps} steps: {memory_growth_percent}% of {memory_MB} MB, "
                "{open_files_after_warm_up} open files throughout, "
                "{compilations_after_warm_up} compilations after the start",
            ),
        ),
        (
            "malicious files (pickles, huge headers, `../` names, links)",
            "at least 20 refused in one line, no side effect",
            told("store_malicious_files", "{kinds} of {kinds}"),
        ),
        (
            "manifests, indexes, states and logs forged and correctly sealed",
            "2,000: 0 tracebacks, 0 hangs",
            told("forgeries", "{forgeries} forgeries, {refused} refused, {tracebacks} tracebacks"),
        ),
        (
            "files to write (`-o`, `--out`) that are there, are links, or lie in a run",
            "40 targets: 0 destroyed",
            told("outputs", "{targets} targets, {destroyed} destroyed"),
        ),
        (
            "going on with other data, settings, random numbers, processor, flags or versions",
            "30 perturbations: 0 silent",
            told("perturbed", "{refused} refused, {said} said, {silent} silent"),
        ),
    ]


def machine() -> str:
    """Where the counts were made."""
    names = ("jax", "jaxlib", "numpy", "safetensors")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    return (
        f"Made on {platform.system()} {platform.machine()} with {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, {versions}, by `python benchmarks/reliability.py`."
    )


def table(counts: dict[str, dict]) -> str:
    """The table as Markdown."""
    lines = ["| what | bar | found |", "|---|---|---|"]
    lines += [f"| {what} | {bar} | {found} |" for what, bar, found in rows(counts)]
    return "\n".join([*lines, "", machine()])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--from", dest="folder", type=Path, help="a folder with counts")
    folder = parser.parse_args().folder
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="proofs-"))
        run_proofs(folder)
    counts = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{table(counts)}\n{END}{after}")
    print(f"{PAGE.relative_to(ROOT)} has the counts of {folder}")


if __name__ == "__main__":
    main()
