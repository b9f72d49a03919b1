"""The chains that Table 3 and the comparison with L2E share: augmentation at T = 0.01."""

from collections.abc import Sequence
from typing import Any

from pxsgmcmc.reproduce.experiment import Arm, Published
from pxsgmcmc.reproduce.experiments import chains_of_table1
from pxsgmcmc.reproduce.experiments.cold_posterior import COLD_START
from pxsgmcmc.reproduce.methods import PUBLISHED_FIVE
from pxsgmcmc.reproduce.scale import Scale

COLD = {"sampler.temperature": 0.01, "data.augment": True, **COLD_START}
_SMALL = {"data.pad": 1, "data.flip": False}  # digits have no mirror images
_SETS = {
    "desk": {
        "digits": _SMALL,
        "mnist5k-14": {**_SMALL, "data.name": "mnist5k-14", "data.downscale": 2},
    },
    "laptop": {"cifar10": {"data.pad": 2}},
    "paper": {
        "cifar10": {},
        "cifar100": {"data.name": "cifar100"},
        "tinyimagenet": {"data.name": "tinyimagenet"},
    },
}
ERR = {
    "SGLD": ".080±.002 .326±.006 .546±.004",
    "pSGLD": ".097±.002 .412±.007 .601±.005",
    "SGHMC": ".071±.001 .319±.002 .538±.003",
    "SGNHT": ".074±.001 .335±.004 .536±.002",
    "PX-SGHMC": ".069±.001 .290±.004 .498±.004",
}
NLL = {
    "SGLD": ".246±.004 1.180±.018 2.278±.010",
    "pSGLD": ".306±.004 1.546±.035 2.562±.015",
    "SGHMC": ".223±.002 1.138±.008 2.251±.022",
    "SGNHT": ".231±.006 1.199±.014 2.240±.013",
    "PX-SGHMC": ".217±.005 1.030±.011 2.089±.008",
}
REMARK = (
    "Settings are those searched without augmentation at T = 1, as in the paper, and on the first "
    "of the data sets. Chains begin as the network does."
)


def sets(scale: Scale) -> dict[str, dict[str, Any]]:
    """Data sets of a scale, with the settings that each of them needs."""
    return {name: {**COLD, **over} for name, over in _SETS[scale.name].items()}


def label(method: str, name: str) -> str:
    """A method on a data set."""
    return f"{method}, {name}"


def arms(scale: Scale) -> list[Arm]:
    """The published five on every data set."""
    return [
        Arm(label(method, name), method, over)
        for name, over in sets(scale).items()
        for method in PUBLISHED_FIVE
    ]


def published(err: dict[str, str], nll: dict[str, str]) -> Published:
    """Values from lines by method, one value a data set; those of CIFAR-10 also beside digits."""
    values = {}
    for rows, measure in ((err, "test/err"), (nll, "test/nll")):
        table = chains_of_table1.published(rows, list(_SETS["paper"]))
        values |= {(label(m, name), measure): value for (m, name), value in table.items()}
        values |= {(label(m, "digits"), measure): table[m, "cifar10"] for m in rows}
    return values


def compared(first: str, others: Sequence[str], scale: Scale) -> list[tuple[str, str, str]]:
    """Measure, first and other arm, for every data set, measure and other method."""
    return [
        (measure, label(first, name), label(other, name))
        for name in _SETS[scale.name]
        for measure in ("test/err", "test/nll")
        for other in others
    ]
