"""Several chains are one sealed thing: what is taken away, changed or put there shows."""

import os
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest
from store_samples import contents_of, copy_run, make_run
from tests.helpers.cli_calls import assert_one_line, call

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store import chains, create_chains, create_run, manifest, sealed, verify_chains
from pxsgmcmc.store.layout import chain_folder

CONFIG = "seed = 3\n"
RESULTS = b'{"test": {"metrics": {"err": 0.0220}}}'


def fill(folder: Path, chain: int) -> None:
    """One chain with a draw."""
    with create_run(chain_folder(folder, chain), CONFIG, {"seed": 3, "chain": chain}) as run:
        run.commit_draw({"w": np.full(3, chain, np.float32)}, step=5, energy=1.0)
        run.update("done")


@pytest.fixture
def folder(tmp_path):
    """Three finished chains with results of all of them together."""
    place = tmp_path / "several"
    create_chains(place, 3, CONFIG)
    for chain in range(3):
        fill(place, chain)
    for name in ("results.json", "eval/diagnostics.json", "report.html"):
        chains.write_chains_artifact(place, name, RESULTS)
    return place


def test_what_was_written_is_well_and_comes_back(folder):
    findings = verify_chains(folder)
    assert findings.problems == [] and findings.leftovers == []
    assert findings.files == len(contents_of(folder))
    assert chains.read_chains_artifact(folder, "results.json") == RESULTS
    assert chains.read_chains_config(folder) == CONFIG
    assert [place.name for place in chains.open_folders(folder)] == [
        "chain-0000",
        "chain-0001",
        "chain-0002",
    ]


def change(folder: Path, name: str, old: bytes, new: bytes) -> None:
    data = (folder / name).read_bytes()
    assert old in data
    (folder / name).write_bytes(data.replace(old, new))


def swap(folder: Path) -> None:
    """Two chains in each other's places, both whole."""
    (folder / "chain-0000").rename(folder / "aside")
    (folder / "chain-0001").rename(folder / "chain-0000")
    (folder / "aside").rename(folder / "chain-0001")


def take_away(folder: Path, chain: int) -> None:
    shutil.rmtree(chain_folder(folder, chain))


def link_in_place(folder: Path) -> None:
    (folder / "chain-0002").rename(folder.parent / "moved")
    (folder / "chain-0002").symlink_to(folder.parent / "moved")


def forge(folder: Path, **changes: object) -> None:
    body = msgspec.structs.asdict(chains.read_chains(folder)) | changes
    (folder / "chains.json").write_bytes(sealed.seal_document(body))


DAMAGE = {
    "the first chain is missing": (lambda f: take_away(f, 0), "chain-0000"),
    "the last chain is missing": (lambda f: take_away(f, 2), "chain-0002"),
    "a chain is a link": (link_in_place, "chain-0002"),
    "a chain is a file": (
        lambda f: (take_away(f, 1), (f / "chain-0001").write_text("")),
        "chain-0001",
    ),
    "a chain too many": (
        lambda f: shutil.copytree(f / "chain-0000", f / "chain-0003"),
        "chain-0003",
    ),
    "two chains change places": (swap, "belongs elsewhere"),
    "a chain of another configuration": (
        lambda f: (take_away(f, 1), make_run(f / "chain-0001")),
        "another configuration",
    ),
    "a better error": (lambda f: change(f, "results.json", b"0.0220", b"0.0001"), "results.json"),
    "another diagnosis": (
        lambda f: change(f, "eval/diagnostics.json", b"0.0220", b"0.0001"),
        "diagnostics.json",
    ),
    "another page": (lambda f: change(f, "report.html", b"0.0220", b"0.0001"), "report.html"),
    "results that are gone": (lambda f: (f / "results.json").unlink(), "results.json"),
    "another configuration": (lambda f: (f / "config.toml").write_text("seed = 4\n"), "config"),
    "no configuration": (lambda f: (f / "config.toml").unlink(), "config.toml"),
    "a stranger": (lambda f: (f / "notes.txt").write_text("mine"), "notes.txt"),
    "a stranger in eval": (lambda f: (f / "eval/more.json").write_text("{}"), "eval/more.json"),
    "a strange folder": (lambda f: (f / "chain-x").mkdir(), "chain-x"),
    "a link": (lambda f: (f / "latest").symlink_to(f / "chain-0000"), "latest"),
    "a pipe": (lambda f: os.mkfifo(f / "pipe"), "pipe"),
    "fewer chains expected, not sealed": (
        lambda f: change(f, "chains.json", b'"chains": 3', b'"chains": 2'),
        "seal",
    ),
    "no manifest above": (lambda f: (f / "chains.json").unlink(), "chains.json"),
    "one flipped bit in a draw": (
        lambda f: change(f, "chain-0001/draws/000001.safetensors", b"F32", b"F42"),
        "000001",
    ),
    "a forged count": (lambda f: forge(f, chains=-1), "damaged"),
    "a forged count of millions": (lambda f: forge(f, chains=10**9), "damaged"),
    "a forged text for the count": (lambda f: forge(f, chains="3"), "damaged"),
    "a forged result outside": (lambda f: forge(f, artifacts={"../x": {}}), "damaged"),
}


@pytest.mark.parametrize(("damage", "word"), DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_is_named_and_verify_exits_with_four(folder, damage, word):
    damage(folder)
    assert any(word in problem for problem in verify_chains(folder).problems)
    said = call("verify", str(folder))
    assert_one_line(said, 4)


@pytest.mark.parametrize("command", ["evaluate", "compare", "diagnose", "report", "predict"])
@pytest.mark.parametrize("chain", [0, 2])
def test_no_command_judges_chains_of_which_one_is_missing(folder, command, chain):
    take_away(folder, chain)
    more = ["x.npy", "-o", str(folder.parent / "y.npy")] if command == "predict" else []
    if command == "predict":
        np.save(folder.parent / "x.npy", np.zeros((2, 3)))
        more[0] = str(folder.parent / "x.npy")
    said = call(command, str(folder), *more)
    assert_one_line(said, 4, f"chain-{chain:04}", "missing", "3 chains")


def test_compare_refuses_results_that_were_changed(folder):
    change(folder, "results.json", b"0.0220", b"0.0001")
    assert_one_line(call("compare", str(folder)), 4, "results.json", "SHA-256 differs")


def test_a_chain_that_has_not_begun_is_no_damage(tmp_path):
    create_chains(tmp_path / "several", 2, CONFIG)
    fill(tmp_path / "several", 1)
    assert verify_chains(tmp_path / "several").problems == []
    assert [p.name for p in chains.open_folders(tmp_path / "several")] == ["chain-0001"]
    said = call("show", str(tmp_path / "several"))
    assert said.code == 0 and "not begun" in said.out


@pytest.mark.parametrize("stop", range(6))
def test_making_the_folder_can_be_cut_short_anywhere_and_done_again(tmp_path, monkeypatch, stop):
    place, calls = tmp_path / "several", []

    def count_then(real):
        def counted(*arguments, **named):
            calls.append(None)
            if len(calls) > stop:
                raise KeyboardInterrupt
            return real(*arguments, **named)

        return counted

    with monkeypatch.context() as patch:
        patch.setattr(chains.files, "write_file", count_then(chains.files.write_file))
        patch.setattr(Path, "mkdir", count_then(Path.mkdir))
        with pytest.raises(KeyboardInterrupt):
            create_chains(place, 3, CONFIG)
    create_chains(place, 3, CONFIG)
    assert verify_chains(place).problems == [] and len(list(place.iterdir())) == 5


def test_a_folder_of_others_is_left_alone(folder, tmp_path):
    before = contents_of(folder)
    with pytest.raises(UserError, match="holds 3 chains"):
        create_chains(folder, 2, CONFIG)
    with pytest.raises(UserError, match="holds 3 chains"):
        create_chains(folder, 3, "seed = 9\n")
    create_chains(folder, 3, CONFIG)
    assert contents_of(folder) == before
    run = make_run(tmp_path / "single")
    with pytest.raises(UserError, match="must be empty"):
        create_chains(run, 2, CONFIG)
    assert contents_of(run) == contents_of(make_run(tmp_path / "again"))


@pytest.mark.parametrize("stop", range(4))
def test_a_result_is_the_old_or_the_new_one_wherever_the_writer_stops(
    folder, tmp_path, monkeypatch, stop
):
    place, calls = copy_run(folder, tmp_path / "copy"), []

    def cut(real):
        def counted(*arguments):
            calls.append(None)
            if len(calls) > stop:
                raise KeyboardInterrupt
            return real(*arguments)

        return counted

    with monkeypatch.context() as patch:
        for name in ("write_beside", "put_in_place"):
            patch.setattr(chains.files, name, cut(getattr(chains.files, name)))
        with pytest.raises(KeyboardInterrupt):
            chains.write_chains_artifact(place, "results.json", b"new")
    assert chains.read_chains_artifact(place, "results.json") in (RESULTS, b"new")
    assert verify_chains(place).problems == []
    chains.write_chains_artifact(place, "results.json", b"newer")
    assert chains.read_chains_artifact(place, "results.json") == b"newer"
    assert verify_chains(place).problems == []


def test_the_manifest_above_is_written_last(tmp_path, monkeypatch):
    def fail(*_):
        raise CorruptRun("stop here")

    monkeypatch.setattr(manifest, "write", fail)
    with pytest.raises(CorruptRun):
        create_chains(tmp_path / "several", 2, CONFIG)
    assert sorted(p.name for p in (tmp_path / "several").iterdir()) == [
        "chain-0000",
        "chain-0001",
        "config.toml",
    ]
