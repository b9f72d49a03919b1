"""What `pxsgmcmc tune` prints at its end."""

from pxsgmcmc.cli import tune
from pxsgmcmc.results import Trial
from tests.tuning import made_up_trials
from tests.tuning.made_up_trials import STEP, VARIANCE


def test_trials_that_diverged_stand_in_the_last_table(capsys):
    settings = {STEP: 0.5, VARIANCE: 1.0}
    lost = [
        Trial(number=n, settings=settings, origin="tpe", folder="", diverged=True) for n in range(7)
    ]
    tune._print_table(made_up_trials.tuning(trials=lost))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + tune.SHOWN
    assert lines[1].split() == ["0", "-", "0.5", "1", "-", "diverged"]
