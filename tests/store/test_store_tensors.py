"""Arrays become the bytes of a safetensors file and come back without the loss of a bit."""

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
from store_samples import files_of

from pxsgmcmc.errors import UserError
from pxsgmcmc.store import create_run, tensors

DTYPES = (
    "float64 float32 float16 bfloat16 complex64 bool "
    "int64 int32 int16 int8 uint64 uint32 uint16 uint8"
).split()


@pytest.mark.parametrize(
    "value",
    [
        *(np.arange(-2, 4).astype(d) for d in "float64 float32 float16 int64 int32 int8".split()),
        *(np.arange(6).astype(d) for d in "uint64 uint32 uint16 uint8 int16 complex64".split()),
        np.array([0.1, np.nan, np.inf, -0.0], ml_dtypes.bfloat16),
        np.array([True, False]),
        np.float32(1.5),
        np.int64(-3),
        np.zeros((0, 3), np.float32),
        np.arange(12, dtype=">i4").reshape(3, 4),
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.arange(12.0)[::-2],
    ],
    ids=lambda value: f"{value.dtype}{value.shape}",
)
def test_every_dtype_and_layout_survives_bit_for_bit(value):
    back = tensors.decode(tensors.encode({"x": value}))["x"]
    assert back.dtype == value.dtype.newbyteorder("<") and back.shape == value.shape
    assert back.tobytes() == np.asarray(value).astype(back.dtype).tobytes()


def test_the_bytes_are_those_of_the_reference_writer():
    rng = np.random.default_rng(0)
    for _ in range(50):
        arrays = {
            f"{'layer/é' * int(rng.integers(2))}{i}": rng.integers(
                0, 2, rng.integers(0, 4, 2)
            ).astype(d)
            for i, d in enumerate(rng.choice(np.array(DTYPES, object), int(rng.integers(0, 20))))
        }
        assert tensors.encode(arrays) == safetensors.numpy.save(arrays)


def test_the_same_arrays_give_the_same_bytes_in_any_order():
    one = tensors.encode({"a": np.zeros(3), "b": np.float32(1), "c": np.int8([1])})
    assert one == tensors.encode({"c": np.int8([1]), "a": np.zeros(3), "b": np.float32(1)})


@pytest.mark.parametrize(
    "arrays",
    [
        {"x": np.array(["text"])},
        {"x": np.array([object()])},
        {"x": np.zeros(2, np.complex128)},
        {"x": [1.0]},
        {"__metadata__": np.zeros(1)},
        {"": np.zeros(1)},
        {"\ud800": np.zeros(1)},
        {3: np.zeros(1)},
    ],
    ids="text object complex128 list reserved unnamed surrogate number".split(),
)
def test_what_cannot_be_stored_is_refused_in_one_line_and_leaves_nothing(tmp_path, arrays):
    with create_run(tmp_path, "", {}) as run:
        with pytest.raises(UserError, match="must") as refusal:
            run.commit_draw(arrays, step=1)
        assert "\n" not in str(refusal.value) and run.draws == []
    assert files_of(tmp_path / "draws") == []
