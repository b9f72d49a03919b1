"""Every kind of report, made once."""

import pytest

from pxsgmcmc.evaluation.compare import compare
from pxsgmcmc.report import write_report
from tests.report.findings import HOSTILE, bare, nothing_but_reasons, reported


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
    if kind == "several":
        runs = [reported(method, s) for method in ("SGHMC", "PX-SGHMC (c=1, d=1)") for s in (0, 1)]
    else:
        names = (HOSTILE[0], HOSTILE[2], HOSTILE[6])
        runs = [reported(HOSTILE[i], names=names, data=HOSTILE[1], classes=HOSTILE) for i in (0, 5)]
    return write_report(runs, compare([run.results for run in runs]))


@pytest.fixture(scope="session")
def pages() -> Pages:
    return Pages()
