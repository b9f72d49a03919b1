"""`pxsgmcmc diagnose`: what it prints, and what it says when it cannot."""

import msgspec
import pytest

from pxsgmcmc import results
from pxsgmcmc.cli.diagnose import summary
from pxsgmcmc.evaluation import progress
from pxsgmcmc.results import Diagnostics
from tests.cli.calls import assert_one_line, call
from tests.cli.settings import SMALL
from tests.evaluation.made_up import result


@pytest.fixture
def folder(tmp_path):
    """A plain run of two draws."""
    text = SMALL.replace("out = 1", "out = 0").replace("into = 1", "into = 0")
    (tmp_path / "small.toml").write_text(text)
    flags = ["--chain.draws", "2", "--out", str(tmp_path / "run")]
    assert call("run", str(tmp_path / "small.toml"), *flags).code == 0
    return tmp_path / "run"


def test_a_run_is_looked_into_with_progress_and_a_word_on_its_health(folder, monkeypatch):
    monkeypatch.setattr(progress.Lines.__init__, "__defaults__", (0.0,))  # a line for every step
    said = call("diagnose", str(folder), "--rows", "20", "--lines", "1")
    assert said.code == 0 and said.out.startswith("SGHMC on digits (first 60 rows), mlp")
    words = [line.split()[0] for line in said.out.splitlines()]
    for word in ("movement", "convergence", "temperature", "lines", "layers", "factors", "health"):
        assert word in words
    assert "skipped: R-hat of 1 chain needs 8 draws a chain; there are 2." in said.out
    assert "skipped: The run is not expanded" in said.out
    shares = [float(line.split()[1].rstrip("%,")) for line in said.err.splitlines() if "%" in line]
    assert shares == sorted(shares) and shares[-1] == 100.0
    path = folder / "eval/diagnostics.json"
    assert said.out.endswith(f"All numbers are in {path}\n")
    assert msgspec.json.decode(path.read_bytes(), type=Diagnostics).subject.draws == 2
    assert call("verify", str(folder)).code == 0


def test_a_folder_that_is_no_run_is_named(tmp_path):
    assert_one_line(call("diagnose", str(tmp_path)), 2, str(tmp_path), "run directory")
    assert_one_line(call("diagnose", str(tmp_path), "--rows", "many"), 2, "rows")


def test_the_summary_names_extremes_and_ends_with_worries():
    skipped = results.Skipped(reason="Too short.")
    mixing = {"r_hat": 1.5, "ess_bulk": 3.0, "ess_tail": None}
    found = Diagnostics(
        subject=result("SGHMC", 0, {}).subject,
        distances=results.Distances(d=[[1.0, 3.0]], d_bar=[[0.5, 1.5]]),
        spectra=results.Spectra(
            layers={
                "stem": results.Extremes(largest=[2.0], smallest=[0.5], condition=[4.0]),
                "head": results.Extremes(largest=[9.0], smallest=[0.75], condition=[12.0]),
            }
        ),
        factors=skipped,
        connectivity=results.Connectivity(
            rows=10,
            lines=[
                results.Connection(first=1, second=2, at=[0, 1], error=[0.1, 0.1], barrier=0.0),
                results.Connection(first=2, second=3, at=[0, 1], error=[0.1, 0.1], barrier=0.25),
            ],
        ),
        plane=skipped,
        convergence=results.Convergence(
            chains=1, draws=9, energy=mixing, worst=mixing, median=mixing, quantities=30
        ),
        temperatures=skipped,
        worries=["It is cold."],
    )
    lines = summary(found)
    text = "\n".join(lines)
    assert "movement     draws are 2 apart, 1 of a draw's length" in text
    assert "energy: R-hat 1.5, effective sample size 3 (tails undefined)" in text
    assert "the error rises by up to 0.25, from draw 2 to 3, on 10 training rows" in text
    assert "singular values from 0.5 (stem) to 9 (head)" in text
    assert "plane        skipped: Too short." in text
    assert lines[-1] == "health       It is cold."
    well = summary(msgspec.structs.replace(found, worries=[]))[-1]
    assert "nothing to worry about" in well
