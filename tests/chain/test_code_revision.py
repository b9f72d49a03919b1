"""The code revision is read from files: no program is started, whatever the folder says."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pxsgmcmc.chain.code_revision import PACKAGE, code_revision, commit_of, revision_of

COMMIT = "0123456789abcdef0123456789abcdef01234567"
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git makes the folders to read")


def checkout(root: Path, head: str, **files: str) -> Path:
    (root / ".git").mkdir(parents=True)
    (root / ".git/HEAD").write_text(head)
    for name, text in files.items():
        path = root / ".git" / name.replace("__", "/").replace("_", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def git(folder: Path, *words: str) -> str:
    clean = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.invalid")
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *words],
        capture_output=True,
        text=True,
        check=True,
        env=clean,
    )
    return done.stdout.strip()


@needs_git
def test_loose_packed_detached_and_further_working_trees_agree_with_git(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "some/branch")
    git(root, "commit", "-q", "--allow-empty", "-m", "one")
    commit = git(root, "rev-parse", "HEAD")
    assert commit_of(root) == commit
    git(root, "pack-refs", "--all")
    assert commit_of(root) == commit
    git(root, "worktree", "add", "-q", "-b", "other", str(tmp_path / "second"))
    git(tmp_path / "second", "commit", "-q", "--allow-empty", "-m", "two")
    assert commit_of(tmp_path / "second") == git(tmp_path / "second", "rev-parse", "HEAD") != commit
    git(root, "checkout", "-q", "--detach")
    assert commit_of(root) == commit


@pytest.mark.parametrize(
    "root",
    [
        lambda p: p,
        lambda p: checkout(p, "ref: ../../secret\n"),
        lambda p: checkout(p, "ref: refs/../../../secret\n"),
        lambda p: checkout(p, "not a commit\n"),
        lambda p: checkout(p, "ref: refs/heads/none\n"),
        lambda p: checkout(p, "ref: refs/heads/a\n", refs__heads__a="secret words\n"),
        lambda p: checkout(p, "ref: refs/heads/a\n", packed_refs="\x1b[2J refs/heads/a\n"),
    ],
)
def test_what_is_no_commit_is_not_told(tmp_path, root):
    (tmp_path / "secret").write_text(COMMIT)
    assert commit_of(root(tmp_path / "repo")) is None


def test_a_pipe_for_the_head_is_not_waited_for(tmp_path):
    root = checkout(tmp_path / "repo", "")
    (root / ".git/HEAD").unlink()
    os.mkfifo(root / ".git/HEAD")
    assert commit_of(root) is None


def test_nothing_is_executed(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a process was started")

    for name in ("run", "Popen", "check_output"):
        monkeypatch.setattr(subprocess, name, refuse)
    monkeypatch.setattr(os, "system", refuse)
    monkeypatch.setenv("GIT_DIR", str(checkout(tmp_path / "evil", COMMIT) / ".git"))
    assert COMMIT[:12] not in revision_of(PACKAGE)


def test_it_changes_with_the_sources_and_a_process_keeps_the_one_it_began_with(
    tmp_path, monkeypatch
):
    (tmp_path / "src/pxsgmcmc").mkdir(parents=True)
    (tmp_path / "src/pxsgmcmc/a.py").write_text("x = 1\n")
    checkout(tmp_path / "x", "")
    shutil.copytree(checkout(tmp_path / "made", COMMIT) / ".git", tmp_path / ".git")
    before = revision_of(tmp_path / "src/pxsgmcmc")
    (tmp_path / "src/pxsgmcmc/a.py").write_text("x = 2\n")
    assert before.startswith(f"{COMMIT[:12]}, sources ")
    assert revision_of(tmp_path / "src/pxsgmcmc") != before
    began = code_revision()
    monkeypatch.setattr("pxsgmcmc.chain.code_revision.PACKAGE", tmp_path / "src/pxsgmcmc")
    assert code_revision() == began
