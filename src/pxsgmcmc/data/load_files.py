"""From the user's files, as the section [data] of a configuration names them, to a `Dataset`.

    [data]
    train = {x = "X.npy", y = "y.npy"}         # or {x = "houses.csv", y = "price"}
    validation = 0.1                           # or {x = ..., y = ...}
    test = {x = "X_test.npy", y = "y_test.npy"}
    shifts = {winter = {x = ..., y = ...}}
    out_of_distribution = {noise = {x = ...}}

`y` is a file, or a column of x's table (by name or number, several in a list), or a key of x's npz
file. "data.npz:images" is the array "images" of data.npz. Of a table, x takes all columns that are
not y, or those that `columns = ["area", "rooms"]` lists. Paths are relative to the configuration.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pxsgmcmc.data._fingerprint import fingerprint
from pxsgmcmc.data._read_split import RawSplit, read_split
from pxsgmcmc.data._split import split_rows
from pxsgmcmc.data._tasks import Targets, find_targets
from pxsgmcmc.data.check import check_inputs
from pxsgmcmc.data.dataset import Dataset, Split
from pxsgmcmc.data.standardise import Standardisation, identity, measure
from pxsgmcmc.errors import UserError, check_number, did_you_mean, one_line

_FILES = ("train", "validation", "test", "shifts", "out_of_distribution")
_SETTINGS = (*_FILES, "task", "labels", "standardise", "header")
_STANDARDISE = ("features", "targets", "both", "none")


def load_files(
    spec: Mapping[str, Any],
    *,
    base: Path,
    validation: float | None = None,
    seed: int = 0,
) -> Dataset:
    """Read, check and describe the user's data.

    Splits that have files of their own stay mapped where they are npy files of float32 or uint8; a
    fraction for validation copies the training rows into memory.

    Args:
      spec: `train`, and optionally `validation` (files or a fraction), `test`, `shifts` and
        `out_of_distribution` as above; `task` ("classification" or "regression", else guessed by
        the type of y), `labels` ("codes" from 0 on, or "names"), `standardise` ("features",
        "targets", "both" or "none"; by default the features, and the targets of a regression) and
        `header` (whether CSV files have one, else found out).
      base: the folder that paths start from.
      validation: a fraction of the training rows, instead of the one in `spec`.
      seed: of the choice of these rows; each class is split in proportion.

    Returns:
      A `Dataset` called after the file of training inputs, whose `summary()` says what was read.

    Example:
      >>> import tempfile, numpy as np
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     np.save(f"{folder}/X.npy", np.arange(40.0).reshape(20, 2))
      ...     np.save(f"{folder}/y.npy", np.arange(20) % 2)
      ...     files = {"train": {"x": "X.npy", "y": "y.npy"}, "validation": 0.2}
      ...     print(load_files(files, base=Path(folder)).summary())
      X.npy: classification into 2 classes, no missing values
        train: 16 rows, x (2) float32, 0 (8), 1 (8)
        validation: 4 rows, x (2) float32, 0 (2), 1 (2)
        inputs standardised by mean 20.5, 21.5 and standard deviation 12.24, 12.24
        classification, because y holds whole numbers; the setting `task` decides
        validation is 0.2 of the training rows, chosen by `split_seed` = 0
    """
    fraction = _check_settings(spec, validation)
    reading = {"header": spec.get("header"), "mixed": spec.get("labels") == "names"}
    train = read_split("train", spec["train"], base, **reading)
    if train.y is None:
        raise UserError("`data.train` must name labels or targets as well; add `y = ...`.")
    targets = find_targets(train, spec)
    notes = [*train.notes, *targets.notes]

    def read(name: str, files: Any) -> Split:
        raw = read_split(name, files, base, **reading, columns=train.feature_names)
        check_inputs(raw.x, raw.x_file, like=train.x)
        notes.extend(raw.notes)
        return Split(raw.x, None if raw.y is None else targets.encode(raw))

    splits = {"train": Split(train.x, targets.encode(train))}
    if fraction is not None:
        splits |= _divided(splits["train"], fraction, seed, stratified=bool(targets.classes))
        chosen = f"chosen by `split_seed` = {seed}"
        notes.append(f"validation is {fraction:g} of the training rows, {chosen}")
    elif "validation" in spec:
        splits["validation"] = read("validation", spec["validation"])
    if "test" in spec:
        splits["test"] = read("test", spec["test"])
    shifts, outside = (
        {name: read(f"{group}.{name}", files) for name, files in _group(spec, group).items()}
        for group in ("shifts", "out_of_distribution")
    )
    inputs, scale = _scales(spec, splits["train"], train, targets, notes)
    return Dataset(
        name=Path(train.x_file).name,
        splits=splits,
        classes=targets.classes,
        mean=inputs.mean,
        std=inputs.std,
        sha256=fingerprint(splits),
        feature_names=train.feature_names,
        target_names=targets.target_names,
        targets=scale,
        shifts=shifts,
        out_of_distribution=outside,
        notes=tuple(dict.fromkeys(notes)),
    )


def _check_settings(spec: Mapping[str, Any], validation: float | None) -> float | None:
    """Refuse settings that are unknown or do not go together; return the validation fraction."""
    for word in spec:
        if word not in _SETTINGS:
            hint = did_you_mean(word, _SETTINGS)
            raise UserError(f"`data` has no setting {word!r} beside files; {hint}")
    if "train" not in spec:
        raise UserError("`data.train` must name the files to learn from, as {x = ..., y = ...}.")
    header = spec.get("header")
    if header is not None and not isinstance(header, bool):
        raise UserError(f"`data.header` must be true or false, got {one_line(header)}.")
    named = spec.get("validation")
    if validation is not None and isinstance(named, Mapping):
        raise UserError("`data.validation` names files already; leave the fraction out.")
    fraction = named if validation is None else validation
    if fraction is None or isinstance(fraction, Mapping):
        return None
    return check_number("data.validation", fraction, above=0.0, below=1.0)


def _group(spec: Mapping[str, Any], group: str) -> Mapping[str, Any]:
    sets = spec.get(group, {})
    if not isinstance(sets, Mapping):
        raise UserError(
            f"`data.{group}` must be named sets of files, as {{name = {{x = ...}}}}, got "
            f"{one_line(sets)}."
        )
    return sets


def _divided(train: Split, fraction: float, seed: int, *, stratified: bool) -> dict[str, Split]:
    x, y = train
    count = round(fraction * len(x))
    if not 0 < count < len(x):
        raise UserError(
            f"`data.validation` must leave rows on both sides, got {fraction:g} of {len(x)} rows."
        )
    labels = y if stratified else None
    rows = split_rows(f"validation {seed}", len(x), (len(x) - count, count), labels)
    assert y is not None
    names = ("train", "validation")
    # Sorted, so that a mapped file is read from front to back.
    parts = {name: np.sort(part) for name, part in zip(names, rows, strict=True)}
    return {name: Split(x[part], y[part]) for name, part in parts.items()}


def _scales(
    spec: Mapping[str, Any], rows: Split, train: RawSplit, targets: Targets, notes: list[str]
) -> tuple[Standardisation, Standardisation | None]:
    """Scales of inputs and targets, measured on the training rows that validation leaves."""
    regression = not targets.classes
    choice = spec.get("standardise", "both" if regression else "features")
    if choice not in _STANDARDISE:
        known = ", ".join(_STANDARDISE)
        raise UserError(f"`data.standardise` must be one of {known}, got {one_line(choice)}.")
    if choice in ("targets", "both") and not regression:
        raise UserError(
            f"`data.standardise` must be features or none for a classification, got {choice!r}."
        )
    inputs, scale = identity(rows.x.shape[-1]), None
    if choice in ("features", "both"):
        inputs, constant = measure(rows.x)
        names = [train.feature_names[i] if train.feature_names else str(i) for i in constant]
        if names:
            notes.append(f"constant columns of x, left at zero: {', '.join(names)}")
    if regression:
        assert rows.y is not None
        scale = measure(rows.y)[0] if choice in ("targets", "both") else identity(rows.y.shape[1])
    return inputs, scale
