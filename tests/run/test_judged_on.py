"""A run that is given other test rows."""

import numpy as np

import pxsgmcmc as px
from tests.helpers.small_runs import three_draws


def test_results_on_other_rows_stay_with_them_in_memory(tmp_path):
    run = px.open(three_draws(tmp_path / "run"))
    own = run.evaluate().test.metrics["nll"]
    rows = run.problem.test.x[:40], run.problem.test.y[:40]
    other = run.judged_on(rows)
    nll = other.evaluate().test.metrics["nll"]
    assert len(other) == len(run) and len(other.problem.test.x) == 40 and nll != own
    kept = px.open(run.path).read_artifact("results.json")
    assert kept == run.read_artifact("results.json") != other.read_artifact("results.json")
    p = run.predict(rows[0]).probabilities
    exact = -np.log(p[np.arange(40), rows[1]]).mean()
    assert abs(nll - exact) < 1e-6
