"""The friction of the factors: is 1 against 100 what keeps the trajectory stable?"""

from pxsgmcmc.reproduce.experiment import Arm, ClaimPart, Experiment, TableSpec

FRICTIONS = (0.1, 1.0, 10.0, 100.0)


def _label(friction: float) -> str:
    return f"factor friction {friction:g}"


EXPERIMENT = Experiment(
    name="friction",
    title="Friction of the factors",
    about="PX-SGHMC with frictions of the factors from 0.1 to 100, all else as searched at 2.",
    arms=lambda scale: [
        Arm(_label(friction), "PX-SGHMC", {"sampler.friction.factors": friction})
        for friction in FRICTIONS
    ],
    tables=lambda scale: [
        TableSpec("Friction of the factors", ("validation/nll", "validation/err", "test/nll"))
    ],
    claims=lambda scale: {
        "C24": [
            ClaimPart("validation/nll", _label(1.0), "below", _label(friction), factor=1.05)
            for friction in FRICTIONS
            if friction != 1.0
        ]
    },
    remarks=(
        "The claim is tested as: validation NLL at 1 is less than 5 % above that at every other "
        "friction. Runs that diverged are counted above.",
    ),
)
