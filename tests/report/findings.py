"""Plausible results and diagnostics, made up: no run is needed to look at a report."""

from typing import Any

import numpy as np

from pxsgmcmc.report import Reported
from pxsgmcmc.results import (
    Corruptions,
    Curve,
    Detection,
    Diagnostics,
    Gallery,
    Picture,
    ReliabilityResult,
    Results,
    RiskCoverageResult,
    Skipped,
    SplitResult,
    Subject,
)
from tests.report.found_in_chains import made_up_diagnostics

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "$x_1^2$ $\\frac{",
    "under_scores_and {{ 7 * 7 }} {% raw %}",
    "日本語 \u202eright to left",
    "a very long name " * 12,
    "unbroken" * 30,
    "</style></svg><b>",
    "nul\x00 and\nnewline",
)
DRAWS, CLASSES = 20, 10
CONFIG = """seed = 0

[data]
name = "digits"  # <script>alert(3)</script>

[sampler]
name = "sghmc"
step_size = { kind = "cyclical", peak = 0.001, lowest = 0.0 }
temperature = 1.0

[chain]
draws = 20
cycle_length = 200
"""


def reported(
    method: str = "PX-SGHMC (c=1, d=1)",
    seed: int = 0,
    *,
    names: tuple[str, ...] = ("letters", "photos"),
    data: str = "digits",
    classes: tuple[str, ...] = tuple("0123456789"),
    diagnosed: bool = True,
) -> Reported:
    """A whole run; `names` are of shifts and of out-of-distribution sets."""
    random = np.random.default_rng((seed, len(method)))
    of = subject(method, data, seed)
    results = Results(
        subject=of,
        train=_split(random, 1000, 0.01),
        test=_split(random, 797, 0.03),
        validation=_split(random, 200, 0.032),
        by_draws=_by_draws(random),
        by_burn_in=_by_burn_in(random),
        reliability=_reliability(random),
        risk_coverage=RiskCoverageResult(
            coverage=np.linspace(0.01, 1, 150).tolist(),
            risk=(0.03 * np.linspace(0.01, 1, 150) ** 3).tolist(),
            area=0.0075,
        ),
        shifts={name: _split(random, 500, 0.2) for name in names},
        corruptions=_corruptions(random),
        out_of_distribution={name: _detection(random) for name in names},
        gallery=_gallery(random, classes),
    )
    found = made_up_diagnostics(random, of, DRAWS) if diagnosed else None
    manifest = {
        "status": "done",
        "origin": {
            "devices": ["cpu"],
            "versions": {"jax": "0.10.2", "python": "3.11.7"},
            "code": "0123456789ab",
        },
    }
    return Reported(results, found, [log(random)], manifest, CONFIG, "runs/mine")


def subject(method: str, data: str, seed: int) -> Subject:
    return Subject(
        method=method,
        settings="ab12cd34",
        data=data,
        model="resnet_frn, depth 8, width 8",
        seed=seed,
        chains=1,
        draws=DRAWS,
        steps=4000,
        parameters=4858,
        sampled=6874,
        version="0.1.0",
    )


def _split(random: np.random.Generator, rows: int, err: float) -> SplitResult:
    err *= random.uniform(0.8, 1.2)
    return SplitResult(
        rows=rows,
        metrics={
            "err": err,
            "nll": 4 * err,
            "ind": 5.5 * err,
            "amb": 1.9 * err,
            "var": 0.05,
            "var_label": 0.02,
            "var_ortega": 0.01,
            "ece": 0.02,
            "brier": 1.6 * err,
            "entropy": 0.2,
            "aleatoric": 0.12,
            "epistemic": 0.08,
        },
        by_draw={
            "err": (err * (1.5 + 6 * np.exp(-np.arange(DRAWS) / 2) + _noise(random))).tolist(),
            "nll": (5 * err * (1.2 + np.exp(-np.arange(DRAWS) / 2))).tolist(),
        },
    )


def _noise(random: np.random.Generator, size: int = DRAWS) -> np.ndarray:
    return random.normal(size=size) * 0.1


def _by_draws(random: np.random.Generator) -> Curve:
    at = np.arange(1, DRAWS + 1)
    fall = 1 + 3 / at + 0.02 * random.normal(size=DRAWS)
    levels = {"err": 0.03, "nll": 0.11, "ece": 0.02, "brier": 0.05}
    return Curve(at=at.tolist(), values={k: (v * fall).tolist() for k, v in levels.items()})


def _by_burn_in(random: np.random.Generator) -> Curve:
    at = np.arange(DRAWS // 2 + 1)
    fall = 1 + np.exp(-at / 3) + 0.02 * random.normal(size=len(at))
    levels = {"individual_nll": 0.2, "ensemble_nll": 0.12, "individual_err": 0.05}
    levels["ensemble_err"] = 0.03
    return Curve(at=at.tolist(), values={k: (v * fall).tolist() for k, v in levels.items()})


def _reliability(random: np.random.Generator) -> ReliabilityResult:
    edges = np.linspace(0, 1, 16)
    count = [0, 0, 1, 3, 6, 8, 9, 12, 14, 20, 22, 30, 48, 90, 534]
    middle = (edges[:-1] + edges[1:]) / 2
    right = np.clip(middle + 0.06 + _noise(random, 15), 0, 1)
    filled = [bool(n) for n in count]
    return ReliabilityResult(
        edges=edges.tolist(),
        count=count,
        confidence=[float(m) if n else None for m, n in zip(middle, filled, strict=True)],
        accuracy=[float(r) if n else None for r, n in zip(right, filled, strict=True)],
    )


def _corruptions(random: np.random.Generator) -> Corruptions:
    names = [f"corruption_{i}" for i in range(18)] + ["<img src=x>"]
    base = np.exp(random.normal(size=(19, 1)) * 0.5) * np.linspace(0.05, 0.3, 5)
    values = {"err": np.minimum(base, 0.9), "nll": 3.5 * base, "ece": 0.3 * base}
    return Corruptions(
        names=names,
        severities=[1, 2, 3, 4, 5],
        values={k: v.tolist() for k, v in values.items()},
        pooled={k: _split(random, 15143, 0.1) for k in ("1", "2", "3", "4", "5", "all")},
    )


def _detection(random: np.random.Generator) -> Detection:
    edges = np.linspace(0, np.log(CLASSES), 31)
    inside = np.clip(random.exponential(0.2, 797), 0, edges[-1])
    outside = np.clip(random.normal(1.3, 0.4, 1000), 0, edges[-1])
    alarms = np.linspace(0, 1, 120)
    keys = ("auroc", *(f"{k}_{s}" for k in ("tnr95", "tnr99", "aupr") for s in _SIDES))
    return Detection(
        rows_inside=797,
        rows_outside=1000,
        metrics={k: float(random.uniform(0.7, 0.98)) for k in keys},
        spread=dict.fromkeys(keys, 0.004),
        subsets=5,
        edges=edges.tolist(),
        inside=np.histogram(inside, edges)[0].tolist(),
        outside=np.histogram(outside, edges)[0].tolist(),
        false_alarms=alarms.tolist(),
        detections=(alarms**0.12).tolist(),
    )


_SIDES = ("inside", "outside")


def _gallery(random: np.random.Generator, classes: tuple[str, ...]) -> Gallery:
    def picture(row: int, sharpness: float) -> Picture:
        p = random.dirichlet(np.full(len(classes), sharpness))
        return Picture(
            row=row,
            label=int(p.argmax()) if row % 3 else row % len(classes),
            probabilities=p.tolist(),
            entropy=float(-(p * np.log(p + 1e-12)).sum()),
            epistemic=0.1,
            pixels=random.integers(0, 256, 64, np.uint8).tobytes(),
        )

    return Gallery(
        shape=(8, 8, 1),
        classes=list(classes),
        most_certain=[picture(row, 0.02) for row in range(8)],
        least_certain=[picture(row, 2.0) for row in range(8, 16)],
    )


def log(random: np.random.Generator) -> list[dict[str, Any]]:
    steps = np.arange(50, 4001, 50)
    return [
        {
            "step": int(step),
            "steps_per_second": 60.0,
            "energy": float(900 + 6000 * np.exp(-step / 200) + 40 * random.normal()),
            "step_size": float(0.0005 * (1 + np.cos(np.pi * ((step - 1) % 200) / 200))),
            "temperature": {
                "base": float(1 + 0.02 * random.normal()),
                "factors": float(1 + np.exp(-step / 300) + 0.03 * random.normal()),
            },
            "norm": {"base": 40.0},
            "time": 1e9 + step,
        }
        for step in steps
    ]


def bare(method: str = "SGLD", seed: int = 0) -> Reported:
    """The least a run can have: one draw, two numbers."""
    of = subject(method, "digits", seed)
    split = SplitResult(rows=10, metrics={"err": 0.0, "nll": 0.0}, by_draw={"err": [0.0]})
    return Reported(Results(subject=of, train=split, test=split), place="runs/mine")


def nothing_but_reasons(seed: int = 0) -> Reported:
    """A run on which no diagnostic could be had."""
    run = bare(seed=seed)
    parts = ("distances", "spectra", "factors", "connectivity", "plane", "convergence")
    skipped = {part: Skipped(reason=f"Because of {HOSTILE[0]}.") for part in parts}
    skipped["temperatures"] = Skipped(reason="No state was saved.")
    return run._replace(diagnostics=Diagnostics(subject=run.results.subject, **skipped))
