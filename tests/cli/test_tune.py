"""What `pxsgmcmc tune` prints at its end."""

import pytest

from pxsgmcmc.cli import tune
from pxsgmcmc.results import Trial
from pxsgmcmc.tuning.tune import TuneOutcome
from tests.helpers.cli_calls import call
from tests.tuning import made_up_trials
from tests.tuning.made_up_trials import STEP, VARIANCE

CONFIG = """
[data]
name = "wine"
[model]
name = "mlp"
[sampler]
name = "sghmc"
step_size = 1e-3
friction = 5.0
[chain]
draws = 2
cycle_length = 5
batch_size = 20
"""


def test_the_command_that_goes_on_is_the_one_that_was_typed(tmp_path):
    config = tmp_path / "own.toml"
    config.write_text(CONFIG)
    stopped = TuneOutcome(made_up_trials.tuning(), tmp_path, None, stopped_by=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pxsgmcmc.tuning.tune.tune", lambda *_, **__: stopped)
        typed = ["--trials", "3", "--at-once", "1", "--out", str(tmp_path / "mine")]
        said = call("tune", str(config), *typed, "--chain.draws", "5")
    assert said.code == 130
    assert said.out.splitlines()[-1].split()[2:] == [str(config), *typed, "--chain.draws", "5"]


def test_trials_that_diverged_stand_in_the_last_table(capsys):
    settings = {STEP: 0.5, VARIANCE: 1.0}
    lost = [
        Trial(number=n, settings=settings, origin="tpe", folder="", diverged=True) for n in range(7)
    ]
    tune._print_table(made_up_trials.tuning(trials=lost))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + tune.SHOWN
    assert lines[1].split() == ["0", "-", "0.5", "1", "-", "diverged"]
