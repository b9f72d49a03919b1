"""Figure 2: distances between draws and singular values of the layers, by depth of expansion."""

from pxsgmcmc.reproduce.experiment import Experiment, FigureSpec, Relation, TableSpec
from pxsgmcmc.reproduce.experiments import chains_of_table4
from pxsgmcmc.reproduce.experiments.chains_of_table4 import monotone

_LAYERS: dict[str, tuple[str, Relation]] = {
    "largest": ("Largest singular value", "above"),
    "smallest": ("Smallest singular value", "below"),
    "condition": ("Condition number", "above"),
}

EXPERIMENT = Experiment(
    name="singular-values",
    title="Distances and singular values, by depth",
    about="How far consecutive draws lie apart, and the extreme singular values of the collapsed "
    "layers, on the chains of Table 4.",
    arms=chains_of_table4.arms,
    tables=lambda scale: [
        TableSpec(
            "Distances and singular values",
            ("draws/d", "draws/d_bar", *(f"layers/{name}" for name in _LAYERS)),
            "d is the distance between consecutive draws, d̄ the same over the length of the first; "
            "singular values are extremes over layers, geometric means over draws.",
        )
    ],
    claims=lambda scale: {
        "C6": [*monotone("draws/d", "above"), *monotone("draws/d_bar", "above")],
        "C7": [
            part
            for name, (_, relation) in _LAYERS.items()
            for part in monotone(f"layers/{name}", relation)
        ],
    },
    figures=lambda scale: [
        *(
            FigureSpec(title, f"draws/{name}", "draw", y, "Thin lines are seeds, bold their mean.")
            for name, y, title in (
                ("d", "d", "Distance from the draw before"),
                ("d_bar", "d̄", "The same, relative to its length"),
            )
        ),
        *(
            FigureSpec(
                title,
                f"layers/{name}",
                "draw",
                name,
                "Faint lines are layers of the first seed, bold ones the extreme over layers.",
                kind="layers",
            )
            for name, (title, _) in _LAYERS.items()
        ),
    ],
    diagnosed=True,
    remarks=(chains_of_table4.REMARK,),
)
