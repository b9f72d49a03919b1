"""The estimators beside others, on tables and images that come along, as a table.

    python benchmarks/estimators.py                           # all sets and methods, 5 splits
    python benchmarks/estimators.py --sets wine --splits 2
    python benchmarks/estimators.py --without bde gp --json docs/estimators.json

Each split puts a fifth of the rows aside, at random, for the table alone. All methods see the same
standardised rows and have their defaults, networks one hidden layer of 50 units. NLL is the mean
of minus the log probability (density, in the targets' own units) of the held-out rows. Regressions
that give no deviation have that of their errors on a tenth of the training rows. Coverage is the
share of held-out rows within the central 90 % intervals, for classes the share whose label is in
the smallest set of classes of probability 90 %, drawn at random at its edge.
"""

import argparse
import json
import math
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from bde_environment import NoBde, predict_with_bde
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor

import pxsgmcmc as px
from pxsgmcmc.predict import predict
from pxsgmcmc.sklearn import PXClassifier, PXRegressor
from pxsgmcmc.sklearn.networks import network_of

SETS = ("wine", "breast_cancer", "digits", "diabetes", "two-moons", "sinusoid")
METHODS = ("px", "mlp", "linear", "gp", "forest", "ensemble", "bde")
MEMBERS = 5  # of the deep ensemble
MOST_FOR_GP = 1000  # rows; a gaussian process takes their cube
UNCUT = 36_000.0  # seconds: lengths do not depend on the speed of the machine then


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray, bool]:
    """All rows of a set, flat, and whether targets are classes."""
    found = px.data.load(name)
    parts = [found.splits[part] for part in ("train", "validation", "test") if part in found.splits]
    x = np.concatenate([np.asarray(part.x, np.float64).reshape(len(part.x), -1) for part in parts])
    y = np.concatenate([np.asarray(part.y) for part in parts])
    classes = np.issubdtype(y.dtype, np.integer)
    return x, y if classes else y.reshape(len(y)).astype(np.float64), classes


def with_deviation(model: Any, x: np.ndarray, y: np.ndarray, new: np.ndarray) -> tuple[Any, Any]:
    """Mean, and the deviation of errors on rows that were held out."""
    a, b, c, d = train_test_split(x, y, test_size=0.1, random_state=0)
    std = float(np.std(d - model.fit(a, c).predict(b)))
    mean = model.fit(x, y).predict(new)
    return mean, np.full(len(new), max(std, 1e-9))


def deep_ensemble(x: np.ndarray, y: np.ndarray, new: np.ndarray, classes: bool, seed: int) -> Any:
    """Optima of the same network, one a seed."""
    targets = len(np.unique(y)) if classes else 1
    likelihood = px.likelihoods.categorical() if classes else px.likelihoods.gaussian()
    network = network_of((50,), x.shape[1], targets)
    y = y.astype(np.int32) if classes else y.reshape(-1, 1).astype(np.float32)
    problem = px.Problem(network.apply, likelihood, train=(x.astype(np.float32), y))
    members = []
    for number in range(MEMBERS):
        start = problem.start(network.start(jax.random.key(MEMBERS * seed + number)))
        start = jax.tree.map(jax.numpy.asarray, start)
        members.append(px.warm_start(problem, start, seed=MEMBERS * seed + number))
    found = predict(problem, members, new.astype(np.float32))
    return found.probabilities if classes else (found.mean[:, 0], found.std[:, 0])


def gaussian_process(x: np.ndarray, y: np.ndarray, new: np.ndarray, classes: bool) -> Any:
    if len(x) > MOST_FOR_GP:
        raise ValueError(f"more than {MOST_FOR_GP} rows")
    kernel = ConstantKernel() * RBF(math.sqrt(x.shape[1]))
    if classes:
        return GaussianProcessClassifier(kernel).fit(x, y).predict_proba(new)
    model = GaussianProcessRegressor(kernel + WhiteKernel(0.1), n_restarts_optimizer=1)
    return model.fit(x, y).predict(new, return_std=True)


def classify(method: str, seed: int, x: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Probabilities of all classes for new rows."""
    models: dict[str, Callable[[], Any]] = {
        "px": lambda: PXClassifier(random_state=seed, max_seconds=UNCUT),
        "mlp": lambda: MLPClassifier((50,), random_state=seed),
        "linear": lambda: LogisticRegression(max_iter=1000),
        "forest": lambda: RandomForestClassifier(random_state=seed),
    }
    if method == "gp":
        return gaussian_process(x, y, new, classes=True)
    if method == "ensemble":
        return deep_ensemble(x, y, new, True, seed)
    if method == "bde":
        return predict_with_bde(x, y, new, True, seed)
    return models[method]().fit(x, y).predict_proba(new)


def regress(method: str, seed: int, x: np.ndarray, y: np.ndarray, new: np.ndarray) -> Any:
    """(mean, deviation) for new rows; the whole prediction of ours."""
    if method == "px":
        fitted = PXRegressor(random_state=seed, max_seconds=UNCUT).fit(x, y)
        return fitted._predicted(new)
    if method == "gp":
        return gaussian_process(x, y, new, classes=False)
    if method == "ensemble":
        return deep_ensemble(x, y, new, False, seed)
    if method == "bde":
        return predict_with_bde(x, y, new, False, seed)
    models = {
        "mlp": MLPRegressor(hidden_layer_sizes=(50,), random_state=seed, max_iter=1000),
        "linear": Ridge(),
        "forest": RandomForestRegressor(random_state=seed),
    }
    return with_deviation(models[method], x, y, new)


def score_classes(p: np.ndarray, y: np.ndarray, seed: int) -> dict[str, float]:
    p = np.maximum(p, 1e-12) / np.maximum(p, 1e-12).sum(axis=1, keepdims=True)
    own = p[np.arange(len(y)), y]
    above = np.sum(np.where(p > own[:, None], p, 0.0), axis=1)
    # A set that is cut at its edge at random has exactly its probability.
    inside = above + np.random.default_rng(seed).random(len(y)) * own < 0.9
    return {
        "nll": float(-np.log(own).mean()),
        "error": float(np.mean(p.argmax(axis=1) != y)),
        "coverage": float(inside.mean()),
    }


def score_numbers(found: Any, y: np.ndarray, mean: float, std: float) -> dict[str, float]:
    """Of predictions on the standardised scale, in the targets' own units."""
    z = (y - mean) / std
    if isinstance(found, tuple):
        m, s = (np.asarray(part, np.float64).reshape(-1) for part in found)
        nll = 0.5 * ((z - m) / s) ** 2 + np.log(s) + 0.5 * math.log(2 * math.pi)
        inside = np.abs(z - m) < 1.6448536 * s
    else:
        m, nll = found.mean[:, 0], -found.log_density(z)[:, 0]
        low, high = (part[:, 0] for part in found.interval(0.9))
        inside = (low < z) & (z < high)
    return {
        "nll": float(nll.mean() + math.log(std)),
        "error": float(std * np.sqrt(np.mean((m - z) ** 2))),
        "coverage": float(inside.mean()),
    }


def one(name: str, method: str, split: int) -> dict[str, Any]:
    """One line: a set, a method, a split."""
    x, y, classes = rows_of(name)
    x, new, y, y_new = train_test_split(
        x, y, test_size=0.2, random_state=split, stratify=y if classes else None
    )
    mean, std = x.mean(axis=0), x.std(axis=0)
    std = np.where(std > 0.0, std, 1.0)
    x, new = (x - mean) / std, (new - mean) / std
    wall, cpu = time.monotonic(), sum(os.times()[:4])  # other processes that it started, too
    if classes:
        scores = score_classes(classify(method, split, x, y, new), y_new, split)
    else:
        centre, scale = float(y.mean()), float(y.std())
        found = regress(method, split, x, (y - centre) / scale, new)
        scores = score_numbers(found, y_new, centre, scale)
    seconds = {"wall": time.monotonic() - wall, "cpu": sum(os.times()[:4]) - cpu}
    return {"set": name, "method": method, "split": split, **scores, **seconds}


def table(lines: list[dict[str, Any]]) -> str:
    """Means over splits with their standard deviations, and how much more NLL than ours."""
    head = (
        "| set | method | splits | NLL | ERR or RMSE | coverage of 90 % | CPU s | NLL beyond px |"
    )
    rows = [head, "|" + "---|" * 8]
    lines = sorted(lines, key=lambda line: (SETS.index(line["set"]), METHODS.index(line["method"])))
    ours = {(line["set"], line["split"]): line["nll"] for line in lines if line["method"] == "px"}
    for name, method in dict.fromkeys((line["set"], line["method"]) for line in lines):
        some = [line for line in lines if (line["set"], line["method"]) == (name, method)]
        cells = [spread([line[key] for line in some]) for key in ("nll", "error", "coverage")]
        cells.append(f"{np.mean([line['cpu'] for line in some]):.1f}")
        both = [line for line in some if (name, line["split"]) in ours and method != "px"]
        more = [line["nll"] - ours[name, line["split"]] for line in both]
        cells.append(f"{spread(more, '+')} ({len(more)})" if more else "")
        rows.append(f"| {name} | {method} | {len(some)} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def spread(values: list[float], sign: str = "") -> str:
    """Mean and standard deviation."""
    deviation = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
    return f"{np.mean(values):{sign}.3f}{deviation}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--without", nargs="+", default=(), choices=METHODS)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where to keep all lines")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = json.loads(asked.json.read_text()) if asked.json and asked.json.exists() else []
    known = {(line["set"], line["method"], line["split"]) for line in lines}
    for split in range(asked.splits):
        for name in asked.sets:
            for method in (m for m in asked.methods if m not in asked.without):
                if (name, method, split) in known:
                    continue
                try:
                    lines.append(one(name, method, split))
                except (NoBde, ValueError) as error:
                    print(f"{name}, {method}, split {split}: left out, {error}", flush=True)
                    continue
                print(lines[-1], flush=True)
                if asked.json:
                    asked.json.write_text(json.dumps(lines, indent=0) + "\n")
    print(table(lines))


if __name__ == "__main__":
    main()
