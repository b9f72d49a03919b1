"""Random crops and flips against a plain loop, and their frequencies."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from pxsgmcmc.data import _augment as augment_module
from pxsgmcmc.data._augment import crop_and_flip
from pxsgmcmc.errors import UserError

augment = jax.jit(augment_module.augment, static_argnames=("pad", "flip"))
FALSE_ALARM = 1e-6


def by_loop(images, offsets, flips, pad):
    out = np.zeros_like(images)
    for index, (image, (down, across), flip) in enumerate(zip(images, offsets, flips, strict=True)):
        padded = np.pad(image, ((pad, pad), (pad, pad), (0, 0)))
        crop = padded[down : down + image.shape[0], across : across + image.shape[1]]
        out[index] = crop[:, ::-1] if flip else crop
    return out


def random_images(*shape):
    return np.random.default_rng(0).integers(1, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize(
    ("shape", "pad"), [((60, 32, 32, 3), 4), ((60, 8, 8, 1), 1), ((9, 6, 5, 2), 9)]
)
def test_equals_a_plain_loop_at_given_offsets(shape, pad):
    rng = np.random.default_rng(1)
    images = random_images(*shape)
    offsets, flips = rng.integers(0, 2 * pad + 1, (shape[0], 2)), rng.random(shape[0]) < 0.5
    crop = jax.jit(crop_and_flip, static_argnames="pad")
    ours = crop(jnp.asarray(images), jnp.asarray(offsets), jnp.asarray(flips), pad=pad)
    assert ours.dtype == jnp.uint8
    assert (np.asarray(ours) == by_loop(images, offsets, flips, pad)).all()


def offsets_and_flips(out: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where a crop came from, read off an image whose pixels name their row and column."""
    row, column = out[:, 4, 4, 0].astype(int), out[:, 4, 4, 1].astype(int)
    step = out[:, 4, 5, 1].astype(int) - column
    flips = step < 0
    # With padding 4, row 4 of the crop at offset r is row r of the image; columns likewise, counted
    # from the other side when mirrored.
    at = np.where(flips, out.shape[2] - 1 - 4, 4)
    return np.stack([row, column - at + 4], axis=1), flips


def test_every_offset_and_flip_is_equally_likely_and_independent(key):
    n = 8100
    row, column = np.meshgrid(np.arange(16), np.arange(16), indexing="ij")
    images = np.broadcast_to(np.stack([row, column], axis=-1).astype(np.uint8), (n, 16, 16, 2))
    offsets, flips = offsets_and_flips(np.asarray(augment(key, jnp.asarray(images))))
    assert offsets.min() == 0 and offsets.max() == 8
    kind = (offsets[:, 0] * 9 + offsets[:, 1]) * 2 + flips
    counts = np.bincount(kind, minlength=162)  # 50 expected of each
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    assert (counts > 0).all()


def test_the_border_is_black_in_raw_pixels_and_as_wide_as_the_offset(key):
    out = np.asarray(augment(key, jnp.full((200, 12, 12, 3), 7, jnp.uint8)))
    assert set(np.unique(out)) == {0, 7}
    rows = (out[..., 0] == 7).any(axis=2).sum(axis=1)
    columns = (out[..., 0] == 7).any(axis=1).sum(axis=1)
    assert set(rows) == set(columns) == set(range(8, 13))
    assert (out.sum(axis=(1, 2, 3)) == 7 * 3 * rows * columns).all()


def test_without_padding_and_flips_nothing_changes(key):
    images = random_images(20, 8, 8, 3)
    assert (np.asarray(augment(key, jnp.asarray(images), pad=0, flip=False)) == images).all()


def test_without_flips_no_image_is_mirrored_and_without_padding_half_are(key):
    images = random_images(400, 8, 8, 1)
    crop_key, flip_key = jax.random.split(key)
    out = np.asarray(augment(flip_key, jnp.asarray(images), pad=0))
    flipped = (out == images[:, :, ::-1]).all(axis=(1, 2, 3))
    kept = (out == images).all(axis=(1, 2, 3))
    assert (flipped | kept).all()
    assert stats.binomtest(int(flipped.sum()), 400).pvalue > FALSE_ALARM
    ramp = np.broadcast_to(np.arange(1, 9, dtype=np.uint8)[:, None], (99, 8, 8, 1))
    cropped = np.asarray(augment(crop_key, jnp.asarray(ramp), pad=2, flip=False))[
        :, 4, 2:6, 0
    ].astype(int)
    assert (np.diff(cropped, axis=1) == 1).all()


def test_a_key_fixes_the_result_and_steps_differ(key):
    images = jnp.asarray(random_images(50, 16, 16, 3))
    step = jax.jit(lambda key, t: augment(jax.random.fold_in(key, t), images))
    outs = [np.asarray(step(jax.random.clone(key), t)) for t in (0, 0, 1, 5000)]
    assert (outs[0] == outs[1]).all()
    assert (outs[0] != outs[2]).any() and (outs[0] != outs[3]).any()


@pytest.mark.parametrize("dtype", [jnp.uint8, jnp.float32, jnp.bfloat16])
def test_keeps_the_dtype(key, dtype):
    out = jax.eval_shape(augment, key, jax.ShapeDtypeStruct((2, 8, 8, 1), dtype))
    assert out.dtype == dtype and out.shape == (2, 8, 8, 1)


def test_names_the_bad_argument(key):
    with pytest.raises(UserError, match="`pad` must be a whole number"):
        augment(key, jnp.zeros((1, 8, 8, 1)), pad=-1)
    with pytest.raises(UserError, match=r"`images` must have the shape .* got \(8, 8, 1\)"):
        augment(key, jnp.zeros((8, 8, 1)))


@pytest.mark.slow
def test_a_batch_of_256_takes_less_than_forty_milliseconds(key):
    # A gradient step of R20-FRN-Swish on the same batch takes over 1.3 seconds on a desktop
    # processor; 3% of that is 40 ms.
    images = jnp.asarray(random_images(256, 32, 32, 3))
    augment(jax.random.fold_in(key, 0), images).block_until_ready()
    seconds = []
    for t in range(1, 21):
        step_key = jax.random.fold_in(key, t)
        start = time.perf_counter()
        augment(step_key, images).block_until_ready()
        seconds.append(time.perf_counter() - start)
    assert np.median(seconds) < 0.040
