"""The problem of a configuration: a named set, the user's files, or the user's own function."""

import dataclasses
import functools
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import msgspec
import numpy as np

from pxsgmcmc import likelihoods
from pxsgmcmc.config.data_description import DataDescription, description_of
from pxsgmcmc.config.naming import naming
from pxsgmcmc.config.own_problem import own_problem
from pxsgmcmc.config.schema import Config, Data
from pxsgmcmc.data import Dataset, Split, known_sets, load
from pxsgmcmc.data._augment import augment
from pxsgmcmc.data._downscale import downscale
from pxsgmcmc.data.load_files import load_files
from pxsgmcmc.errors import UserError, did_you_mean, one_line
from pxsgmcmc.likelihoods import Likelihood
from pxsgmcmc.models import Model
from pxsgmcmc.models import build as build_model
from pxsgmcmc.problem import Problem
from pxsgmcmc.types import Array, Key, Tree


class BuiltProblem(NamedTuple):
    """A problem, and what is known besides."""

    problem: Problem
    ends: dict[str, str]  # the names of its input and logits layers, where they are known
    prepared: DataDescription | None  # what to keep of the data


def build_problem(
    config: Config, *, judging: bool, blind: bool = False, prepared: DataDescription | None = None
) -> BuiltProblem:
    """The problem of a configuration.

    Args:
      config: what to build.
      judging: also load the sets that only an evaluation needs.
      blind: without the test rows and everything else that is kept for the judge.
      prepared: what a run keeps of the data, to build a problem that can predict without them.
    """
    if config.problem is not None:
        problem = own_problem(config.problem, config.problem_folder)
        return BuiltProblem(without_test(problem) if blind else problem, {}, None)
    assert config.data is not None and config.model is not None
    dataset = load_data(config, blind=blind) if prepared is None else prepared.dataset()
    likelihood = _likelihood(config, dataset)
    train = dataset.splits["train"]
    train = Split(train.x[: config.data.limit], train.y[: config.data.limit])  # pyright: ignore
    if config.data.augment and train.x.ndim != 4:
        raise UserError(f"`data.augment` needs images, and {dataset.name!r} has none.")
    names = dataset.classes or dataset.target_names
    tag = str(config.model.__struct_config__.tag)
    with naming("model"):
        model = build_model(
            tag, **msgspec.structs.asdict(config.model), classes=likelihood.outputs(len(names))
        )
    shifts, outside = _judging_sets(config, dataset) if judging else ({}, {})
    problem = Problem(
        apply=model.apply,
        likelihood=likelihood,
        train=tuple(train),
        validation=_pair(dataset, "validation"),
        test=None if blind else _pair(dataset, "test"),
        shifts=shifts,
        out_of_distribution=outside,
        names=names,
        transform=functools.partial(scaled, dataset.mean, dataset.std, train.x.dtype == np.uint8),
        augment=_augment(config.data),
        init=init_of(model, train.x),
        name=_data_name(config.data, dataset),
        model=", ".join([tag, *_spelt(config.model)]),
    )
    ends = {"input_layer": model.input_layer, "logits_layer": model.logits_layer}
    return BuiltProblem(problem, ends, prepared or description_of(dataset))


def without_test(problem: Problem) -> Problem:
    """A problem for choosing settings: test rows, shifts and other kinds of data are gone."""
    return dataclasses.replace(problem, test=None, shifts={}, out_of_distribution={})


def load_data(config: Config, *, blind: bool = False) -> Dataset:
    """The data set that a configuration names, or the user's files.

    Args:
      config: that names them.
      blind: the user's files of test rows, shifts and other kinds of data are not opened.
    """
    data = config.data
    assert data is not None
    if data.train is not None:
        names = ("train", "validation", "task", "labels")
        names += () if blind else ("test", "shifts", "out_of_distribution")
        spec = {name: getattr(data, name) for name in (*names, "standardise", "header")}
        spec = {name: value for name, value in spec.items() if value not in (None, {})}
        return load_files(spec, base=Path(data.folder or "."), seed=data.split_seed)
    _check_known("data.name", data.name)
    for setting in ("shifts", "out_of_distribution"):  # heard of before sampling, not after
        for name in getattr(config.evaluate, setting):
            _check_known(f"evaluate.{setting}", name)
    dataset = load(str(data.name), root=data.root)
    if "train" not in dataset.splits or dataset.task is None:
        raise UserError(f"`data.name` must be a set to train on, got {dataset.name!r}.")
    with naming("data"):
        return downscale(dataset, data.downscale)


def _check_known(setting: str, name: Any) -> None:
    if name not in known_sets():
        hint = did_you_mean(str(name), known_sets())
        raise UserError(f"`{setting}` cannot be {one_line(name)}; {hint}")


def _likelihood(config: Config, dataset: Dataset) -> Likelihood:
    """The one that is asked for, or the usual one for such targets."""
    tag, settings = "categorical" if dataset.task == "classification" else "gaussian", {}
    if config.likelihood is not None:
        tag = str(config.likelihood.__struct_config__.tag)
        settings = msgspec.structs.asdict(config.likelihood)
    classes = tag in ("categorical", "bernoulli")
    if classes != (dataset.task == "classification"):
        raise UserError(
            f"`likelihood.name` = {tag!r} does not go with {dataset.name!r}, which is a "
            f"{dataset.task}."
        )
    if tag in ("gaussian", "student_t") and dataset.targets is not None:
        settings["units"] = (dataset.targets.mean, dataset.targets.std)
    return getattr(likelihoods, tag)(**settings)


def _judging_sets(config: Config, dataset: Dataset) -> tuple[dict[str, Any], dict[str, Any]]:
    """Shifts and out-of-distribution sets, by name."""
    data = config.data
    assert data is not None
    root = config.evaluate.root if config.evaluate.root is not None else data.root
    shifts: dict[str, Any] = {name: tuple(split) for name, split in dataset.shifts.items()}
    outside: dict[str, Any] = {name: split.x for name, split in dataset.out_of_distribution.items()}
    like = dataset.splits["train"].x
    for name in config.evaluate.shifts:
        other = downscale(load(name, root=root), data.downscale)
        split = other.splits.get("test")
        if split is None or split.y is None or other.classes != dataset.classes:
            raise UserError(
                f"`evaluate.shifts` must name sets with test rows of the same "
                f"{len(dataset.classes)} classes as {dataset.name!r}, got {name!r}."
            )
        shifts[name] = tuple(_fitting(split, like, dataset.name, "evaluate.shifts", name))
    for name in config.evaluate.out_of_distribution:
        split = downscale(load(name, root=root), data.downscale).splits.get("test")
        setting = "evaluate.out_of_distribution"
        if split is None:
            raise UserError(f"`{setting}` must name sets with test rows, got {name!r}.")
        outside[name] = _fitting(split, like, dataset.name, setting, name).x
    return shifts, outside


def _fitting(split: Split, like: np.ndarray, ours: str, setting: str, name: str) -> Split:
    """`split`, if the network can take it."""
    if split.x.shape[1:] != like.shape[1:] or split.x.dtype != like.dtype:
        raise UserError(
            f"`{setting}` must name sets like {ours!r}, whose inputs are "
            f"{like.dtype}{list(like.shape[1:])}; {name!r} has {split.x.dtype}"
            f"{list(split.x.shape[1:])}."
        )
    return split


def _pair(dataset: Dataset, split: str) -> Any:
    return tuple(dataset.splits[split]) if split in dataset.splits else None


def scaled(mean: Any, std: Any, images: bool, x: Array) -> Array:
    """Inputs as the network takes them: pixels between 0 and 1, then standardised."""
    shape = (1,) * (x.ndim - 1) + (-1,)
    x = x.astype(jnp.float32) / (255.0 if images else 1.0)
    mean, std = (jnp.asarray(part, jnp.float32).reshape(shape) for part in (mean, std))
    return (x - mean) / std


def _augment(data: Data) -> Any:
    if not data.augment:
        return None

    def augmented(key: Key, x: Array) -> Array:
        return augment(key, x, pad=data.pad, flip=data.flip)

    return augmented


def init_of(model: Model, x: np.ndarray) -> Any:
    """From a key to parameters for such inputs."""
    example: Any = jax.ShapeDtypeStruct((1, *x.shape[1:]), np.float32)

    def init(key: Key) -> Tree:
        with naming("model"):
            return model.init(key, example)

    return init


def _data_name(data: Data, dataset: Dataset) -> str:
    notes = [] if data.limit is None else [f"first {data.limit} rows"]
    notes += [f"downscaled by {data.downscale}"] * (data.downscale > 1)
    notes += ["augmented"] * data.augment
    return dataset.name + (f" ({', '.join(notes)})" if notes else "")


def _spelt(section: msgspec.Struct) -> list[str]:
    """The numbers among its settings, and what is on: "depth 8", "widths 64-64", "norm"."""
    settings = msgspec.structs.asdict(section)
    numbers = {name: v for name, v in settings.items() if not isinstance(v, str | bool)}
    return [
        *(
            f"{k} {'-'.join(map(str, v)) if isinstance(v, tuple) else v}"
            for k, v in numbers.items()
        ),
        *(name for name, value in settings.items() if value is True),
    ]
