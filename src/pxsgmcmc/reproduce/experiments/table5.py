"""Table 5: how far three samplers get from a converged HMC state, and how their draws disagree."""

from pxsgmcmc.reproduce.experiment import ClaimPart, Experiment, TableSpec
from pxsgmcmc.reproduce.experiments import chains_from_hmc as chains
from pxsgmcmc.reproduce.experiments import chains_of_table1
from pxsgmcmc.reproduce.experiments.chains_from_hmc import HMC, PX, SGHMC

_D, _D_BAR, _AMB, _VAR, _IND, _ENS = _MEASURES = (
    "draws/d",
    "draws/d_bar",
    "test/amb",
    "test/var",
    "test/ind",
    "test/nll",
)
_VALUES = {
    HMC: "322.8±.333 1.374±.002 .347 .107 .800 .381",
    SGHMC: "60.65±.258 .258±.001 .162 .063 .690 .464",
    PX: "1290±1.372 1.372±.150 .339 .105 .739 .353",
}

EXPERIMENT = Experiment(
    name="table5",
    title="Table 5: from a converged HMC state",
    about="Ten draws each of HMC with a Metropolis test on all the data, SGHMC and PX-SGHMC "
    "(c = d = 1), which all begin at the same draw of HMC and take as many gradients of a draw.",
    arms=chains.arms,
    tables=lambda scale: [
        TableSpec(
            "From an HMC state, test rows",
            _MEASURES,
            "IND is the mean NLL of single draws, NLL that of their average (ENS in the paper).",
        ),
        TableSpec(
            "Whether HMC has converged",
            ("chains/r_hat", "chains/r_hat_worst", "chains/acceptance"),
            "R-hat of what the draws predict for test rows, its median and its worst over rows "
            "and classes.",
        ),
    ],
    published=chains_of_table1.published(_VALUES, _MEASURES),
    claims=lambda scale: {
        "C10": [
            part
            for measure in (_D_BAR, _AMB, _VAR)
            for part in (
                ClaimPart(measure, SGHMC, "below", PX),
                ClaimPart(measure, SGHMC, "below", HMC),
                ClaimPart(measure, PX, "about", HMC),
            )
        ],
        "C11": [
            ClaimPart(_IND, SGHMC, "below", PX),
            ClaimPart(_IND, PX, "below", HMC),
            ClaimPart(_ENS, PX, "below", SGHMC),
            ClaimPart(_ENS, HMC, "below", SGHMC),
        ],
    },
    diagnosed=True,
    remarks=(
        *chains.REMARKS,
        "In print the ± of d repeats other entries of the table, and one draw of HMC was rejected, "
        "which ± 0.333 does not show.",
    ),
)
