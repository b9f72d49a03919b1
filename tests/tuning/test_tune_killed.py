"""`pxsgmcmc tune` with real processes: killed in the middle, it goes on and loses nothing."""

import json
import os
import signal
import subprocess
import sys

import pytest

from pxsgmcmc.config import read_config
from tests.helpers.waiting import wait_until

CONFIG = """
[data]
name = "two-moons"
[model]
name = "mlp"
widths = [4]
[sampler]
name = "sghmc"
step_size = 1e-2
friction = 10.0
[chain]
draws = 9
cycle_length = 20
burn_in = 100
batch_size = 50
"""


def command(config, out):
    words = ["-m", "pxsgmcmc", "tune", str(config), "--trials", "4", "--at-once", "2"]
    return [sys.executable, *words, "--search", "best-first", "--out", str(out)]


def trials_in(out):
    try:
        return json.loads((out / "trials.json").read_text())["trials"]
    except (OSError, ValueError):
        return []


def finished(out):
    return {t["number"]: t["scores"] for t in trials_in(out) if t["scores"] or t["diverged"]}


@pytest.mark.slow
def test_a_killed_search_goes_on_and_ends_as_one_that_was_not(tmp_path):
    config = tmp_path / "moons.toml"
    config.write_text(CONFIG)
    out, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen(
        command(config, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_until(lambda: finished(out) or process.poll() is not None, "the end of a trial")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = finished(out)
    assert before and len(before) < 4
    for place in (out, whole):
        done = subprocess.run(command(config, place), capture_output=True, text=True)
        assert done.returncode in (0, 3), done.stderr
    after = finished(out)
    assert {number: after[number] for number in before} == before
    scores = [
        [(t["settings"], [s["nll"] for s in t["scores"]]) for t in trials_in(place)]
        for place in (out, whole)
    ]
    assert scores[0] == scores[1] and len(scores[0]) == 4
    if (out / "best.toml").exists():
        assert read_config(out / "best.toml").chain.draws == 9
