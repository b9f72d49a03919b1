"""Figure 1: a mixture of 25 Gaussians."""

from pxsgmcmc.reproduce.experiment import Arm, ClaimPart, Experiment, TableSpec

_STANDARD, _LARGE = "standard HMC", "standard HMC, step 0.34"
_READINGS = {
    "independent draws": "independent",
    _STANDARD: "standard",
    _LARGE: "standard, h=0.34",
    "expanded, flat": "flat",
    "expanded, ridge": "ridge",
    "expanded, exact": "exact",
}
_EXPANDED = [label for label in _READINGS if label.startswith("expanded")]

EXPERIMENT = Experiment(
    name="toy",
    title="The toy: 25 modes",
    about="One HMC chain of 10,000 draws from each of three starts, with and without expansion, in "
    "three readings of the paper's text; docs/toy.md says what they are and why none of them "
    "covers the modes.",
    arms=lambda scale: [
        Arm(label, compute="toy_modes:cover", over={"reading": reading})
        for label, reading in _READINGS.items()
    ],
    tables=lambda scale: [
        TableSpec(
            "Modes covered, of 25",
            [
                f"modes/{name}"
                for name in ("covered", "seen", "accepted", "switches", "mean_square")
            ],
            "Covered: at least 100 draws within 0.25 of the mean; mean |y|² is 16.06 for the "
            "mixture. Averages over three starts.",
        )
    ],
    published={
        ("expanded, flat", "modes/covered"): (25.0, None),
        (_STANDARD, "modes/covered"): (1.0, None),
    },
    claims=lambda scale: {
        "C23": [
            *(ClaimPart("modes/covered", arm, "above", _STANDARD) for arm in _EXPANDED),
            *(ClaimPart("modes/covered", arm, "above", 24.5, exact=True) for arm in _EXPANDED),
        ]
    },
    remarks=("The published numbers are read off a figure.", "The same at every scale."),
)
