"""Table 9: schedule and expansion, one by one and together."""

from pxsgmcmc.reproduce.experiment import Arm, ClaimPart, Experiment, TableSpec, Times
from pxsgmcmc.reproduce.experiments import chains_of_table1
from pxsgmcmc.reproduce.methods import STEP

_SP_CONST, _SP_CYC, _EP_CONST, _EP_CYC = (
    "standard, constant",
    "standard, cyclical",
    "expanded, constant",
    "expanded, cyclical",
)
_MEASURES = ("test/err", "test/nll", "test/amb")
_VALUES = {
    _SP_CONST: ".135±.003 .441±.003 .209±.001",
    _SP_CYC: ".133±.002 .422±.005 .186±.004",
    _EP_CONST: ".115±.002 .379±.002 .232±.003",
    _EP_CYC: ".121±.002 .388±.005 .242±.002",
}


def _constant(label: str, method: str, factor: float) -> Arm:
    return Arm(label, method, {"sampler.step_size": Times(STEP, factor)})


EXPERIMENT = Experiment(
    name="table9",
    title="Table 9: schedule and expansion",
    about="SGHMC and PX-SGHMC with a cosine cycle and with a constant step size: that of the peak "
    "and, since the paper does not say which, also half of it, the mean of a cycle.",
    arms=lambda scale: [
        _constant(_SP_CONST, "SGHMC", 1.0),
        _constant(f"{_SP_CONST}, half", "SGHMC", 0.5),
        Arm(_SP_CYC, "SGHMC"),
        _constant(_EP_CONST, "PX-SGHMC", 1.0),
        _constant(f"{_EP_CONST}, half", "PX-SGHMC", 0.5),
        Arm(_EP_CYC, "PX-SGHMC"),
    ],
    tables=lambda scale: [TableSpec("Schedule and expansion, test rows", _MEASURES)],
    published=chains_of_table1.published(_VALUES, _MEASURES),
    claims=lambda scale: {
        # (SP const - EP const) > (SP const - SP cyc) is EP const < SP cyc.
        "C17": [ClaimPart(m, _EP_CONST, "below", _SP_CYC) for m in _MEASURES[:2]],
        "C18": [
            ClaimPart(m, _EP_CONST, "below", other)
            for m in _MEASURES[:2]
            for other in (_SP_CONST, _EP_CYC)
        ],
    },
    remarks=("Constant schedules have the settings that were searched for cycles.",),
)
