"""The labelled and unlabelled sets that a configuration asks to be measured, checked beforehand."""

import numpy as np

from pxsgmcmc.data import Split, load, load_corrupted
from pxsgmcmc.data.cifar import CIFAR10_CLASSES
from pxsgmcmc.data.corruptions import CORRUPTIONS, SEVERITIES, corrupt
from pxsgmcmc.data.official import OFFICIAL
from pxsgmcmc.errors import UserError
from pxsgmcmc.experiment import Experiment


def test_rows(experiment: Experiment) -> Split:
    """The test split, without which there is nothing to evaluate."""
    data = experiment.dataset
    if "test" not in data.splits:
        raise UserError(f"`data.name` must have test rows to be evaluated, got {data.name!r}.")
    return data.splits["test"]


def shifted(experiment: Experiment) -> dict[str, Split]:
    """Test rows of the sets named in `evaluate.shifts`."""
    asked = experiment.config.evaluate
    found = {}
    for name in asked.shifts:
        dataset = load(name, root=_root(experiment))
        classes = experiment.dataset.classes
        split = dataset.splits.get("test")
        if split is None or split.y is None or dataset.classes != classes:
            raise UserError(
                f"`evaluate.shifts` must name sets with test rows of the same {len(classes)} "
                f"classes as {experiment.dataset.name!r}, got {name!r}."
            )
        found[name] = _fitting(split, experiment, "evaluate.shifts", name)
    return found


def outside(experiment: Experiment) -> dict[str, Split]:
    """Test rows of the sets named in `evaluate.out_of_distribution`."""
    asked = experiment.config.evaluate
    found = {}
    for name in asked.out_of_distribution:
        split = load(name, root=_root(experiment)).splits.get("test")
        if split is None:
            raise UserError(
                f"`evaluate.out_of_distribution` must name sets with test rows, got {name!r}."
            )
        found[name] = _fitting(split, experiment, "evaluate.out_of_distribution", name)
    return found


def corrupted(experiment: Experiment, name: str) -> dict[int, Split]:
    """The rows of one corruption at every severity."""
    asked, rows = experiment.config.evaluate, slice(experiment.config.evaluate.corrupted_rows)
    if asked.corruptions is True:
        x, y = test_rows(experiment)
        assert y is not None
        return {s: Split(corrupt(x[rows], name, s, seed=asked.seed), y[rows]) for s in SEVERITIES}
    source, found = str(asked.corruptions), {}
    for severity in SEVERITIES:
        x, y = load_corrupted(source, corruption=name, severity=severity, root=_root(experiment))
        if y is None:
            raise UserError(f"`evaluate.corruptions` must name a set with labels, got {source!r}.")
        split = Split(x[rows], y[rows])
        found[severity] = _fitting(split, experiment, "evaluate.corruptions", source)
    return found


def check_corruptions(experiment: Experiment) -> int:
    """How many rows `corrupted` will give in all; what it would refuse is refused now."""
    asked, data = experiment.config.evaluate, experiment.dataset
    if asked.corruptions is False:
        return 0
    if experiment.train[0].dtype != np.uint8 or experiment.train[0].ndim != 4:
        raise UserError(f"`evaluate.corruptions` needs images, and {data.name!r} has none.")
    if asked.corruptions in OFFICIAL:
        if asked.corruptions != "cifar10-c" or data.classes != CIFAR10_CLASSES:
            raise UserError(
                "`evaluate.corruptions` must be true, false or a corrupted copy of "
                f"{data.name!r}, got {asked.corruptions!r}."
            )
    if asked.corruptions is True:
        rows = len(test_rows(experiment).x[: asked.corrupted_rows])
    else:
        rows = len(corrupted(experiment, next(iter(CORRUPTIONS)))[SEVERITIES[0]].x)
    return rows * len(CORRUPTIONS) * len(SEVERITIES)


def _root(experiment: Experiment) -> str | None:
    config = experiment.config
    return config.evaluate.root if config.evaluate.root is not None else config.data.root


def _fitting(split: Split, experiment: Experiment, setting: str, name: str) -> Split:
    """`split`, if the network can take it."""
    ours, theirs = experiment.train[0], split.x
    if theirs.shape[1:] != ours.shape[1:] or theirs.dtype != ours.dtype:
        raise UserError(
            f"`{setting}` must name sets like {experiment.dataset.name!r}, whose inputs are "
            f"{ours.dtype}{list(ours.shape[1:])}; {name!r} has {theirs.dtype}"
            f"{list(theirs.shape[1:])}."
        )
    return split
