"""Forged but correctly sealed run directories: one line and an exit code, never a traceback.

Seals are not signatures. Whoever can write to a folder can seal any content, so every field that is
read is checked. The content of a real run is changed at random places, and each forgery is sealed
as the store itself would do it.
"""

import copy
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store import open_run
from tests.helpers.cli_calls import Said, call
from tests.helpers.forging import Bodies, bodies_of, forge
from tests.helpers.small_runs import sampled
from tests.reliability.proofs import record

MEMORY = Path("/dev/shm")
ESCAPE = "\x1b[2J\x1b]0;gone\x07\r\n\u202e\u2028"
NASTY = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 2**31, 2**63 - 1, -(2**63), 2**64 - 1]),
    st.sampled_from([0.5, -1.5, 1e308, -0.0, "nan", "inf", "-inf"]),
    st.sampled_from(["", ESCAPE, "x" * 5000, "../../etc/passwd", "[red]bold[/]", "done", "\0"]),
    st.sampled_from([[], {}, [[]], {"": None}, {"a": {ESCAPE: ESCAPE}}, [None] * 500]),
    st.recursive(st.none() | st.integers(-9, 9) | st.text(max_size=4), st.lists, max_leaves=4),
)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """A sampled, evaluated run."""
    folder = tmp_path_factory.mktemp("healthy") / "run"
    sampled(folder, "--data.limit", "40", "--chain.checkpoint_seconds", "0")
    assert call("evaluate", str(folder)).code == 0
    return folder


def places(value: Any, path: tuple = ()) -> list[tuple]:
    """The paths to everything within a value of JSON."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    found = [path] if path else []
    if isinstance(value, dict | list):
        for key, item in inner if isinstance(value, dict) else list(enumerate(value))[:30]:
            found += places(item, (*path, key)) if isinstance(item, dict | list) else [(*path, key)]
    return found


def change(bodies: Bodies, path: tuple, how: str, value: Any) -> None:
    """Replace, remove or add at one place."""
    *above, last = path
    place: Any = bodies._asdict()
    for key in above:
        place = place[key]
    if len(path) < (2 if path[0] in ("manifest", "results") else 3):
        return  # the parts, and each of the lines and states, stay objects
    if how == "remove":
        del place[last]
    elif how == "add" and isinstance(place, dict):
        place[f"{last}{ESCAPE}"] = value
    else:
        place[last] = value


def assert_answered(said: Said, what: Any) -> None:
    """An exit code, at most one line of complaint, and nothing that acts on a terminal."""
    assert said.code in (0, 2, 3, 4, 5), (what, said)
    if said.code:
        assert said.err.startswith("pxsgmcmc: ") and said.err.count("\n") == 1, (what, said)
        assert len(said.err) < 2100
    for line in (said.out + said.err).split("\n"):
        assert line.isprintable(), (what, line)


def look_with_every_command(folder: Path, what: Any) -> list[int]:
    """Commands that look without computing; the CPU seconds they may take are bounded."""
    codes = []
    away = str(folder.parent / "away")
    for command, *more in (["show"], ["verify"], ["compare"], ["watch", "--once"], ["push", away]):
        before = time.process_time()
        said = call(command, str(folder), *more)
        assert time.process_time() - before < 20.0, what
        assert_answered(said, what)
        codes.append(said.code)
    for command in ("list", "jobs"):
        said = call(command, str(folder.parent))
        assert_answered(said, what)
        assert said.code == 0, (what, said)
    try:
        run = open_run(folder)
        list(run.read_log())
        run.load_state()
    except (UserError, CorruptRun) as error:
        assert "\n" not in str(error)
    return codes


def fuzz(healthy: Path, examples: int) -> dict[str, int]:
    """Forge so many runs and look at each."""
    original = bodies_of(healthy)
    paths = places(original._asdict())
    counts = {"forgeries": 0, "refused": 0}
    one_change = st.tuples(
        st.sampled_from(paths), st.sampled_from(["replace", "replace", "remove", "add"]), NASTY
    )

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(one_change, min_size=1, max_size=3))
    def forged_is_answered(changes):
        bodies = copy.deepcopy(original)
        for path, how, value in changes:
            try:
                change(bodies, path, how, copy.deepcopy(value))
            except (KeyError, IndexError, TypeError):
                pass  # an earlier change took this place away
        root = MEMORY if os.access(MEMORY, os.W_OK) else None
        with tempfile.TemporaryDirectory(dir=root) as place:
            folder = Path(place) / "run"
            shutil.copytree(healthy, folder)
            forge(folder, bodies)
            counts["forgeries"] += 1
            counts["refused"] += any(look_with_every_command(folder, changes))

    forged_is_answered()
    return counts


def test_a_hundred_sealed_forgeries_are_answered(healthy):
    counts = fuzz(healthy, 100)
    assert counts["forgeries"] >= 100 and counts["refused"] > 30


@pytest.mark.slow
def test_two_thousand_sealed_forgeries_are_answered(healthy):
    counts = fuzz(healthy, 2000)
    record("forgeries", **counts, tracebacks=0)
    assert counts["forgeries"] >= 2000


def test_a_run_that_is_sealed_again_unchanged_is_healthy(healthy, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(healthy, folder)
    forge(folder, bodies_of(folder))
    assert look_with_every_command(folder, "unchanged") == [0, 0, 0, 0, 0]


ORIGIN = [
    ("origin", key)
    for key in (
        *("seed", "chain", "executor", "versions", "rounding", "method", "sampler", "collection"),
        *("group_sizes", "schedule", "data", "data_sha256", "likelihood", "model", "names"),
    )
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["resume", "predict", "evaluate", "diagnose", "report", "export"]
)
def test_commands_that_compute_answer_too(healthy, tmp_path, command):
    """Every fact of the origin is taken away, then made nonsense, then made text that acts."""
    np.save(tmp_path / "x.npy", np.zeros((2, 8, 8, 1), np.uint8))
    more = {
        "predict": [str(tmp_path / "x.npy"), "-o", str(tmp_path / "p.npy"), "--force"],
        "export": ["-o", str(tmp_path / "m.px"), "--force"],
    }
    original, tried = bodies_of(healthy), 0
    for path in ORIGIN:
        for how, value in (("remove", None), ("replace", [1]), ("replace", ESCAPE)):
            bodies, folder = copy.deepcopy(original), tmp_path / "run"
            change(bodies, ("manifest", *path), how, value)
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(healthy, folder)
            if command == "resume":
                bodies.manifest["status"] = "interrupted"
            forge(folder, bodies)
            said = call(command, str(folder), *more.get(command, []))
            assert said.code in (0, 2, 3, 4, 5), (path, how, value, said)
            assert said.code == 0 or said.err.splitlines()[-1].startswith("pxsgmcmc: "), said
            assert "\x1b" not in said.out + said.err, (path, how, value)
            tried += 1
    assert tried == 3 * len(ORIGIN)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("sampler", "friction", "base"), "-inf"),
        (("sampler", "friction", "base"), -1.0),
        (("sampler", "noise", "base"), 1e308),
        (("sampler", "noise", "base"), 1e-200),
        (("sampler", "temperature"), 1e308),
        (("sampler", "temperature"), 5e-324),
        (("group_sizes", "base"), 0),
    ],
)
def test_numbers_that_no_chain_has_are_answered(healthy, tmp_path, where, value):
    """A verdict divides by what should be there, which these make zero or no number."""
    bodies, folder = bodies_of(healthy), tmp_path / "run"
    change(bodies, ("manifest", "origin", *where), "replace", value)
    shutil.copytree(healthy, folder)
    forge(folder, bodies)
    look_with_every_command(folder, (where, value))


@pytest.mark.parametrize(
    ("name", "how", "value"),
    [
        *(("step", "remove", None), ("total_steps", "remove", None), ("draws", "remove", None)),
        *(("steps_per_second", "replace", v) for v in (5e-324, -1.0, "nan", "inf")),
        *(("energy", "replace", v) for v in (1e308, "-inf")),
        ("temperature", "remove", None),
    ],
)
def test_a_log_that_no_chain_wrote_is_answered(healthy, tmp_path, name, how, value):
    """Its first and its last line, of a run that is not over."""
    bodies, folder = bodies_of(healthy), tmp_path / "run"
    for place in (0, len(bodies.log) - 1):
        change(bodies, ("log", place, name), how, value)
    bodies.manifest["status"] = "running"
    shutil.copytree(healthy, folder)
    forge(folder, bodies)
    look_with_every_command(folder, (name, how, value))
