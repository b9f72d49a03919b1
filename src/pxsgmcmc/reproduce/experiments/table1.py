"""Table 1: five samplers on the test set, under natural shift and under corruption."""

from pxsgmcmc.reproduce.experiment import ClaimPart, Experiment, TableSpec
from pxsgmcmc.reproduce.experiments import chains_of_table1 as chains
from pxsgmcmc.reproduce.scale import Scale

_OFFICIAL = ("test", "shift cifar10.1", "shift cifar10.2", "shift stl10", "corruptions")
_ERR = {
    "SGLD": ".152±.003 .258±.007 .293±.004 .326±.004 .309±.007",
    "pSGLD": ".158±.004 .277±.004 .305±.003 .333±.003 .316±.006",
    "SGHMC": ".133±.002 .234±.003 .277±.006 .306±.003 .292±.002",
    "SGNHT": ".135±.002 .236±.005 .273±.004 .307±.005 .294±.008",
    "PX-SGHMC": ".121±.002 .218±.005 .257±.007 .287±.002 .287±.008",
}
_NLL = {
    "SGLD": ".477±.009 .772±.010 .891±.005 .928±.014 .913±.022",
    "pSGLD": ".501±.007 .812±.015 .928±.007 .958±.006 .938±.017",
    "SGHMC": ".422±.005 .698±.006 .834±.007 .868±.010 .871±.005",
    "SGNHT": ".425±.004 .705±.007 .833±.008 .873±.006 .877±.021",
    "PX-SGHMC": ".388±.005 .661±.012 .806±.009 .819±.004 .859±.022",
}


def _sets(scale: Scale) -> list[str]:
    return ["test", *(f"shift {name}" for name in scale.shifts), "corruptions"]


def _tables(scale: Scale) -> list[TableSpec]:
    note = "All draws averaged. Lower is better."
    return [
        TableSpec("Error", [f"{name}/err" for name in _sets(scale)], note),
        TableSpec("Negative log-likelihood", [f"{name}/nll" for name in _sets(scale)], note),
    ]


def _claims(scale: Scale) -> dict[str, list[ClaimPart]]:
    shifted = [f"{name}/{metric}" for name in _sets(scale)[1:] for metric in ("err", "nll")]
    return {
        "C1": chains.against_baselines(["test/err", "test/nll"], "below"),
        "C2": chains.against_baselines(shifted, "below"),
        "C3": [
            ClaimPart("test/nll", "SGHMC", "about", "SGNHT"),
            ClaimPart("test/nll", "SGHMC", "below", "SGLD"),
            ClaimPart("test/nll", "SGNHT", "below", "SGLD"),
            ClaimPart("test/nll", "SGLD", "below", "pSGLD"),
        ],
    }


EXPERIMENT = Experiment(
    name="table1",
    title="Table 1: test, shift and corruption",
    about="Five samplers with equally many steps and draws, each with settings of its own; beside "
    "them SGRHMC, which the paper tried and dropped, and deep ensembles of five members "
    "that share the steps of one chain.",
    arms=chains.arms,
    tables=_tables,
    published={
        **chains.published(_ERR, [f"{name}/err" for name in _OFFICIAL]),
        **chains.published(_NLL, [f"{name}/nll" for name in _OFFICIAL]),
    },
    claims=_claims,
    stressed=True,
)
