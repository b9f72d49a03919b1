"""A chain that was thrown to where its noise scale is beyond all data goes back, and says so."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

import pxsgmcmc as px
from pxsgmcmc.sklearn import PXRegressor


def sinusoid(split):
    splits = px.data.load("sinusoid").splits.values()
    x = np.concatenate([np.asarray(part.x, np.float64).reshape(len(part.x), -1) for part in splits])
    y = np.concatenate([np.asarray(part.y, np.float64).reshape(-1) for part in splits])
    x, new, y, y_new = train_test_split(x, y, test_size=0.2, random_state=split)
    mean, std, centre, scale = x.mean(0), x.std(0), y.mean(), y.std()
    rows = (x - mean) / std, (y - centre) / scale
    return *rows, (new - mean) / std, (y_new - centre) / scale


@pytest.mark.slow
def test_a_chain_that_is_thrown_to_enormous_noise_is_set_back():
    """Energies of 37,000 where others have 2,800, and a deviation of 1e56, were predicted from."""
    x, y, new, y_new = sinusoid(split=3)
    with pytest.warns(ConvergenceWarning, match="set back"):
        model = PXRegressor(random_state=3, max_seconds=36_000.0).fit(x, y)
    mean, std = model.predict(new, return_std=True)
    assert np.sqrt(np.mean((mean - y_new) ** 2)) < 0.5  # a straight line has 0.7
    assert np.all(std < 1.0)
