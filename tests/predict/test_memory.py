"""100 draws, 950,000 inputs and 10 classes in 100 MB: at a tenth of the size, measured."""

import tracemalloc

import numpy as np

import pxsgmcmc as px
from pxsgmcmc.predict import predict

BAR = 100e6  # bytes, beyond one draw and one batch
ROWS, CLASSES = 950_000, 10


PROBLEM = px.Problem(
    lambda w, x: x @ w,
    px.likelihoods.categorical(),
    train=(np.zeros((CLASSES, 1), np.float32), np.arange(CLASSES)),
)


def measured_peak(draws, rows, batch_size=1000):
    """Bytes that NumPy held at most; the draws and batches on the device are not among them."""
    x = np.zeros((rows, 1), np.float32)
    weights = (np.full((1, CLASSES), i, np.float32) for i in range(draws))
    predict(PROBLEM, [np.zeros((1, CLASSES), np.float32)], x[:batch_size])  # compiled beforehand
    tracemalloc.start()
    try:
        found = predict(PROBLEM, weights, x, batch_size=batch_size)
        return tracemalloc.get_traced_memory()[1], found
    finally:
        tracemalloc.stop()


def test_the_peak_is_that_of_what_is_returned_and_a_few_blocks():
    rows = ROWS // 10
    peak, found = measured_peak(4, rows)
    returned = sum(
        getattr(found, name).nbytes
        for name in ("probabilities", "entropy", "aleatoric", "epistemic")
    )
    assert returned == 8 * rows * (CLASSES + 3)
    blocks = peak - returned  # these do not grow with the data
    assert blocks < 1.1e6
    # What is returned for all rows, and the same blocks.
    assert 10 * returned + blocks < BAR


def test_the_peak_does_not_grow_with_the_draws():
    assert measured_peak(30, 8_000)[0] < measured_peak(3, 8_000)[0] + 100_000
