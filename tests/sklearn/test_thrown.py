"""A chain that was thrown to where its noise scale is beyond all data goes back, and says so."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

import pxsgmcmc as px
from pxsgmcmc.sklearn import PXRegressor
from pxsgmcmc.tuning.engine import chains


def test_a_chain_whose_steps_are_too_long_goes_back_and_says_so(monkeypatch):
    found = chains.find_settings

    def too_long(*given):
        state, settings, taken = found(*given)
        own = settings.settings
        return state, settings._replace(settings=own._replace(step_size=8.0 * own.step_size)), taken

    monkeypatch.setattr(chains, "find_settings", too_long)
    x = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(ConvergenceWarning, match=r"set back \d times?\. Fit again with another"):
        fitted = PXRegressor((4,), draws=4, chains=2, random_state=0).fit(x, x[:, 0])
    mean, std = fitted.predict(x, return_std=True)
    assert np.abs(mean - x[:, 0]).max() < 0.5 and std.max() < 1.0


def sinusoid(split):
    splits = px.data.load("sinusoid").splits.values()
    x = np.concatenate([np.asarray(part.x, np.float64).reshape(len(part.x), -1) for part in splits])
    y = np.concatenate([np.asarray(part.y, np.float64).reshape(-1) for part in splits])
    x, new, y, y_new = train_test_split(x, y, test_size=0.2, random_state=split)
    mean, std, centre, scale = x.mean(0), x.std(0), y.mean(), y.std()
    rows = (x - mean) / std, (y - centre) / scale
    return *rows, (new - mean) / std, (y_new - centre) / scale


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_chain_is_left_where_its_noise_is_enormous():
    """Energies of 37,000 where others have 2,800, and a deviation of 1e56, were predicted from."""
    x, y, new, y_new = sinusoid(split=3)
    model = PXRegressor(random_state=3, max_seconds=36_000.0).fit(x, y)
    mean, std = model.predict(new, return_std=True)
    assert np.sqrt(np.mean((mean - y_new) ** 2)) < 0.5  # a straight line has 0.7
    assert np.all(std < 1.0)
