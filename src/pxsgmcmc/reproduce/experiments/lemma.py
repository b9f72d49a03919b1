"""Section 3.2: Lemma 3.1 by finite differences, Theorem 3.2 at its worst case."""

from pxsgmcmc.reproduce.experiment import Arm, ClaimPart, Experiment, TableSpec

_ARM = "random factors"
_ERRORS = [f"flow/error_{step}" for step in ("0.01", "0.001", "0.0001", "1e-05")]

EXPERIMENT = Experiment(
    name="lemma",
    title="Lemma 3.1 and Theorem 3.2",
    about="A small step of P, V and Q along their own gradients against the lemma's matrix, for "
    "random factors; and the norm of that matrix over the theorem's bound, as printed and as "
    "corrected, where all factors are 3 I.",
    arms=lambda scale: [Arm(_ARM, compute="flow:lemma")],
    tables=lambda scale: [
        TableSpec("Relative error of the lemma, by step", [*_ERRORS, "flow/order"]),
        TableSpec(
            "Norm over bound",
            ("bound/printed", "bound/corrected"),
            "A bound holds where this is at most 1.",
        ),
    ],
    claims=lambda scale: {
        "C25": [
            ClaimPart("flow/error_1e-05", _ARM, "below", 1e-3, exact=True),
            ClaimPart("flow/order", _ARM, "above", 0.98, exact=True),
        ],
        "C26": [ClaimPart("bound/printed", _ARM, "below", 1.0 + 1e-9, exact=True)],
    },
    remarks=("The same at every scale; docs/deviations.md has the corrected exponent.",),
)
