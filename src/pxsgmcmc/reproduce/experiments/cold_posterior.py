"""Figure C: temperatures of the posterior."""

from pxsgmcmc.reproduce.experiment import Arm, ClaimPart, Experiment, TableSpec
from pxsgmcmc.reproduce.scale import Scale

TEMPERATURES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# Where chains at T = 1 begin at draws of their prior, colder ones begin as the network does: such a
# draw is far too large for them, and at small steps they do not get away from it.
COLD_START = {"chain.start": "random"}
_METRICS = ("err", "nll")


def _label(method: str, temperature: float) -> str:
    return f"{method}, T = {temperature:g}"


def _arms(scale: Scale) -> list[Arm]:
    return [
        Arm(
            _label(method, T),
            method,
            {"sampler.temperature": T, **(COLD_START if T < 1.0 else {})},
        )
        for method in ("SGHMC", "PX-SGHMC")
        for T in TEMPERATURES
    ]


def _measures(scale: Scale) -> list[str]:
    sets = ["test", *(f"shift {name}" for name in scale.shifts), "corruptions"]
    return [f"{name}/{metric}" for name in sets for metric in _METRICS]


EXPERIMENT = Experiment(
    name="cold-posterior",
    title="Cold posteriors",
    about="SGHMC and PX-SGHMC at temperatures from 1e-4 to 1, the posterior itself.",
    arms=_arms,
    tables=lambda scale: [TableSpec("By temperature", _measures(scale))],
    claims=lambda scale: {
        "C19": [
            ClaimPart(m, _label("PX-SGHMC", T), "below", _label("SGHMC", T))
            for T in TEMPERATURES
            for m in _measures(scale)
        ]
    },
    stressed=True,
    remarks=(
        "All temperatures have the settings that were searched at T = 1. Chains below T = 1 begin "
        "as the network does. The paper does not state its grid.",
    ),
)
