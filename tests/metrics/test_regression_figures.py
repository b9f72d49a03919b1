"""What figures are drawn from: right numbers, few enough, and in the fields of the results."""

import msgspec
import numpy as np
import pytest

from pxsgmcmc.errors import UserError
from pxsgmcmc.metrics import NormalMixture, StudentTMixture, band_figures, regression_figures
from pxsgmcmc.results import Band, Regression
from tests.helpers.random_mixtures import KINDS, observed, random_mixture


@pytest.mark.parametrize("kind", KINDS)
def test_figures_become_results_and_survive_json(kind):
    mixture, _ = random_mixture(kind, (4, 50, 2))
    y = observed(mixture)
    found = msgspec.convert(regression_figures(mixture, y, ["a", "b"]), Regression)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Regression) == found
    assert found.targets == ["a", "b"] and len(found.points) == len(found.spread) == 2
    np.testing.assert_allclose(found.points[1].predicted, mixture.mean()[:, 1])
    np.testing.assert_allclose(found.points[1].observed, y[:, 1])
    np.testing.assert_allclose(found.points[1].std, mixture.std()[:, 1])
    assert sum(found.pit_counts) == 100 and len(found.pit_edges) == len(found.pit_counts) + 1
    assert sum(found.spread[0].count) == 50 and len(found.spread[0].count) == 5


def test_many_rows_are_thinned_to_the_same_ones_every_time():
    mixture, _ = random_mixture("normal", (2, 1000, 1))
    y = observed(mixture)
    found = regression_figures(mixture, y)
    assert found == regression_figures(mixture, y) and found["targets"] == ["y"]
    shown = found["points"][0]
    assert len(shown["predicted"]) == len(shown["observed"]) == len(shown["std"]) == 400
    rows = {tuple(pair) for pair in zip(mixture.mean()[:, 0], y[:, 0], strict=True)}
    pairs = zip(shown["predicted"], shown["observed"], strict=True)
    assert all(tuple(pair) in rows for pair in pairs)
    assert sum(found["pit_counts"]) == 1000


def test_an_infinite_spread_is_null():
    mixture = StudentTMixture(np.zeros((1, 20, 1)), 1.0, 2.0)
    found = msgspec.convert(regression_figures(mixture, np.zeros(20)), Regression)
    assert set(found.points[0].std) == {None} and set(found.spread[0].std) == {None}


def test_bands_hold_quantiles_and_training_data():
    grid, x = np.linspace(0, 1, 5), np.linspace(0, 1, 700)
    mixture = NormalMixture(np.zeros((2, 5, 2)), np.array([1.0, 2.0]))
    bands = band_figures(mixture, grid, x, np.stack([x, -x], axis=1), ["up", "down"])
    up, down = (msgspec.convert(band, Band) for band in bands)
    assert up.target == "up" and down.x == grid.tolist()
    assert down.quantiles["0.95"] == pytest.approx([2 * 1.6448536269514722] * 5)
    assert down.quantiles["0.25"] == pytest.approx([2 * -0.6744897501960817] * 5)
    assert len(up.train_x) == 400 and up.train_y == up.train_x
    assert down.train_y == [-value for value in down.train_x]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": np.array([1.0, 0.0])}, "`grid` must increase"),
        ({"grid": np.array([0.0])}, "`grid` must have 2 entries"),
        ({"y": np.zeros((3, 2))}, "`y` must have 1 columns"),
        ({"names": ["a", "b"]}, "`names` must name 1 targets"),
    ],
)
def test_bad_input_is_named(change, message):
    good = {"grid": np.array([0.0, 1.0]), "x": np.zeros(3), "y": np.zeros(3)}
    with pytest.raises(UserError, match=message):
        band_figures(NormalMixture(np.zeros((1, 2, 1)), 1.0), **(good | change))
