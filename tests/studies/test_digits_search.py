"""The search on digits: its outcome is what its trials say."""

import json

import pytest
from digits_search import DIGITS, OUTCOME

from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.tuning.best_first import PlannedChain, ranking
from pxsgmcmc.tuning.search import Book, flags_of


def test_the_flags_of_every_point_are_settings_of_the_configuration():
    for method, axes in DIGITS.rules.axes.items():
        chain = PlannedChain(method, (1,) * len(axes), 5)
        config = load_config(DIGITS.configs[method], flags_of(DIGITS.rules, chain))
        assert (config.seed, config.prior.variance) == (5, 0.4)
        assert config.sampler.step_size.peak == 2e-3


def test_the_kept_outcome_follows_from_its_trials():
    kept = json.loads(OUTCOME.read_text("utf-8"))
    known = Book(DIGITS, OUTCOME).losses
    assert kept["chosen"] == Book(DIGITS, OUTCOME).chosen()
    for method, found in kept["chosen"].items():
        best = ranking(known, method)[0]
        assert found["mean"] == pytest.approx(best.loss)
