"""`pxsgmcmc diagnose`: what it prints, and what it says when it cannot."""

import msgspec
import pytest
from msgspec.structs import replace

import pxsgmcmc as px
from pxsgmcmc import progress, results
from pxsgmcmc.cli.diagnose import summary
from pxsgmcmc.results import Diagnostics, Verdict
from pxsgmcmc.run import DIAGNOSTICS
from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.made_up_results import result
from tests.helpers.small_settings import SMALL


@pytest.fixture
def folder(tmp_path):
    """A plain run of two draws."""
    text = SMALL.replace("out = 1", "out = 0").replace("into = 1", "into = 0")
    (tmp_path / "small.toml").write_text(text)
    flags = ["--chain.draws", "2", "--out", str(tmp_path / "run")]
    assert call("run", str(tmp_path / "small.toml"), *flags).code == 0
    return tmp_path / "run"


def test_a_run_is_looked_into_with_progress_and_a_word_on_its_health(folder, monkeypatch):
    # A line for every step.
    monkeypatch.setattr(progress.Lines.__init__, "__defaults__", (None, 0.0))
    said = call("diagnose", str(folder), "--rows", "20", "--lines", "1")
    assert said.code == 0 and said.out.startswith("SGHMC on digits (first 60 rows)")
    words = [line.split()[0] for line in said.out.splitlines()]
    for word in ("movement", "convergence", "temperature", "lines", "layers", "factors", "verdict"):
        assert word in words
    assert "skipped: R-hat of 1 chain needs 10 draws a chain; there are 2." in said.out
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


def test_the_summary_names_extremes_and_ends_with_the_verdict():
    skipped = results.Skipped(reason="Too short.")
    mixing = {"r_hat": 1.5, "ess_bulk": 3.0, "ess_tail": None}
    found = Diagnostics(
        subject=result("SGHMC", 0, {}).subject,
        distances=results.DistancesResult(d=[[1.0, 3.0]], d_bar=[[0.5, 1.5]]),
        spectra=results.SpectraResult(
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
        convergence=results.ConvergenceResult(
            chains=1, draws=9, energy=mixing, worst=mixing, median=mixing, quantities=30
        ),
        temperatures=skipped,
        verdict=Verdict(
            healthy=False, headline="not healthy: T[base] 0.2", warnings=["It is cold."]
        ),
    )
    lines = summary(found)
    text = "\n".join(lines)
    assert "movement     draws are 2 apart, 1 of a draw's length" in text
    assert "energy: R-hat 1.5, effective sample size 3 (tails undefined)" in text
    assert "the error rises by up to 0.25, from draw 2 to 3, on 10 training rows" in text
    assert "singular values from 0.5 (stem) to 9 (head)" in text
    assert "plane        skipped: Too short." in text
    assert lines[-2:] == ["verdict      not healthy: T[base] 0.2", "verdict      - It is cold."]
    well = Verdict(healthy=True, headline="healthy: T[base] 1.01")
    lines = summary(msgspec.structs.replace(found, verdict=well))
    assert lines[-1] == "verdict      healthy: T[base] 1.01"


def test_the_summary_tells_an_infinite_number_from_one_that_is_not_defined():
    mixing = {"r_hat": "infinite", "ess_bulk": None, "ess_tail": None}
    skipped = results.Skipped(reason="Too short.")
    parts = ("distances", "spectra", "factors", "connectivity", "plane", "temperatures")
    found = Diagnostics(
        subject=result("SGHMC", 0, {}).subject,
        convergence=results.ConvergenceResult(
            chains=2, draws=9, energy=mixing, worst=mixing, median=mixing, quantities=30
        ),
        verdict=Verdict(healthy=False, headline="not healthy"),
        **dict.fromkeys(parts, skipped),
    )
    said = "R-hat infinite, effective sample size undefined (tails undefined)"
    assert f"energy: {said}" in "\n".join(summary(found))


def test_what_was_diagnosed_is_part_of_every_later_verdict_on_the_same_draws(folder):
    assert call("diagnose", str(folder), "--rows", "20", "--lines", "1").code == 0
    run = px.open(folder)
    diagnosed = msgspec.json.decode(run.read_artifact(DIAGNOSTICS), type=Diagnostics)
    still = results.DistancesResult(d=[[0.0]], d_bar=[[0.0]])
    stands = "The chain does not move: consecutive draws are the same."
    assert stands not in run.verdict.warnings
    run.write_artifact(DIAGNOSTICS, results.write(replace(diagnosed, distances=still)))
    for verdict in (run.verdict, px.open(folder).verdict, px.open(folder).evaluate().verdict):
        assert stands in verdict.warnings
    assert "not healthy" in repr(px.open(folder)) and stands in call("show", str(folder)).out
    assert stands not in px.open(folder).skip(1).verdict.warnings  # that was said of other draws
