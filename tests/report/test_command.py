"""`pxsgmcmc report` on run directories, made here by hand: no chain needs to run."""

from pathlib import Path

import msgspec
import pytest

from pxsgmcmc import results
from pxsgmcmc.report import Reported
from pxsgmcmc.store import open_run, verify
from pxsgmcmc.store.chains import write_chains_artifact
from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.small_runs import shaken, two_chains, written
from tests.report.findings import bare, nothing_but_reasons

SHIFTS = '["digits-shift"]'


def write_run(folder: Path, run: Reported, *, evaluated: bool = True) -> Path:
    """A run directory of one draw with these findings in it."""
    written(folder, [lambda weights: weights])
    with open_run(folder, writable=True) as made:
        made.append_log({"step": 10, "steps_per_second": 5.0, "energy": 3.0, "step_size": 0.1})
        if evaluated:
            made.write_artifact("results.json", results.write(of_one_draw(run.results)))
        if run.diagnostics:
            found = of_one_draw(run.diagnostics)
            made.write_artifact("eval/diagnostics.json", results.write(found))
    return folder


def of_one_draw(found, chains: int = 1):
    """The same findings, of a run with one draw a chain."""
    subject = msgspec.structs.replace(found.subject, draws=chains, chains=chains)
    return msgspec.structs.replace(found, subject=subject)


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
    folder = write_run(tmp_path / "run", nothing_but_reasons())
    out = tmp_path / "out" / "page.html"
    out.parent.mkdir()
    said = call("report", str(folder), "-o", str(out), "--title", "<b>Mine")
    assert said.code == 0 and "<h1>&lt;b&gt;Mine</h1>" in out.read_text("utf-8")
    assert not (folder / "report.html").exists()


def test_several_runs_are_compared(tmp_path):
    kinds = [("SGLD", 0), ("SGLD", 1), ("SGHMC", 0)]
    folders = [str(write_run(tmp_path / f"{m}-{s}", bare(m, s))) for m, s in kinds]
    out = tmp_path / "comparison.html"
    said = call("report", *folders, "--out", str(out))
    assert said.code == 0, said
    page = out.read_text("utf-8")
    assert "SGLD (2 seeds)" in page and "SGHMC (1 seed)" in page and "Methods side by side" in page


def test_several_chains_are_one_run(tmp_path):
    run, folder = nothing_but_reasons(), two_chains(tmp_path / "run", draws=1)
    for chain in range(2):
        with open_run(folder / f"chain-{chain:04}", writable=True) as made:
            made.append_log({"step": 10, "steps_per_second": 5.0, "energy": 3.0 + chain})
    for name, found in (("results", run.results), ("eval/diagnostics", run.diagnostics)):
        kept = results.write(of_one_draw(found, chains=2))
        write_chains_artifact(folder, f"{name}.json", kept)
    assert call("report", str(tmp_path / "run")).code == 0
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "<h3>Energy</h3>" in page and "<h1>SGLD on digits</h1>" in page


def test_a_run_that_was_not_evaluated_and_diagnosed_is_so_first_as_its_configuration_asks(tmp_path):
    folder = written(tmp_path / "run", [shaken(0), shaken(1)], "--evaluate.shifts", SHIFTS)
    said = call("report", str(folder))
    assert said.code == 0, said
    page = (folder / "report.html").read_text("utf-8")
    assert "<h1>PX-SGHMC (c=1, d=1) on digits (first 60 rows)</h1>" in page
    assert "digits-shift" in page and "R-hat of 1 chain needs 10 draws a chain" in page
    assert (folder / "results.json").exists() and (folder / "eval/diagnostics.json").exists()


def test_findings_about_fewer_draws_than_there_are_now_are_made_again(tmp_path):
    folder = written(tmp_path / "run", [shaken(0), shaken(1)])
    with open_run(folder, writable=True) as made:
        made.write_artifact("results.json", results.write(of_one_draw(bare().results)))
    assert call("report", str(folder)).code == 0
    found = msgspec.json.decode((folder / "results.json").read_bytes(), type=results.Results)
    assert found.subject.draws == 2


def test_draws_at_the_start_can_be_left_out(tmp_path):
    folder = written(tmp_path / "run", map(shaken, range(3)))
    assert call("report", str(folder), "--skip", "1").code == 0
    found = msgspec.json.decode((folder / "results.json").read_bytes(), type=results.Results)
    assert (found.subject.draws, found.subject.skipped) == (2, 1)


def test_several_runs_need_a_file_to_write(tmp_path):
    assert_one_line(call("report", str(tmp_path / "a"), str(tmp_path / "b")), 2, "`-o`", "2 runs")


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    assert_one_line(call("report", str(tmp_path / "nowhere")), 2, "run directory")


def test_a_damaged_result_is_noticed(tmp_path):
    folder = write_run(tmp_path / "run", bare())
    path = folder / "results.json"
    path.write_bytes(path.read_bytes().replace(b"SGLD", b"SGLE"))
    assert_one_line(call("report", str(folder)), 4, "results.json")


def test_results_of_another_version_are_made_again(tmp_path):
    folder = write_run(tmp_path / "run", nothing_but_reasons())
    with open_run(folder, writable=True) as run:
        run.write_artifact("results.json", msgspec.json.encode({"format": 2}))
    assert call("report", str(folder)).code == 0
    found = msgspec.json.decode((folder / "results.json").read_bytes(), type=results.Results)
    assert found.subject.method == "PX-SGHMC (c=1, d=1)"


@pytest.mark.parametrize("target", ["no/such/folder/page.html", "."])
def test_a_file_that_cannot_be_written_is_said_in_one_line(tmp_path, target, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = write_run(tmp_path / "run", bare())
    assert_one_line(call("report", str(folder), "-o", target), 2)
