"""Table 6: corruptions by severity."""

from pxsgmcmc.reproduce.experiment import ClaimPart, Experiment, TableSpec
from pxsgmcmc.reproduce.experiments import chains_of_table1 as chains
from pxsgmcmc.reproduce.scale import Scale

_SEVERITIES = ("corruptions", *(f"corruptions-{severity}" for severity in range(1, 6)))
_ERR = {
    "SGLD": ".301 .206 .253 .294 .341 .410",
    "pSGLD": ".317 .216 .266 .309 .360 .433",
    "SGHMC": ".294 .194 .242 .284 .335 .414",
    "SGNHT": ".296 .195 .241 .286 .339 .421",
    "PX-SGHMC": ".275 .180 .224 .264 .315 .394",
}
_NLL = {
    "SGLD": ".894 .623 .748 .863 1.006 1.229",
    "pSGLD": ".945 .659 .792 .912 1.066 1.298",
    "SGHMC": ".877 .585 .715 .837 .994 1.253",
    "SGNHT": ".878 .585 .715 .842 .995 1.252",
    "PX-SGHMC": ".826 .550 .673 .784 .934 1.189",
}
_ECE = {
    "SGLD": ".082 .070 .066 .074 .094 .107",
    "pSGLD": ".074 .074 .060 .059 .077 .100",
    "SGHMC": ".076 .064 .058 .064 .081 .111",
    "SGNHT": ".072 .064 .057 .060 .073 .105",
    "PX-SGHMC": ".066 .067 .059 .059 .063 .084",
}
_TITLES = {"err": "Error", "nll": "Negative log-likelihood", "ece": "Calibration error"}


def _tables(scale: Scale) -> list[TableSpec]:
    note = "Nineteen corruptions pooled. The published ± is a spread over corruptions; not shown."
    return [
        TableSpec(f"{title} under corruption", [f"{s}/{metric}" for s in _SEVERITIES], note)
        for metric, title in _TITLES.items()
    ]


def _claims(scale: Scale) -> dict[str, list[ClaimPart]]:
    measures = [f"{name}/{metric}" for name in _SEVERITIES[1:] for metric in _TITLES]
    growth = "corruptions-5/ece - corruptions-1/ece"
    return {
        "C13": [
            *chains.against_baselines(measures, "below"),
            *chains.against_baselines([growth], "below"),
        ]
    }


def _of(rows: dict[str, str], metric: str):
    return chains.published(rows, [f"{name}/{metric}" for name in _SEVERITIES])


EXPERIMENT = Experiment(
    name="table6",
    title="Table 6: corruptions by severity",
    about="Error, likelihood and calibration under nineteen corruptions at five severities, on the "
    "chains of Table 1.",
    arms=chains.arms,
    tables=_tables,
    published={**_of(_ERR, "err"), **_of(_NLL, "nll"), **_of(_ECE, "ece")},
    claims=_claims,
    stressed=True,
)
