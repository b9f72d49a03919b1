"""What an estimator says of chains that are not healthy, or of which not all draws are there."""

import os
import signal

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.exceptions import ConvergenceWarning

from pxsgmcmc.chain.runner import Runner
from pxsgmcmc.health import Evidence, Heat, judge
from pxsgmcmc.sklearn import PXClassifier, PXRegressor
from pxsgmcmc.sklearn.verdict import REMEDIES

X = np.random.default_rng(0).normal(size=(60, 2))
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_an_unhealthy_chain_is_told_with_a_remedy():
    with pytest.warns(
        ConvergenceWarning, match="`max_seconds` cut the chains short: give a larger"
    ):
        # No time: one draw a step, which are nearly the same.
        PXRegressor((4,), draws=10, chains=2, max_seconds=1e-3, random_state=0).fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("known", "advice"),
    [
        ({"setbacks": 1, "cut_short": True}, "Fit again with another `random_state`"),
        ({"kinetic": {"base": Heat(1.3, 1.0)}}, "Fit again with another `random_state`"),
        ({"energy_r_hat": 2.0}, "Ask for more `draws`"),
    ],
)
def test_chains_that_are_off_their_temperature_are_not_told_to_run_longer(known, advice):
    evidence = Evidence(draws=20, **known)
    assert f". {advice}" in REMEDIES.sentence(judge(evidence), evidence)


def test_details_and_page_of_a_fit_advise_what_an_estimator_has(tmp_path):
    fitted = PXRegressor((4,), draws=10, chains=2, max_seconds=1e-3, random_state=0)
    run = fitted.fit(X, X[:, 0]).run_
    page = fitted.report(tmp_path / "page.html", held_out=(X, X[:, 0])).read_text("utf-8")
    assert run.verdict.warnings and "`max_seconds`, which cut the chains short" in str(run.verdict)
    for argument in ("burn_in", "skip", "cycle_length", "friction", "batch_size"):
        assert f"`{argument}`" not in str(run.verdict) and f"<code>{argument}</code>" not in page


@pytest.mark.parametrize("stored", [False, True])
def test_an_interrupted_fit_is_done_once_no_more_draws_are_wanted(stored, tmp_path, monkeypatch):
    def interrupted(self, place, params):
        kept(self, place, params)
        if pressed:  # once: a second Ctrl-C does not wait for the chunk
            os.kill(os.getpid(), pressed.pop())

    kept, pressed = Runner._keep_draw, [signal.SIGINT]
    out = tmp_path / "run" if stored else None
    settings = {"network": (4,), "chains": 2, "random_state": 0, "out": out, "warm_start": True}
    fitted = PXClassifier(**settings, draws=2).fit(X, X[:, 0] > 0)
    assert fitted.run_.status == "done"
    monkeypatch.setattr(Runner, "_keep_draw", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fitted.set_params(draws=500).fit(X, X[:, 0] > 0)
    monkeypatch.undo()
    there = fitted.run_
    assert there.status == "interrupted" and 4 <= len(there) < 1_000
    again = fitted.set_params(draws=len(there) // 2).fit(X, X[:, 0] > 0).run_
    assert again.status == "done" and len(again) == len(there)
