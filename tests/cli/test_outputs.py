"""No command destroys anything: whatever `-o` and `--out` name, what is there stays as it is."""

import os
import stat
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.cli.outputs import check_target, write_output, writing_output
from pxsgmcmc.errors import UserError
from pxsgmcmc.moving import push
from pxsgmcmc.sklearn import PXClassifier
from pxsgmcmc.store import create_chains, create_run
from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.small_settings import SMALL
from tests.reliability.proofs import record


def make(folder: Path, chain: int = 0) -> Path:
    """A run with every kind of file."""
    with create_run(folder, SMALL, {"seed": 0, "chain": chain}) as run:
        run.commit_draw({"w": np.zeros(3)}, step=5, energy=1.0)
        run.append_log({"step": 5})
        run.commit_state({"w": np.zeros(3)}, {})
        for name in ("results.json", "report.html", "eval/kept.json", "eval/x.npy"):
            run.write_artifact(name, b"result")
        run.update("done")
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Runs, chains, a stranger's files, links and pipes."""
    root = tmp_path_factory.mktemp("world")
    make(root / "run")
    make(root / "other")
    create_chains(root / "chains", 2, SMALL)
    for chain in (0, 1):
        make(root / "chains" / f"chain-{chain:04}", chain)
    mine = root / "mine"
    (mine / "full").mkdir(parents=True)
    (mine / "empty").mkdir()
    (mine / "full" / "thesis.tex").write_text("years of work")
    for ending in ("npy", "html", "json", "px"):
        (mine / f"file.{ending}").write_text("mine")
        (mine / f"folder.{ending}").mkdir()
        (mine / f"link.{ending}").symlink_to(mine / f"file.{ending}")
        (mine / f"dangling.{ending}").symlink_to(mine / "nothing")
        (mine / f"manifest.{ending}").symlink_to(root / "run/manifest.json")
        os.mkfifo(mine / f"pipe.{ending}")
    (mine / "into").symlink_to(root / "run/eval")
    (mine / "aside").symlink_to(mine / "empty")
    (mine / "nowhere").symlink_to(mine / "not-there")
    (mine / "test.outputs").write_text("short, but mine")
    for folder, name in FOLDERS_OF_OTHERS.items():
        (mine / folder).mkdir(parents=True)
        (mine / folder / name).write_text("mine")
    (mine / "linked" / "desk").mkdir(parents=True)
    (mine / "linked" / "desk" / "index.html").symlink_to(mine / "file.html")
    (mine / "linked-search").mkdir()
    (mine / "linked-search" / "desk-table1.json").symlink_to(mine / "file.json")
    (mine / "sent").mkdir()
    (mine / "sent" / "moving.json.part").symlink_to(mine / "file.json")
    push(root / "other", str(root / "store"))
    np.save(root / "x.npy", np.zeros((2, 3)))
    return root


def snapshot(root: Path) -> dict[str, tuple]:
    """Every name below `root` with its kind and what it holds."""
    found = {}
    for path in sorted(root.rglob("*")):
        facts = os.lstat(path)
        held = path.read_bytes() if stat.S_ISREG(facts.st_mode) else b""
        link = os.readlink(path) if stat.S_ISLNK(facts.st_mode) else ""
        found[str(path)] = (stat.S_IFMT(facts.st_mode), facts.st_ino, held, link)
    return found


def files_of_every_kind(ending: str, in_run: list[str]) -> list[tuple[str, ...]]:
    """Targets of a command that writes a file, some with --force."""
    plain = ["link", "dangling", "manifest", "pipe", "folder"]
    targets = [(f"mine/file.{ending}",)]
    targets += [(f"mine/{name}.{ending}", *flag) for name in plain for flag in ((), ("--force",))]
    targets += [(name, "--force") for name in in_run]
    return [*targets, (f"mine/into/new.{ending}", "--force")]


# A file of somebody else's with the name that a command gives to its own.
FOLDERS_OF_OTHERS = {
    "best": "best.toml",
    "csv": "trials.csv",
    "journal": "optuna.journal",
    "weights": "weights.safetensors",
    "log": "log.jsonl",
    "page": "page.html",
    "report": "report.html",
    "search": "desk-table1.json",
    "pages/desk": "index.html",
    "lemma/desk": "lemma.html",
}
# Places for a folder at which none may be made.
NO_FOLDERS = ["mine/full", "mine/file.npy", "mine/aside", "mine/nowhere", "mine/pipe.npy"]
IN_RUNS = ["run", "run/eval/new", "mine/into/new", "chains/new"]
REPRODUCE = ["reproduce", "lemma", "--seeds", "1"]

WRITERS = {
    "predict": (
        ["predict", "{run}", "{root}/x.npy", "-o"],
        files_of_every_kind("npy", ["run/eval/x.npy", "other/draws/x.npy", "chains/x.npy"]),
    ),
    "report": (
        ["report", "{run}", "-o"],
        files_of_every_kind("html", ["other/report.html", "chains/report.html", "run/a.html"]),
    ),
    "compare": (
        ["compare", "{run}", "-o"],
        files_of_every_kind(
            "json",
            [
                *("run/manifest.json", "run/results.json", "other/eval/kept.json"),
                *("chains/chains.json", "chains/chain-0000/manifest.json"),
            ],
        ),
    ),
    "export": (
        ["export", "{run}", "-o"],
        files_of_every_kind("px", ["run/eval/m.px", "other/draws/m.px", "chains/m.px"]),
    ),
    "tune": (
        ["tune", "digits/sghmc", "--trials", "1", "--out"],
        [(name,) for name in (*NO_FOLDERS, *IN_RUNS, "mine/best", "mine/csv", "mine/journal")],
    ),
    "meta-train": (
        ["meta-train", "--outer-steps", "1", "--out"],
        [(name,) for name in (*NO_FOLDERS, *IN_RUNS, "mine/weights", "mine/log", "mine/page")],
    ),
    "demo": (
        ["demo", "--out"],
        [(name,) for name in (*NO_FOLDERS, *IN_RUNS, "mine/report")],
    ),
    "reproduce --pages": (
        [*REPRODUCE, "--results", "{root}/new", "--runs", "{root}/new", "--pages"],
        [(name,) for name in ("mine/aside", "run/eval/new", "chains/new", "mine/pages")]
        + [("mine/lemma",), ("mine/linked",), ("mine/into/new",)],
    ),
    "reproduce --results": (
        [*REPRODUCE, "--results"],
        [("mine/aside",), ("run/eval/new",), ("chains/new",), ("mine/file.npy",)],
    ),
    "reproduce --runs": (
        [*REPRODUCE, "--runs"],
        [("mine/aside",), ("run/draws/new",), ("mine/file.npy",), ("mine/pipe.npy",)],
    ),
    "reproduce search": (
        ["reproduce", "search", "--runs", "{root}/store", "--outcomes"],
        [(f"mine/{name}",) for name in ("aside", "file.npy", "pipe.npy", "search", "linked-search")]
        + [("run/new",)],
    ),
    "reproduce first-updates": (
        ["reproduce", "first-updates", "--results"],
        [("mine/aside",), ("run/new",)],
    ),
    "pull": (
        ["pull", "{root}/store"],
        [(name,) for name in (*NO_FOLDERS, "chains", "run/eval/new", "mine/into/new")],
    ),
    "push": (
        ["push", "{run}"],
        [(name,) for name in ("mine/full", "mine/file.npy", "mine/aside", "mine/sent", "other")]
        + [("run/eval/new",), ("other/eval/new",), ("chains/new",)],
    ),
    "data corrupt": (
        ["data", "corrupt", "digits"],
        [
            *(("mine/full",), ("mine/file.npy",), ("mine/aside",), ("mine/nowhere",), ("run",)),
            *(("run/eval/new",), ("mine/pipe.npy",), ("mine/into/new",), ("chains/new",)),
        ],
    ),
    "evaluate": (
        ["evaluate", "{run}", "--outputs"],
        [("mine/file.npy",), ("run/eval/outputs",), ("mine/aside",), ("mine/pipe.npy",)],
    ),
    "run": (
        ["run", "digits/sghmc", "--out"],
        [
            *(("mine/full",), ("mine/file.npy",), ("mine/aside",), ("mine/nowhere",), ("run",)),
            *(("run/eval/new",), ("chains",), ("chains/chain-0007",), ("mine/pipe.npy",)),
            *(("mine/full", "--resume"), ("run/draws", "--resume")),
            *(("mine/into/new", "--resume"), ("mine/full", "--chains", "2")),
            ("run", "--chains", "2", "--resume"),
        ],
    ),
}
TARGETS = [
    pytest.param(command, target, id=f"{name} {' '.join(target)}")
    for name, (command, targets) in WRITERS.items()
    for target in targets
]


@pytest.mark.parametrize(("command", "target"), TARGETS)
def test_nothing_that_is_there_is_touched(world, monkeypatch, command, target):
    monkeypatch.chdir(world)
    before = snapshot(world)
    words = [word.format(root=world, run=world / "run") for word in command]
    assert_one_line(call(*words, *target), 2)
    assert snapshot(world) == before


@pytest.mark.parametrize("resume", [False, True], ids=["anew", "to go on"])
@pytest.mark.parametrize(
    "target",
    ["mine/aside", "mine/nowhere", "run/eval/new", "mine/into/new", "chains/chain-0007"],
)
def test_nothing_that_is_there_is_touched_from_python(world, monkeypatch, target, resume):
    monkeypatch.chdir(world)
    before = snapshot(world)
    x, y = np.arange(24.0, dtype=np.float32).reshape(8, 3), np.arange(8) % 2
    problem = px.Problem(lambda params, x: x @ params, px.likelihoods.categorical(), train=(x, y))
    start, draw = jnp.zeros((3, 2)), {"draws": 1, "cycle_length": 1, "batch_size": 8}
    sampler = px.sgld(px.potential(problem, prior=px.priors.normal(1.0)), 1e-3)
    for call_it in (
        lambda: px.sample(sampler, start, problem, **draw, out=target, resume=resume),
        lambda: px.fit(problem, start, out=target, resume=resume),
        lambda: PXClassifier(out=target, warm_start=resume).fit(x, y),
    ):
        with pytest.raises(UserError) as error:
            call_it()
        assert "\n" not in str(error.value)
    assert snapshot(world) == before


def test_at_least_forty_targets_were_tried():
    record("outputs", targets=len(TARGETS), destroyed=0)
    assert len(TARGETS) >= 40


def test_force_replaces_a_plain_file_and_nothing_else(tmp_path):
    target, twin = tmp_path / "a.json", tmp_path / "twin"
    target.write_text("old")
    os.link(target, twin)
    place = check_target(str(target), force=True, endings=(".json",), example="a.json")
    write_output(place, b"new", force=True)
    assert target.read_bytes() == b"new" and twin.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "twin"]


def test_a_file_that_appears_while_we_work_is_not_replaced(tmp_path):
    target = tmp_path / "a.json"
    check_target(str(target), force=False, endings=(".json",), example="a.json")
    with (
        pytest.raises(UserError, match="is there already"),
        writing_output(target, force=False) as file,
    ):
        file.write(b"ours")
        target.write_text("somebody else's")
    assert target.read_text() == "somebody else's"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_manifest_of_another_program_is_no_run(tmp_path):
    (tmp_path / "manifest.json").write_text("{}")
    check_target(str(tmp_path / "a.json"), force=False, endings=(".json",), example="a.json")


def test_a_run_whose_manifest_is_gone_is_still_protected(tmp_path):
    run = make(tmp_path / "run")
    (run / "manifest.json").unlink()
    with pytest.raises(UserError, match="outside of run directories"):
        check_target(str(run / "eval/a.json"), force=True, endings=(".json",), example="a.json")
