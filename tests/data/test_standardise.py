import json

import msgspec
import numpy as np
import pytest

from pxsgmcmc.data import _arrays as arrays
from pxsgmcmc.data.standardise import Standardisation, measure


def test_a_part_at_a_time_gives_what_the_whole_gives(monkeypatch):
    values = np.random.default_rng(0).normal(3.0, 2.0, (1000, 4)).astype(np.float32)
    whole, _ = measure(values)
    monkeypatch.setattr(arrays, "_BLOCK", 28)  # seven rows
    parts, _ = measure(values)
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(parts.std, whole.std, rtol=1e-12)
    np.testing.assert_allclose(whole.mean, values.mean(axis=0, dtype=float), rtol=1e-12)
    np.testing.assert_allclose(whole.std, values.std(axis=0, dtype=float), rtol=1e-12)
    images = np.random.default_rng(0).integers(0, 256, (50, 2, 2, 3)).astype(np.uint8)
    in_parts = measure(images)
    monkeypatch.undo()
    assert in_parts == measure(images)


def test_images_count_from_zero_to_one_by_channel():
    images = np.random.default_rng(0).integers(0, 256, (20, 5, 4, 3)).astype(np.uint8)
    scale, constant = measure(images)
    np.testing.assert_allclose(scale.mean, (images / 255).mean(axis=(0, 1, 2)))
    np.testing.assert_allclose(scale.std, (images / 255).std(axis=(0, 1, 2)))
    assert constant == ()


def test_a_constant_column_becomes_zero_and_is_named():
    # The mean of equal numbers may differ from them by rounding; the scale must not.
    values = np.column_stack([np.full(997, 0.1, np.float32), np.arange(997, dtype=np.float32)])
    scale, constant = measure(values)
    assert constant == (0,) and scale.std[0] == 1.0
    assert (scale.apply(values)[:, 0] == 0).all()


def test_large_offsets_do_not_swallow_the_spread():
    values = (1e6 + np.arange(1000.0) % 2)[:, None]
    assert measure(values)[0].std == pytest.approx((0.5,))


def test_a_standardisation_survives_json():
    scale, _ = measure(np.random.default_rng(0).normal(size=(10, 3)))
    text = msgspec.json.encode(scale)
    assert json.loads(text) == {"mean": list(scale.mean), "std": list(scale.std)}
    assert msgspec.json.decode(text, type=Standardisation) == scale
