"""A run directory is written, read, and gone on with as promised."""

import json
import math
import os

import numpy as np
import pytest
import safetensors.numpy
from store_samples import contents_of, files_of, make_run, read_everything

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store import contents, create_run, layout, manifest, open_run, verify


def test_draws_state_log_and_results_come_back_as_they_were_given(tmp_path):
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    with create_run(tmp_path / "run", "seed = 3\n", {"seed": 3, "executor": "loop"}) as run:
        run.commit_draw({"w": weights}, step=7, energy=1.25, cycle=2)
        run.append_log({"step": 7})
        run.commit_state({"q": weights, "step": np.int32(7)}, {"size": np.float32(0.5)})
        run.write_artifact("eval/test.json", b"{}")
        run.update(status="done", retries=1)
    run = open_run(tmp_path / "run")
    assert run.config == (tmp_path / "run/config.toml").read_text() == "seed = 3\n"
    assert [(d.number, d.step, d.energy, d.facts) for d in run.draws] == [
        (1, 7, 1.25, {"cycle": 2})
    ]
    np.testing.assert_array_equal(run.load_draw(1)["w"], weights, strict=True)
    saved = run.load_state()
    assert saved is not None and (saved.meta, saved.draws, saved.notes) == ({"size": 0.5}, 1, [])
    assert saved.arrays["step"].dtype == np.int32 and saved.arrays["step"].shape == ()
    assert list(run.read_log()) == [{"step": 7}]
    assert run.read_artifact("eval/test.json") == b"{}"
    assert run.status == "done" and run.manifest["progress"] == {"retries": 1}
    assert run.manifest["origin"] == {"seed": 3, "executor": "loop"} and run.notes == []


def test_the_layout_is_the_documented_one_and_a_closed_run_has_no_lock(tmp_path):
    make_run(tmp_path / "run", draws=2)
    assert files_of(tmp_path / "run") == [
        "config.toml",
        "draws/000001.safetensors",
        "draws/000002.safetensors",
        "eval/shift/blur.json",
        "eval/test.json",
        "index.jsonl",
        "log.jsonl",
        "manifest.json",
        "report.html",
        "results.json",
        "state/last",
        "state/prev",
    ]


def test_a_draw_is_a_plain_safetensors_file_and_every_line_is_plain_json(tmp_path):
    folder = make_run(tmp_path / "run", draws=2)
    arrays = safetensors.numpy.load_file(folder / "draws/000002.safetensors")
    np.testing.assert_array_equal(arrays["w"], open_run(folder).load_draw(2)["w"])
    for name in ("index.jsonl", "log.jsonl"):
        lines = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        assert [line["line"] for line in lines] == [1, 2]
    assert json.loads((folder / "manifest.json").read_text())["status"] == "done"


def test_numbers_that_json_lacks_survive_in_the_log_and_the_index(tmp_path):
    line = {"a": math.nan, "b": [math.inf, -math.inf], "c": {"d": np.float32("nan")}, "e": None}
    with create_run(tmp_path, "", {"x": math.inf}) as run:
        run.append_log(line)
        run.commit_draw({"w": np.zeros(1)}, step=1, energy=-math.inf)
    run = open_run(tmp_path)
    (back,) = run.read_log()
    assert math.isnan(back["a"]) and back["b"] == [math.inf, -math.inf]
    assert math.isnan(back["c"]["d"]) and back["e"] is None
    assert run.draws[0].energy == -math.inf and run.manifest["origin"]["x"] == math.inf


@pytest.mark.parametrize("facts", [{"line": 1}, {"x": object()}, {"x": 1j}, {"x": "a" * 2**21}])
def test_a_log_line_that_cannot_be_written_is_refused_and_leaves_the_log_whole(tmp_path, facts):
    with create_run(tmp_path, "", {}) as run:
        run.append_log({"x": 1})
        with pytest.raises(UserError):
            run.append_log(facts)
        run.append_log({"x": 2})
    assert list(open_run(tmp_path).read_log()) == [{"x": 1}, {"x": 2}]


def test_a_used_directory_is_refused_with_advice(tmp_path):
    make_run(tmp_path / "run")
    before = contents_of(tmp_path / "run")
    with pytest.raises(UserError, match="--resume"):
        create_run(tmp_path / "run", "", {})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/config.toml").write_text("precious")
    with pytest.raises(UserError, match=r"must be empty.*'config.toml'"):
        create_run(tmp_path / "mine", "", {})
    assert contents_of(tmp_path / "run") == before
    assert contents_of(tmp_path / "mine") == {"config.toml": b"precious"}


def test_what_is_not_a_run_is_the_users_error_and_stays_untouched(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for name in ("nowhere", "empty", "file"):
        for writable in (False, True):
            with pytest.raises(UserError, match="must be a run directory"):
                open_run(tmp_path / name, writable=writable)
        with pytest.raises(UserError, match="must be a run directory"):
            verify(tmp_path / name)
    assert files_of(tmp_path) == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may read everything")
def test_what_may_not_be_read_is_the_users_error(tmp_path):
    folder = make_run(tmp_path / "run")
    for name in ("manifest.json", "index.jsonl", "draws"):
        (folder / name).chmod(0)
        with pytest.raises(UserError, match="may not be read"):
            open_run(folder)
        (folder / name).chmod(0o700)


def test_going_on_equals_never_having_stopped(tmp_path):
    make_run(tmp_path / "whole", draws=5)
    rng = np.random.default_rng(0)
    for number in range(1, 6):  # the steps of `make_run`, with a new process's view for each
        run = (
            create_run(tmp_path / "parts", "seed = 0\nsize = 40\n", {"seed": 0})
            if number == 1
            else open_run(tmp_path / "parts", writable=True)
        )
        with run:
            saved = run.load_state()
            assert (saved.draws if saved else 0) == number - 1
            position = rng.standard_normal(40).astype(np.float32)
            run.commit_draw({"w": position}, step=10 * number, energy=float(position[0]))
            run.append_log({"step": 10 * number, "speed": 2.5})
            run.commit_state({"q": position, "m": -position}, {"step": 10 * number})
    whole, parts = contents_of(tmp_path / "whole"), contents_of(tmp_path / "parts")
    for name in parts.keys() - {"manifest.json"}:
        assert parts[name] == whole[name], name


def draw(value):
    return {"w": np.full(3, float(value))}


@pytest.fixture
def ahead(tmp_path):
    """A run whose process died two draws and a log line after its saved state."""
    with create_run(tmp_path / "run", "", {}) as run:
        run.commit_draw(draw(1), step=1)
        run.append_log({"step": 1})
        run.commit_state(draw(1), {})
        run.commit_draw(draw(2), step=2)
        run.commit_draw(draw(3), step=3)
        run.append_log({"step": 3})
    return tmp_path / "run"


def test_draws_newer_than_the_state_stay_and_are_left_alone_when_made_again(ahead):
    before = contents_of(ahead)
    with open_run(ahead, writable=True) as run:
        assert len(run.draws) == 3 and list(run.read_log()) == [{"step": 1}]
        run.commit_draw(draw(2), step=2)
        assert len(run.draws) == 3
        run.commit_draw(draw(3), step=3)
        run.append_log({"step": 3})
    assert contents_of(ahead) == before


def test_a_draw_that_comes_out_different_replaces_the_old_one_and_all_after_it(ahead):
    with open_run(ahead, writable=True) as run:
        run.commit_draw(draw(2.5), step=2)
        assert [run.load_draw(d.number)["w"][0] for d in run.draws] == [1, 2.5]
    assert verify(ahead).problems == []
    assert [arrays["w"][0] for arrays in read_everything(ahead)] == [1, 2.5]


def test_a_writer_can_go_back_to_its_state(tmp_path):
    with create_run(tmp_path, "", {}) as run:
        run.commit_draw(draw(1), step=1)
        run.commit_state(draw(1), {"size": 0.1})
        run.commit_draw(draw(2), step=2)
        saved = run.rewind()
        assert saved is not None and saved.draws == 1 and saved.meta == {"size": 0.1}
        run.commit_draw(draw(5), step=2)
        run.commit_state(draw(5), {"size": 0.05})
    assert [arrays["w"][0] for arrays in read_everything(tmp_path)] == [1, 5]
    assert verify(tmp_path).problems == []


def test_a_damaged_last_state_falls_back_to_the_one_before_and_says_so(tmp_path):
    folder = make_run(tmp_path / "run", draws=4)
    (folder / "state/last").write_bytes(b"junk")
    with open_run(folder, writable=True) as run:
        assert len(run.notes) == 1 and "state/last" in run.notes[0]
        saved = run.load_state()
        assert saved is not None and saved.draws == 3 and saved.notes
        assert len(run.draws) == 4  # the draw that is newer than the state is still there
        run.commit_state({"q": np.zeros(2)}, {"step": 30})
    assert verify(folder).problems == []


@pytest.mark.parametrize("saved_before", [0, 1])
def test_a_state_saved_after_the_index_was_read_is_no_damage(tmp_path, monkeypatch, saved_before):
    arrays = {"w": np.zeros(3)}
    with create_run(tmp_path / "run", "", {}) as writer:
        for _ in range(saved_before):
            writer.commit_state(arrays, {})
        reader, read = open_run(tmp_path / "run"), contents.read_contents

        def read_and_be_overtaken(folder):
            held = read(folder)
            if not writer.draws:
                writer.commit_draw(arrays, step=1)
                writer.commit_state(arrays, {})
            return held

        monkeypatch.setattr(contents, "read_contents", read_and_be_overtaken)
        saved = reader.load_state()
        assert saved is not None and (saved.draws, saved.notes) == (1, [])


@pytest.mark.parametrize("damaged", [False, True])
def test_verify_tells_what_a_fast_writer_adds_from_damage(tmp_path, monkeypatch, damaged):
    with create_run(tmp_path / "run", "", {}) as writer:
        first = writer.commit_draw({"w": np.zeros(3)}, step=1)
        if damaged:
            (tmp_path / "run/draws" / first.name).write_bytes(b"not what was written")
        walk = layout.walk

        def walk_after_two_more_draws(folder, below=""):
            for _ in range(0 if below else 2):
                writer.commit_draw({"w": np.zeros(3)}, step=len(writer.draws) + 1)
            return walk(folder, below)

        monkeypatch.setattr(layout, "walk", walk_after_two_more_draws)
        problems = verify(tmp_path / "run").problems
    assert [first.name in problem for problem in problems] == [True] * damaged


def test_two_damaged_states_are_damage(tmp_path):
    folder = make_run(tmp_path / "run")
    for name in ("last", "prev"):
        (folder / "state" / name).write_bytes(b"junk")
    with pytest.raises(CorruptRun, match="state/last"):
        open_run(folder).load_state()
    with pytest.raises(CorruptRun, match="state/last"):
        open_run(folder, writable=True)
    assert "lock" not in files_of(folder)
    assert len(list(open_run(folder).iter_draws())) == 5


def test_a_torn_last_line_is_no_damage_and_is_cut_off_by_the_next_writer(tmp_path):
    folder = make_run(tmp_path / "run")
    before = contents_of(folder)
    for name in ("log.jsonl", "index.jsonl"):
        for tail in (b"{", b'{"line":6,"st', b'{"line":6,"step"\0\0\0'):
            (folder / name).write_bytes(before[name] + tail)
            assert verify(folder).problems == []
            open_run(folder, writable=True).close()
            assert contents_of(folder) == before


def test_a_journal_that_was_cut_under_its_writer_is_not_patched_with_zeros(tmp_path):
    with create_run(tmp_path, "", {}) as run:
        run.append_log({"x": 1})
        (tmp_path / "log.jsonl").write_bytes(b"")
        with pytest.raises(CorruptRun, match=r"log\.jsonl` has lost \d+ bytes"):
            run.append_log({"x": 2})
    assert (tmp_path / "log.jsonl").read_bytes() == b""


def test_a_run_of_another_version_says_so_and_one_of_another_format_is_refused(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("pxsgmcmc.store.opening.version", lambda: "0.0.9")
    make_run(tmp_path / "old")
    monkeypatch.setattr(manifest, "FORMAT", 3)
    make_run(tmp_path / "new")
    monkeypatch.undo()
    (note,) = open_run(tmp_path / "old").notes
    assert "version 0.0.9" in note
    with pytest.raises(UserError, match=r"format 3.*'0\.0\.9'"):
        open_run(tmp_path / "new")


def test_a_run_opened_for_reading_refuses_to_write(tmp_path):
    run = open_run(make_run(tmp_path / "run"))
    for write in (
        lambda: run.commit_draw({}, step=1),
        lambda: run.commit_state({}, {}),
        lambda: run.append_log({}),
        lambda: run.update(status="done"),
        lambda: run.write_artifact("results.json", b""),
        run.rewind,
    ):
        with pytest.raises(UserError, match="opened for reading"):
            write()


@pytest.mark.parametrize(
    "name",
    ["../x", "/etc/x", "eval/../x", "eval", "eval/", "draws/x", "lock", "eval/x.part", "eval/é"],
)
def test_a_result_may_not_have_just_any_name(tmp_path, name):
    with create_run(tmp_path / "run", "", {}) as run, pytest.raises(UserError, match="eval/NAME"):
        run.write_artifact(name, b"")
    assert files_of(tmp_path) == [
        "run/config.toml",
        "run/index.jsonl",
        "run/log.jsonl",
        "run/manifest.json",
    ]


def test_wrong_arguments_are_named(tmp_path):
    with create_run(tmp_path, "", {}) as run:
        with pytest.raises(UserError, match=r"`status` must be one of .* got 'finished'"):
            run.update(status="finished")  # pyright: ignore[reportArgumentType]
        with pytest.raises(UserError, match="has 0 draws, not a draw 1"):
            run.load_draw(1)
        with pytest.raises(UserError, match="`number`"):
            run.load_draw(0)
        with pytest.raises(UserError, match="no result"):
            run.read_artifact("results.json")
