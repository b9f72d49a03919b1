"""`pxsgmcmc show` and `list` speak of several chains as of one run."""

import shutil

import pytest

from tests.helpers.cli_calls import call
from tests.helpers.small_runs import two_chains

DRAWS = "6/2"  # three of each chain; their made-up manifests ask for one


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return two_chains(tmp_path_factory.mktemp("several") / "both", 3)


@pytest.fixture
def folder(original, tmp_path):
    return shutil.copytree(original, tmp_path / "runs/both")


def test_show_begins_with_what_all_chains_are_together(folder):
    said = call("show", str(folder))
    assert said.code == 0, said
    together, first, second, rest = said.out.split("\n\n")
    rows = dict(line.split(maxsplit=1) for line in together.splitlines())
    assert rows["run"] == str(folder) and rows["chains"] == "2" and rows["draws"] == DRAWS
    assert rows["status"] == "done" and rows["what"].startswith("PX-SGHMC (c=1, d=1) on digits")
    assert "too few draws to say whether it has settled (3 of 4)" in rows["verdict"]
    assert "chain-0000" in first and "3/1" in first and "chain-0001" in second and not rest


def test_the_verdict_on_all_chains_has_the_r_hat_between_them(tmp_path, monkeypatch):
    from tests.helpers import small_runs

    # Energies around 0 in one chain and around 100 in the other: each alone is settled.
    real = small_runs.create_run

    def create_run(folder, text, origin):
        run = real(folder, text, origin)
        commit, start = run.commit_draw, 100.0 * origin["chain"]

        def commit_draw(draw, *, step, energy):
            commit(draw, step=step, energy=start + step % 3)

        run.commit_draw = commit_draw
        return run

    monkeypatch.setattr(small_runs, "create_run", create_run)
    folder = two_chains(tmp_path / "apart", 12)
    together, first, second, _ = call("show", str(folder)).out.split("\n\n")
    assert "not healthy" in together and "the chains disagree" in together
    for alone in (first, second):
        assert "energy R-hat" in alone and "disagree" not in alone


def test_list_has_one_line_for_all_chains(folder):
    (line,) = call("list", str(folder.parent)).out.splitlines()[1:]
    assert line.split()[:3] == ["runs/both", "done", DRAWS] and "2 chains" in line
    # A chain is listed when it is asked for.
    (line,) = call("list", str(folder / "chain-0001")).out.splitlines()[1:]
    assert line.split()[:3] == ["chain-0001", "done", "3/1"]
    shutil.rmtree(folder / "chain-0001")
    (line,) = call("list", str(folder.parent)).out.splitlines()[1:]
    assert "damaged" in line and f"pxsgmcmc verify {folder}" in line
    shown = call("show", str(folder))
    assert shown.code == 4 and "chain-0000" in shown.out and "is missing" in shown.err
    (folder / "chain-0001").mkdir()
    (line,) = call("list", str(folder.parent)).out.splitlines()[1:]
    assert "done, 1 of 2 chains not begun" in line and "3/2" in line
    assert "2, 1 not begun" in call("show", str(folder)).out
