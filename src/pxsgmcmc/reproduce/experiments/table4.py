"""Table 4: depth of expansion, on the validation rows."""

from pxsgmcmc.reproduce.experiment import ClaimPart, Experiment, TableSpec
from pxsgmcmc.reproduce.experiments import chains_of_table1, chains_of_table4
from pxsgmcmc.reproduce.experiments.chains_of_table4 import ONE, OUT, PLAIN, TWO, monotone

_MEASURES = ("validation/err", "validation/nll", "validation/amb")
_VALUES = {
    PLAIN: ".135±.005 .444±.007 .196±.004",
    OUT: ".127±.002 .404±.004 .214±.004",
    ONE: ".116±.003 .369±.005 .253±.001",
    TWO: ".114±.001 .373±.003 .278±.006",
}

EXPERIMENT = Experiment(
    name="table4",
    title="Table 4: depth of expansion",
    about="None, one or two factors on either side of every weight, judged on the validation rows.",
    arms=chains_of_table4.arms,
    tables=lambda scale: [
        TableSpec(
            "Depth of expansion, validation rows",
            (*_MEASURES, "validation/ind", "counts/sampled"),
            "AMB is the mean NLL of single draws minus that of their averaged logits.",
        )
    ],
    published=chains_of_table1.published(_VALUES, _MEASURES),
    claims=lambda scale: {
        "C9": [
            *monotone("validation/err", "below"),
            *monotone("validation/amb", "above"),
            ClaimPart("validation/nll", ONE, "about", TWO),
            ClaimPart("validation/nll", ONE, "below", OUT),
            ClaimPart("validation/nll", OUT, "below", PLAIN),
        ]
    },
    diagnosed=True,
    remarks=(chains_of_table4.REMARK,),
)
