"""Beyond the paper: expansion under every sampler, each with its own search."""

from pxsgmcmc.reproduce.experiment import Arm, Experiment, TableSpec

_SAMPLERS = ("SGLD", "pSGLD", "SGHMC", "SGNHT", "SGRHMC")

EXPERIMENT = Experiment(
    name="samplers",
    title="Expansion under every sampler",
    about="Every sampler without and with expansion (c = d = 1), each with its own searched "
    "settings.",
    arms=lambda scale: [Arm(name, name) for plain in _SAMPLERS for name in (plain, f"PX-{plain}")],
    tables=lambda scale: [
        TableSpec(
            "Expansion under every sampler, test rows",
            ("test/err", "test/nll", "test/ece", "test/ind", "test/amb"),
        )
    ],
    scales=("desk", "laptop"),
    remarks=("The paper has no such table.",),
)
