"""Every kind of report, made once."""

import pytest

from pxsgmcmc.evaluate.compare import compare
from pxsgmcmc.report import write_report
from pxsgmcmc.results import Verdict
from tests.report.findings import HOSTILE, bare, nothing_but_reasons, reported
from tests.report.found_in_regressions import regression

METHODS = ("SGHMC", "PX-SGHMC (c=1, d=1)")
HEALTHY = Verdict(
    healthy=True,
    headline="Temperatures lie in their bands and the energy is level.",
    warnings=["The chain is short: 20 draws."],
)


class Pages(dict[str, str]):
    """Reports by kind, each written when first asked for: workers share the tests out."""

    def __missing__(self, kind: str) -> str:
        self[kind] = _page(kind)
        return self[kind]


def _page(kind: str) -> str:
    if kind == "single":
        return write_report([reported()])
    if kind == "not diagnosed":
        return write_report([bare()])
    if kind == "reasons":
        return write_report([nothing_but_reasons()])
    if kind == "regression":
        return write_report([regression(verdict=HEALTHY, diagnosed=False)])
    if kind == "two targets":
        return write_report([regression(targets=("mass", HOSTILE[2]), input_name=None)])
    if kind == "several regressions":
        runs = [
            regression(method, s) for method in ("SGHMC", "PX-SGHMC (c=1, d=1)") for s in (0, 1)
        ]
    elif kind == "several":
        runs = [reported(method, s) for method in METHODS for s in (0, 1)]
    else:
        names = (HOSTILE[0], HOSTILE[2], HOSTILE[6])
        runs = [reported(HOSTILE[i], names=names, data=HOSTILE[1], classes=HOSTILE) for i in (0, 5)]
    return write_report(runs, compare([run.results for run in runs]))


@pytest.fixture(scope="session")
def pages() -> Pages:
    return Pages()
