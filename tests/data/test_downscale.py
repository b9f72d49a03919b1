"""Images made smaller by area means."""

import numpy as np
import pytest
from tests.helpers.small_settings import SMALL

from pxsgmcmc.config import parse_config
from pxsgmcmc.config.build import build
from pxsgmcmc.data import load
from pxsgmcmc.data._downscale import downscale
from pxsgmcmc.errors import UserError


def test_every_split_is_shrunk_by_means_over_squares():
    whole = load("digits")
    small = downscale(whole, 2)
    x = whole.splits["test"].x.astype(float)
    means = x.reshape(-1, 4, 2, 4, 2, 1).mean(axis=(2, 4))
    assert np.abs(small.splits["test"].x - means).max() <= 0.5
    assert {split.x.shape[1:] for split in small.splits.values()} == {(4, 4, 1)}
    assert small.sha256 != whole.sha256 and small.splits["train"].y is whole.splits["train"].y
    assert downscale(whole, 1) is whole


def test_a_factor_that_does_not_fit_is_refused():
    with pytest.raises(
        UserError, match="must divide the height and width of the images of 'digits'"
    ):
        downscale(load("digits"), 3)
    with pytest.raises(UserError, match="`downscale` needs images, and 'wine' has none"):
        downscale(load("wine"), 2)


def test_the_sets_of_an_evaluation_are_shrunk_alike():
    flags = ["--data.downscale", "2", "--evaluate.shifts", '["digits-shift"]']
    flags += ["--evaluate.out_of_distribution", '["photos-sklearn"]']
    problem = build(parse_config(SMALL, flags), judging=True).problem
    assert problem.shifts["digits-shift"].x.shape[1:] == (4, 4, 1)
    assert problem.out_of_distribution["photos-sklearn"].x.shape[1:] == (4, 4, 1)
    assert "downscaled by 2" in problem.name


@pytest.mark.parametrize("name", ["photos-sklearn-rgb", "photos-skimage-rgb"])
def test_colour_photographs_have_the_shape_of_cifar(name):
    photos = load(name)
    x = photos.splits["test"].x
    assert x.shape[1:] == (32, 32, 3) and x.dtype == np.uint8 and 300 < len(x) <= 1000
    assert photos.splits["test"].y is None and len(photos.mean) == 3
