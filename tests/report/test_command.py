"""`pxsgmcmc report` on run directories, made here by hand: no chain needs to run."""

from pathlib import Path

import msgspec
import pytest

from pxsgmcmc import results
from pxsgmcmc.report import Reported
from pxsgmcmc.store import create_run, open_run, verify
from tests.cli.calls import assert_one_line, call
from tests.report.findings import bare, nothing_but_reasons


def write_run(folder: Path, run: Reported, *, evaluated: bool = True) -> Path:
    """A run directory with these findings in it."""
    with create_run(folder, "[sampler]\nname = 'sgld'\n", {"seed": 0}) as made:
        made.append_log({"step": 10, "steps_per_second": 5.0, "energy": 3.0, "step_size": 0.1})
        if evaluated:
            made.write_artifact("results.json", results.write(run.results))
        if run.diagnostics:
            made.write_artifact("eval/diagnostics.json", results.write(run.diagnostics))
    return folder


def test_the_page_of_one_run_is_kept_in_it_with_its_hash(tmp_path):
    folder = write_run(tmp_path / "run", nothing_but_reasons())
    said = call("report", str(folder))
    assert said.code == 0 and "report.html" in said.out
    page = open_run(folder).read_artifact("report.html").decode()
    assert "Because of &lt;script&gt;" in page and "<h1>SGLD on digits</h1>" in page
    assert "2 seconds of sampling" in page
    assert verify(folder).problems == []
    assert call("report", str(folder)).code == 0  # again, in place of the first


def test_a_page_can_be_written_elsewhere_and_titled(tmp_path):
    folder, out = write_run(tmp_path / "run", bare()), tmp_path / "out" / "page.html"
    out.parent.mkdir()
    said = call("report", str(folder), "-o", str(out), "--title", "<b>Mine")
    assert said.code == 0 and "<h1>&lt;b&gt;Mine</h1>" in out.read_text("utf-8")
    assert not (folder / "report.html").exists()
    assert f"pxsgmcmc diagnose {folder}" in out.read_text("utf-8")


def test_several_runs_are_compared(tmp_path):
    kinds = [("SGLD", 0), ("SGLD", 1), ("SGHMC", 0)]
    folders = [str(write_run(tmp_path / f"{m}-{s}", bare(m, s))) for m, s in kinds]
    out = tmp_path / "comparison.html"
    said = call("report", *folders, "--out", str(out))
    assert said.code == 0, said
    page = out.read_text("utf-8")
    assert "SGLD (2 seeds)" in page and "SGHMC (1 seed)" in page and "Methods side by side" in page


def test_several_chains_are_one_run(tmp_path):
    run = bare()
    for chain in range(2):
        write_run(tmp_path / "run" / f"chain-{chain:04}", run, evaluated=False)
    (tmp_path / "run" / "results.json").write_bytes(results.write(run.results))
    assert call("report", str(tmp_path / "run")).code == 0
    assert "<h3>Energy</h3>" in (tmp_path / "run" / "report.html").read_text("utf-8")


def test_a_run_that_was_not_evaluated_says_what_to_do(tmp_path):
    folder = write_run(tmp_path / "run", bare(), evaluated=False)
    assert_one_line(call("report", str(folder)), 2, "no results yet", "pxsgmcmc evaluate")


def test_several_runs_need_a_file_to_write(tmp_path):
    assert_one_line(call("report", str(tmp_path / "a"), str(tmp_path / "b")), 2, "`-o`", "2 runs")


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    assert_one_line(call("report", str(tmp_path / "nowhere")), 2, "run directory")


def test_a_damaged_result_is_noticed(tmp_path):
    folder = write_run(tmp_path / "run", bare())
    path = folder / "results.json"
    path.write_bytes(path.read_bytes().replace(b"SGLD", b"SGLE"))
    assert_one_line(call("report", str(folder)), 4, "results.json")


def test_results_of_another_version_are_to_be_made_again(tmp_path):
    folder = write_run(tmp_path / "run", bare())
    with open_run(folder, writable=True) as run:
        run.write_artifact("results.json", msgspec.json.encode({"format": 2}))
    assert_one_line(call("report", str(folder)), 2, "results.json", "pxsgmcmc evaluate")


@pytest.mark.parametrize("target", ["no/such/folder/page.html", "."])
def test_a_file_that_cannot_be_written_is_said_in_one_line(tmp_path, target, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = write_run(tmp_path / "run", bare())
    assert_one_line(call("report", str(folder), "-o", target), 2)
