"""Whatever a power cut leaves of what was not flushed, the run goes on as if it had not been."""

import ast
import functools
import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from power_cut_programs import PROGRAMS, Program, draw_values, harm, put_back, record
from power_cuts import Disk, Event, power_cuts
from store_samples import record_proof

from pxsgmcmc.store import StoredRun, create_run, files, lock


@pytest.fixture(autouse=True)
def no_beats(monkeypatch):
    monkeypatch.setenv(lock.LEASE_VARIABLE, "3600")


def cut_everywhere(program: Program, stride: int, counts: Counter, **promised: object) -> None:
    """Count what power cuts cost, one in `stride` of them."""
    cuts = power_cuts(program.disk.start, program.disk.events, promised=promised)
    for cut in itertools.islice(cuts, 0, None, stride):
        cost = harm(program, cut)
        assert not cost, f"after {program.disk.words[: cut.after][-9:]}: {cost}"
        counts["states"] += 1


@pytest.mark.parametrize(("prepare", "write"), PROGRAMS.values(), ids=PROGRAMS)
def test_after_a_power_cut_a_run_goes_on_as_if_it_had_not_been(tmp_path, prepare, write):
    program, counts = record(tmp_path, prepare, write), Counter()
    cut_everywhere(program, 1 if len(program.disk.events) < 50 else 3, counts)
    assert counts["states"] >= 20


def test_after_a_second_power_cut_a_run_goes_on_as_if_it_had_not_been(tmp_path):
    assert cut_twice(tmp_path, 120, 9)["states"] > 10


def cut_twice(folder: Path, stride: int, second_stride: int) -> Counter:
    """Cut the power, and again while the run goes on."""
    program, counts = record(folder / "first", *PROGRAMS["a run"]), Counter()
    cuts = power_cuts(program.disk.start, program.disk.events, promised={})
    for number, cut in enumerate(itertools.islice(cuts, stride // 2, None, stride)):
        prepare = functools.partial(put_back, program, cut)
        again = record(folder / str(number), prepare, program.write)
        assert again.whole == program.whole
        cut_everywhere(again._replace(before={}), second_stride, counts, **cut.promised)
    return counts


@pytest.mark.slow
def test_after_a_thousand_power_cuts_runs_go_on_as_if_they_had_not_been(tmp_path):
    counts = Counter()
    for name, program in PROGRAMS.items():
        cut_everywhere(record(tmp_path / name, *program), 1, counts)
    counts += cut_twice(tmp_path / "twice", 20, 3)
    record_proof("power_cuts", states=counts["states"], lost=0, torn=0)
    assert counts["states"] >= 1000


def flushes_in_the_store() -> set[str]:
    """Every line of the store that flushes a file or a folder of a run, as `Disk` notes it."""
    elsewhere = ("sync_folder", "whole_file")  # what others call, and files outside of runs
    lines = set()
    for path in Path(files.__file__).parent.glob("*.py"):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef) and function.name not in elsewhere:
                for call in ast.walk(function):
                    if isinstance(call, ast.Call):
                        name = ast.unparse(call.func).rpartition(".")[2]
                        if name in ("fsync", "sync_folder"):
                            lines.add(f"{path.name}, {function.name}, line {call.lineno}")
    return lines


def test_every_single_flush_is_missed_if_it_is_left_out(tmp_path):
    programs = [record(tmp_path / name, *program) for name, program in PROGRAMS.items()]
    asked = [event.facts[0] for one in programs for event in one.disk.events if is_flush(event)]
    assert set(asked) == flushes_in_the_store()
    missed = {flush for flush in set(asked) if any(is_missed(flush, one) for one in programs)}
    record_proof("flushes", flushes=len(set(asked)), missed=len(missed))
    assert missed == set(asked)


def is_flush(event: Event) -> bool:
    return event.kind == "flush"


def is_missed(flush: str, program: Program) -> bool:
    """Whether a power cut costs anything in a store without this flush."""
    start, events = program.disk.start, program.disk.events
    harmless = set[int]()  # by the tests above
    for _ in power_cuts(start, events, promised={}, but=harmless):
        pass
    without = [event for event in events if not (is_flush(event) and event.facts[0] == flush)]
    return any(harm(program, cut) for cut in power_cuts(start, without, promised={}, but=harmless))


def steps_of(folder: Path, commit: Callable[[StoredRun], object]) -> list[str]:
    """What a commit of a run that has a draw and a state does to the disk, in order."""
    with create_run(folder / "disk/run", "", {}) as run:
        run.commit_draw(draw_values(1), step=1)
        run.commit_state({"q": np.zeros(3)}, {})
        disk = Disk(folder / "disk")
        with disk.recording():
            commit(run)
    return disk.words


def test_a_draw_is_flushed_before_its_line_and_named_after_it(tmp_path):
    part = "000002.safetensors.part"
    assert steps_of(tmp_path, lambda run: run.commit_draw(draw_values(2), step=2)) == [
        f"name {part}",
        f"write {part}",
        f"flush {part}",
        "flush draws",
        "write index.jsonl",
        "flush index.jsonl",
        f"rename {part}",
    ]


def test_a_state_is_flushed_before_it_is_named_and_the_one_before_it_is_kept(tmp_path):
    assert steps_of(tmp_path, lambda run: run.commit_state({"q": np.ones(3)}, {})) == [
        "name last.part",
        "write last.part",
        "flush last.part",
        "flush state",
        "rename last",
        "flush state",
        "rename last.part",
        "flush state",
    ]


def test_a_log_line_and_the_manifest_are_flushed_before_the_call_returns(tmp_path):
    assert steps_of(tmp_path / "log", lambda run: run.append_log({"x": 1})) == [
        "write log.jsonl",
        "flush log.jsonl",
    ]
    assert steps_of(tmp_path / "manifest", lambda run: run.update(status="done")) == [
        "name manifest.json.part",
        "write manifest.json.part",
        "flush manifest.json.part",
        "flush run",
        "rename manifest.json.part",
        "flush run",
    ]
