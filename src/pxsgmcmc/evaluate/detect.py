"""How well uncertainty tells a set of another kind from the test set, over subsets."""

import zlib

import numpy as np

from pxsgmcmc.evaluate.options import EvaluateOptions
from pxsgmcmc.evaluate.parts import thinned
from pxsgmcmc.metrics import detection, roc
from pxsgmcmc.results import Detection

BINS = 30  # of the histograms of uncertainty


def detect(
    inside: np.ndarray, outside: np.ndarray, name: str, options: EvaluateOptions
) -> Detection:
    """Draw equally seeded subsets of both sides and measure each pair.

    The published tables take 1,000 rows of each and do not say which; so several subsets are drawn,
    and their spread is reported. Histograms and the ROC curve are those of the first.

    Args:
      inside: (test rows,) uncertainty of the test set: entropy for classes, spread for numbers.
      outside: (rows,) that of the other set.
      name: of the other set; each has random numbers of its own.
      options: subsets, their size and seed.
    """
    # Where both sets are taken whole there is but one pair.
    count = options.subsets if max(len(inside), len(outside)) > options.subset else 1
    pairs = [
        (_subset(inside, "", options, number), _subset(outside, name, options, number))
        for number in range(count)
    ]
    tables = [detection(*pair) for pair in pairs]
    columns = {key: np.array([table[key] for table in tables]) for key in tables[0]}
    first_inside, first_outside = pairs[0]
    largest = max(first_inside.max(), first_outside.max(), 1e-12)
    edges = np.linspace(0.0, largest, BINS + 1)
    curve = roc(first_inside, first_outside, "outside")
    shown = thinned(len(curve.true_positive_rate))
    return Detection(
        rows_inside=len(first_inside),
        rows_outside=len(first_outside),
        metrics={key: float(values.mean()) for key, values in columns.items()},
        spread={
            key: float(values.std(ddof=1)) if len(values) > 1 else 0.0
            for key, values in columns.items()
        },
        subsets=count,
        edges=edges.tolist(),
        inside=_histogram(first_inside, edges),
        outside=_histogram(first_outside, edges),
        false_alarms=curve.false_positive_rate[shown].tolist(),
        detections=curve.true_positive_rate[shown].tolist(),
    )


def _subset(scores: np.ndarray, name: str, options: EvaluateOptions, number: int) -> np.ndarray:
    if len(scores) <= options.subset:
        return scores
    random = np.random.default_rng((options.seed, zlib.crc32(name.encode()), number))
    return scores[np.sort(random.choice(len(scores), options.subset, replace=False))]


def _histogram(values: np.ndarray, edges: np.ndarray) -> list[int]:
    # Rounding may put a value just below zero.
    return np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0].tolist()
