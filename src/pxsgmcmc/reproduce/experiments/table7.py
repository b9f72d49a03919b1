"""Table 7: what expansion costs."""

from pxsgmcmc.reproduce.experiment import Arm, ClaimPart, Experiment, TableSpec
from pxsgmcmc.reproduce.scale import Scale

_PLAIN, _ONE, _TWO = "SGHMC", "PX-SGHMC, c = d = 1", "PX-SGHMC, c = d = 2"
_DEPTHS = {_PLAIN: 0, _ONE: 1, _TWO: 2}
_TIME, _MEMORY, _R20 = "cost/cycle_seconds", "cost/megabytes", "cost/parameters_r20"


def _arms(scale: Scale) -> list[Arm]:
    return [
        Arm(
            label,
            compute="cost:measure",
            over={"scale": scale.name, "out": depth, "into": depth},
        )
        for label, depth in _DEPTHS.items()
    ]


EXPERIMENT = Experiment(
    name="table7",
    title="Table 7: cost",
    about="Processor time of a cycle on one thread, peak memory of the process, and the numbers "
    "that are sampled, here and for R20; each in a process of its own, in turns over seeds.",
    arms=_arms,
    tables=lambda scale: [
        TableSpec(
            "Cost",
            (_R20, "cost/parameters", _MEMORY, _TIME),
            "Published: one RTX A6000. Memory here is that of the whole process, Python and XLA "
            "included.",
        )
    ],
    published={
        (_PLAIN, _R20): (274_042, None),
        (_ONE, _R20): (383_098, None),
        (_TWO, _R20): (492_154, None),
        (_PLAIN, _MEMORY): (1818, None),
        (_ONE, _MEMORY): (1838, None),
        (_TWO, _MEMORY): (1852, None),
        (_PLAIN, _TIME): (61, None),
        (_ONE, _TIME): (64, None),
        (_TWO, _TIME): (73, None),
    },
    claims=lambda scale: {
        "C14": [
            ClaimPart(_TIME, _ONE, "below", _PLAIN, factor=1.05),
            ClaimPart(_TIME, _TWO, "below", _PLAIN, factor=1.20),
            ClaimPart(_MEMORY, _ONE, "below", _PLAIN, factor=1.02),
            ClaimPart(_MEMORY, _TWO, "below", _PLAIN, factor=1.02),
        ]
    },
    remarks=(
        "Times are of the processor, not of the clock. The smaller the network and the batch, the "
        "more the factors weigh.",
    ),
)
