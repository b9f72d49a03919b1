"""Table 3: augmentation at T = 0.01, on several data sets."""

from pxsgmcmc.reproduce.experiment import Arm, Experiment, Part, TableSpec
from pxsgmcmc.reproduce.experiments import chains_of_table1 as chains
from pxsgmcmc.reproduce.methods import BASELINES, PUBLISHED_FIVE
from pxsgmcmc.reproduce.scale import Scale

_COLD = {"sampler.temperature": 0.01, "data.augment": True}
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
_ERR = {
    "SGLD": ".080±.002 .326±.006 .546±.004",
    "pSGLD": ".097±.002 .412±.007 .601±.005",
    "SGHMC": ".071±.001 .319±.002 .538±.003",
    "SGNHT": ".074±.001 .335±.004 .536±.002",
    "PX-SGHMC": ".069±.001 .290±.004 .498±.004",
}
_NLL = {
    "SGLD": ".246±.004 1.180±.018 2.278±.010",
    "pSGLD": ".306±.004 1.546±.035 2.562±.015",
    "SGHMC": ".223±.002 1.138±.008 2.251±.022",
    "SGNHT": ".231±.006 1.199±.014 2.240±.013",
    "PX-SGHMC": ".217±.005 1.030±.011 2.089±.008",
}


def _label(method: str, name: str) -> str:
    return f"{method}, {name}"


def _arms(scale: Scale) -> list[Arm]:
    return [
        Arm(_label(method, name), method, {**_COLD, **over})
        for name, over in _SETS[scale.name].items()
        for method in PUBLISHED_FIVE
    ]


def _published() -> dict[tuple[str, str], tuple[float, float | None]]:
    values = {}
    for rows, measure in ((_ERR, "test/err"), (_NLL, "test/nll")):
        table = chains.published(rows, list(_SETS["paper"]))
        values |= {(_label(m, name), measure): value for (m, name), value in table.items()}
    return values


EXPERIMENT = Experiment(
    name="table3",
    title="Table 3: augmentation at T = 0.01",
    about="Random crops, and where images have mirror images also flips, at a temperature of 0.01, "
    "with the settings of Table 1.",
    arms=_arms,
    tables=lambda scale: [TableSpec("Augmented, T = 0.01", ("test/err", "test/nll", "test/amb"))],
    published=_published(),
    claims=lambda scale: {
        "C5": [
            Part(measure, _label(chains.PX, name), "below", _label(other, name))
            for name in _SETS[scale.name]
            for measure in ("test/err", "test/nll")
            for other in BASELINES
        ]
    },
    remarks=(
        "Settings are those searched without augmentation at T = 1, as in the paper, and on the "
        "first of the data sets.",
    ),
)
