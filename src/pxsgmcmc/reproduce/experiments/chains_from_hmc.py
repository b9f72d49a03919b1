"""The chains of Table 5 and the figure of landscapes: three samplers from a converged HMC state.

The published settings where the paper has them: a prior of variance 0.2, trajectories as long as a
quarter of a period of that prior, as many steps of the same size between the draws of the others,
frictions of 100 and 1. At a reduced size the network is a small dense one, for which full-batch HMC
can be afforded; the chains of the reference, from random starts, show whether it has converged. Its
layers are normed, as those of R20 are: without, the published prior of the factors makes weights
of a variance near 50, and the expanded chains diverge at every step that was tried.
"""

import math
from typing import Any, NamedTuple

from pxsgmcmc.reproduce.experiment import Arm, LastDraw, Needed
from pxsgmcmc.reproduce.methods import EXPANDED
from pxsgmcmc.reproduce.scale import Scale

HMC, SGHMC, PX, REFERENCE = "HMC", "SGHMC", "PX-SGHMC", "HMC from random starts"
_VARIANCE = 0.2
_DRAWS = 10
_STATE = Needed(
    "hmc/cifar10.safetensors",
    "a state of the HMC chain on CIFAR-10 that Izmailov et al. (2021) published, under the names "
    "and shapes of this R20's parameters,",
)


class Size(NamedTuple):
    """What differs between scales."""

    rows: int
    batch: int
    step: float
    chains: int = 0  # of the reference; none where the state is brought by the user
    burn_in: int = 0  # trajectories of the reference

    @property
    def steps(self) -> int:
        """Of a trajectory, pi / 2 standard deviations of the prior long."""
        return round(math.pi * math.sqrt(_VARIANCE) / 2.0 / self.step)


SIZES = {
    "desk": Size(1_000, 100, 1e-3, chains=8, burn_in=30),
    "laptop": Size(4_096, 512, 4e-4, chains=4, burn_in=50),
    "paper": Size(40_960, 4_096, 1e-5),
}
REMARKS = (
    "All from one state for each seed, with the published settings: nothing is searched. At the "
    "desk and the laptop scale the network has two normed dense layers of 32 units and sees the "
    f"first {SIZES['desk'].rows:,} and {SIZES['laptop'].rows:,} training rows; seed s "
    "starts from the last draw of chain s of HMC from random starts.",
    "The prior of the expanded chains is on their base and factors, as published, so they and the "
    "others do not have the same target.",
)


def _hmc(size: Size) -> dict[str, Any]:
    return {
        "sampler.name": "hmc",
        "sampler.leapfrog_steps": size.steps,
        "chain.cycle_length": 1,
        "chain.batch_size": size.rows,
    }


def _sghmc(size: Size) -> dict[str, Any]:
    return {
        "sampler.name": "sghmc",
        "chain.cycle_length": size.steps,
        "chain.batch_size": size.batch,
    }


def arms(scale: Scale) -> list[Arm]:
    """HMC, SGHMC and PX-SGHMC from one state, and below the paper's size how it was come by."""
    size = SIZES[scale.name]
    shared: dict[str, Any] = {"prior.variance": _VARIANCE, "sampler.step_size": size.step}
    shared |= {"chain.burn_in": 0, "chain.draws": _DRAWS, "data.limit": size.rows}
    if size.chains:
        shared["model"] = {"name": "mlp", "widths": (32, 32), "norm": True}
    reference = Arm(
        REFERENCE,
        over={
            **shared,
            **_hmc(size),
            "chains": size.chains,
            "chain.start": "random",
            "chain.draws": 20,
            "chain.burn_in": size.burn_in,
        },
        once=True,
    )
    shared["chain.start"] = LastDraw(reference) if size.chains else _STATE
    frictions = {"sampler.friction.base": 100.0, "sampler.friction.factors": 1.0}
    return [
        *([reference] if size.chains else []),
        Arm(HMC, over={**shared, **_hmc(size)}),
        Arm(SGHMC, over={**shared, **_sghmc(size), "sampler.friction": 100.0}),
        Arm(PX, over={**shared, **_sghmc(size), **EXPANDED, **frictions}),
    ]
