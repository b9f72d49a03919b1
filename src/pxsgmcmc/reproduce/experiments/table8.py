"""Table 8: factors of low rank."""

from pxsgmcmc.reproduce.experiment import Arm, ClaimPart, Experiment, TableSpec
from pxsgmcmc.reproduce.experiments import chains_of_table1

_PLAIN, _EIGHTH, _QUARTER, _FULL = "SGHMC", "rank p/8", "rank p/4", "full rank"
_MEASURES = ("test/err", "test/nll", "test/amb")
_VALUES = {
    _PLAIN: ".131 .421 .183",
    _EIGHTH: ".126 .401 .210",
    _QUARTER: ".122 .385 .215",
    _FULL: ".123 .396 .242",
}
_EXPANDED = (_EIGHTH, _QUARTER, _FULL)

EXPERIMENT = Experiment(
    name="table8",
    title="Table 8: factors of low rank",
    about="PX-SGHMC (c = d = 1) with factors that are a diagonal plus a matrix of low rank.",
    arms=lambda scale: [
        Arm(_PLAIN, "SGHMC"),
        Arm(_EIGHTH, "PX-SGHMC", {"expansion.rank": 0.125}),
        Arm(_QUARTER, "PX-SGHMC", {"expansion.rank": 0.25}),
        Arm(_FULL, "PX-SGHMC"),
    ],
    tables=lambda scale: [TableSpec("Low rank, test rows", (*_MEASURES, "counts/sampled"))],
    published=chains_of_table1.published(_VALUES, _MEASURES),
    claims=lambda scale: {
        "C15": [
            *(ClaimPart(m, arm, "below", _PLAIN) for m in _MEASURES[:2] for arm in _EXPANDED),
            ClaimPart("test/nll", _QUARTER, "about", _FULL),
            ClaimPart("test/amb", _EIGHTH, "above", _PLAIN),
            ClaimPart("test/amb", _QUARTER, "above", _EIGHTH),
            ClaimPart("test/amb", _FULL, "above", _QUARTER),
        ]
    },
    remarks=(
        "All ranks have the settings that were searched for full rank; published values are of a "
        "single run. A rank is at least 1: at width 4 both are rank 1 in the first stage.",
    ),
)
