"""Small tables of real measurements that need no download: they come with scikit-learn.

- `diabetes`: progression of the disease a year later from ten measurements of 442 patients, in the
  units in which they were taken (Efron et al., 2004); a regression, 300, 42 and 100 rows.
- `breast_cancer`: malignant or benign from thirty measurements of cell nuclei in 569 samples
  (Street, Wolberg and Mangasarian, 1993); 400, 69 and 100 rows.
- `wine`: which of three growers from thirteen measurements of 178 wines (Forina et al., 1991); 120,
  18 and 40 rows.

Inputs, and the target of `diabetes`, carry the mean and standard deviation of their training rows.
"""

import numpy as np

from pxsgmcmc.data._extra import need
from pxsgmcmc.data._fingerprint import fingerprint
from pxsgmcmc.data._split import split_rows
from pxsgmcmc.data.dataset import Dataset, Split
from pxsgmcmc.data.standardise import measure


def diabetes() -> Dataset:
    """The regression of `diabetes`; its one target is called "progression".

    Example:
      >>> diabetes().splits["train"].y.shape, diabetes().feature_names[:3]
      ((300, 1), ('age', 'sex', 'bmi'))
    """
    bunch = need("sklearn.datasets", "`diabetes`").load_diabetes(scaled=False)
    return _table("diabetes", bunch, (300, 42, 100), ())


def breast_cancer() -> Dataset:
    """The classes of `breast_cancer`, malignant first.

    Example:
      >>> breast_cancer().classes
      ('malignant', 'benign')
    """
    bunch = need("sklearn.datasets", "`breast_cancer`").load_breast_cancer()
    return _table("breast_cancer", bunch, (400, 69, 100), tuple(map(str, bunch.target_names)))


def wine() -> Dataset:
    """The three classes of `wine`.

    Example:
      >>> wine().splits["train"].x.shape, len(wine().classes)
      ((120, 13), 3)
    """
    bunch = need("sklearn.datasets", "`wine`").load_wine()
    return _table("wine", bunch, (120, 18, 40), tuple(map(str, bunch.target_names)))


def _table(name: str, bunch, sizes: tuple[int, int, int], classes: tuple[str, ...]) -> Dataset:
    x = bunch.data.astype(np.float32)
    y = bunch.target.astype(np.int32) if classes else bunch.target.astype(np.float32)[:, None]
    rows = split_rows(name, len(x), sizes, y if classes else None)
    names = ("train", "validation", "test")
    splits = {split: Split(x[part], y[part]) for split, part in zip(names, rows, strict=True)}
    inputs, _ = measure(splits["train"].x)
    return Dataset(
        name=name,
        splits=splits,
        classes=classes,
        mean=inputs.mean,
        std=inputs.std,
        sha256=fingerprint(splits),
        feature_names=tuple(map(str, bunch.feature_names)),
        target_names=() if classes else ("progression",),
        targets=None if classes else measure(y[rows[0]])[0],
    )
