"""One chain on several devices is the chain on one, up to the order of a sum.

All of it happens in one process with 8 virtual devices, which only a new process can have.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EIGHT = "--xla_force_host_platform_device_count=8"


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    done = subprocess.run(
        [sys.executable, "-m", "tests.chain.devices_program", str(tmp_path_factory.mktemp("runs"))],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={
            **os.environ,
            "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {EIGHT}".strip(),
            "JAX_NUMPY_DTYPE_PROMOTION": "strict",
            "JAX_NUMPY_RANK_PROMOTION": "raise",
            "PYTHONWARNINGS": "ignore",
        },
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_one_step_is_that_of_one_device_for_every_sampler(seen):
    assert len(seen["steps"]) == 8
    assert max(seen["steps"].values()) < 2e-6, seen["steps"]


def test_blocked_convolutions_are_split_without_gathering_the_batch(seen):
    assert seen["convolutions"]["difference"] < 2e-6
    assert seen["convolutions"]["all_gathers"] == 0
    assert seen["convolutions"]["all_reduces"] >= 1


def test_a_layout_gives_the_same_bits_again_and_in_pieces(seen):
    runs = seen["runs"]
    assert len(set(runs["whole"])) == 3
    assert runs["whole"] == runs["again"] == runs["in_pieces"]
    assert runs["step_by_step"] == runs["step_by_step_again"]


def test_the_layout_is_in_the_manifest_and_in_the_fingerprint(seen):
    runs = seen["runs"]
    assert runs["devices"] == [4, 1]
    assert runs["steps"][0] != runs["steps"][1]
    assert "another number of devices (4; now 2)" in runs["refused"]


def test_a_thousand_steps_stay_with_the_chain_on_one_device(seen):
    """The energy is quadratic, so the chains contract: with the same noise they cannot part.

    So the chain on 8 devices has the law of the one on 1, up to rounding. No random failure.
    """
    assert seen["long"]["difference"] < 1e-5 and seen["long"]["spread"] > 0.05


def test_bad_layouts_are_refused_in_one_sentence(seen):
    said = seen["refusals"]
    assert "`devices` must be at most the 8 that JAX sees here" in said["too_many"]
    assert "`batch_size` must be a multiple of `devices`, 4" in said["uneven"]
    assert "`devices` must be a whole number of at least 1, got 0" in said["none"]
    assert "`devices` must be 1 for a potential that `px.potential` did not make" in said["own"]
    assert all("\n" not in sentence for sentence in said.values())
