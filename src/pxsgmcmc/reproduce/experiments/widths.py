"""Beyond the paper: factors that are not square, wider inside than the layer."""

from pxsgmcmc.reproduce.experiment import Arm, Experiment, TableSpec
from pxsgmcmc.reproduce.experiments.chains_of_table4 import ONE, PLAIN, TWO

_TWO = {"expansion.out": 2, "expansion.into": 2}

EXPERIMENT = Experiment(
    name="widths",
    title="Factors that are not square",
    about="Two factors on either side of every weight, square or with an inner width of two "
    "times the layer's, beside one factor and none.",
    arms=lambda scale: [
        Arm(PLAIN, "SGHMC"),
        Arm(ONE, "PX-SGHMC"),
        Arm(TWO, "PX-SGHMC", _TWO),
        Arm(f"{TWO}, 2 times as wide", "PX-SGHMC", {**_TWO, "expansion.inner": 2.0}),
    ],
    tables=lambda scale: [
        TableSpec(
            "Inner width of the factors, test rows",
            ("test/err", "test/nll", "test/ind", "test/amb", "counts/sampled"),
        )
    ],
    scales=("desk", "laptop"),
    remarks=(
        "The paper allows such factors and has none in its experiments.",
        "All have the settings that were searched for c = d = 1. With the same prior of the "
        "factors, merged weights are the larger the wider the factors are inside.",
    ),
)
