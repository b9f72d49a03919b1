"""Table 2: telling inputs of another kind from the test set by entropy."""

from pxsgmcmc.reproduce.experiment import ClaimPart, Experiment, TableSpec
from pxsgmcmc.reproduce.experiments import chains_of_table1 as chains
from pxsgmcmc.reproduce.scale import Scale

METRICS = ("auroc", "tnr95_inside", "tnr99_inside")
_OFFICIAL = [f"ood {name}/{metric}" for name in ("svhn", "lsun") for metric in METRICS]
_VALUES = {
    "SGLD": ".784±.031 .536±.039 .424±.034 .853±.015 .520±.038 .276±.039",
    "pSGLD": ".745±.009 .506±.012 .408±.018 .855±.009 .520±.025 .255±.043",
    "SGHMC": ".790±.051 .549±.068 .427±.030 .860±.018 .554±.028 .357±.034",
    "SGNHT": ".776±.014 .530±.013 .436±.014 .864±.009 .556±.006 .375±.015",
    "PX-SGHMC": ".832±.014 .632±.009 .514±.021 .884±.007 .594±.037 .405±.036",
}


def outside_sets(scale: Scale) -> tuple[str, ...]:
    """Official sets, and those that stand in for them."""
    return (*scale.outside, *scale.stand_ins)


def _tables(scale: Scale) -> list[TableSpec]:
    note = "Positive: test rows. Averaged over five subsets of 1,000 rows. Higher is better."
    return [
        TableSpec(f"{name} told from the test set", [f"ood {name}/{m}" for m in METRICS], note)
        for name in outside_sets(scale)
    ]


def _claims(scale: Scale) -> dict[str, list[ClaimPart]]:
    sets = scale.outside if scale.name != "laptop" else scale.stand_ins
    measures = [f"ood {name}/{metric}" for name in sets for metric in METRICS]
    return {"C4": chains.against_baselines(measures, "above")}


EXPERIMENT = Experiment(
    name="table2",
    title="Table 2: out-of-distribution inputs",
    about="How well the entropy of the averaged prediction tells inputs of another kind, on the "
    "chains of Table 1.",
    arms=chains.arms,
    tables=_tables,
    published=chains.published(_VALUES, _OFFICIAL),
    claims=_claims,
    stressed=True,
)
