"""Figure D: how far a sampler may step before a Metropolis test notices, expanded or not.

At a reduced size all chains start from the last draws of the chains of SGHMC. Steps that pass the
test are too short to get there: from draws of the prior, chains of this length stay at guessing.
"""

from itertools import pairwise
from typing import Any

from pxsgmcmc.reproduce.experiment import (
    Arm,
    ClaimPart,
    Experiment,
    LastDraw,
    Relation,
    TableSpec,
    Times,
)
from pxsgmcmc.reproduce.methods import STEP
from pxsgmcmc.reproduce.scale import Scale

_FACTORS = (0.125, 0.25, 0.5)  # of the searched peak step of SGHMC
_WINDOW = 10
_ACCEPTANCE, _D, _D_BAR, _NLL = "chains/acceptance", "draws/d", "draws/d_bar", "test/nll"


def _label(kind: str, factor: float, window: int = _WINDOW) -> str:
    step = f"{kind}, {factor:g} of the step"
    return step if window == _WINDOW else f"{step}, window {window}"


def _starting(scale: Scale) -> Arm:
    """SGHMC as in Table 1, a chain for every seed."""
    chain = scale.config({"sampler.name": "sgd", "sampler.step_size": 1.0}).chain
    over = {"chains": scale.seeds, "chain.cycle_length": chain.cycle_length}
    return Arm("SGHMC, where they start", "SGHMC", over, once=True)


def _arm(kind: str, factor: float, scale: Scale, window: int = _WINDOW) -> Arm:
    over: dict[str, Any] = {
        "sampler.name": "ggmc",
        "sampler.window": window,
        # Of SGHMC's step for both: at equal step is where the claim compares them.
        STEP: Times(STEP, factor),
    }
    if scale.name != "paper":
        over |= {"chain.burn_in": 500, "chain.draws": 10, "chain.start": LastDraw(_starting(scale))}
    if kind == "expanded":
        over |= {"expansion.out": 1, "expansion.into": 1}
    return Arm(_label(kind, factor, window), "SGHMC", over)


def _arms(scale: Scale) -> list[Arm]:
    windows = [_arm("standard", 0.25, scale, window) for window in (1, 100)]
    steps = [_arm(kind, f, scale) for kind in ("standard", "expanded") for f in _FACTORS]
    return [*([] if scale.name == "paper" else [_starting(scale)]), *steps, *windows]


def _larger_steps(measure: str, relation: Relation) -> list[ClaimPart]:
    labels = [_label("standard", factor) for factor in _FACTORS]
    return [ClaimPart(measure, larger, relation, smaller) for smaller, larger in pairwise(labels)]


def _expanded(measure: str, relation: Relation, factor: float = 1.0) -> list[ClaimPart]:
    return [
        ClaimPart(measure, _label("expanded", f), relation, _label("standard", f), factor)
        for f in _FACTORS
    ]


EXPERIMENT = Experiment(
    name="ggmc",
    title="GGMC: distance and acceptance over step sizes",
    about="OBABO with a Metropolis test on all the data after every window of steps, on mini-"
    "batches inside it, with and without expansion (c = d = 1), with the friction and prior that "
    "were searched for SGHMC.",
    arms=_arms,
    tables=lambda scale: [
        TableSpec(
            "GGMC by step size",
            (_ACCEPTANCE, _D, _D_BAR, _NLL, "test/err", "test/amb"),
            f"A window is {_WINDOW} steps unless said; steps are shares of SGHMC's searched peak. "
            "Acceptance is the mean over all tests of the last cycle of each draw.",
        )
    ],
    claims=lambda scale: {
        "C20": [
            *_larger_steps(_D, "above"),
            *_larger_steps(_D_BAR, "above"),
            *_larger_steps(_NLL, "below"),
            *_larger_steps(_ACCEPTANCE, "below"),
        ],
        "C21": [
            *_expanded(_D_BAR, "above"),
            # Not lower: above 95 % of what it is without.
            *_expanded(_ACCEPTANCE, "above", 0.95),
        ],
    },
    diagnosed=True,
    remarks=(
        "The paper does not say over which window it accepts; 25 % at a peak step of 3e-4 is its "
        "only number. Expanded chains have the friction of SGHMC on all coordinates. Below the "
        "paper's size seed s starts from the last draw of chain s of SGHMC; what expanded chains "
        "draw from is another distribution, so they have yet to settle there.",
    ),
)
