"""Whether to believe the runs, as the first screen says it."""

from collections.abc import Sequence
from typing import NamedTuple

from pxsgmcmc.report.formatting import plain
from pxsgmcmc.report.reported import Reported, ShownMethod
from pxsgmcmc.results import Verdict

_SHOWN_WARNINGS = 3
_NAMES = {True: "Healthy", False: "Not healthy", None: "Not known"}


class Judgement(NamedTuple):
    """A verdict, ready for the page."""

    healthy: bool | None
    name: str
    headline: str
    warnings: list[str]  # the gravest
    more: int  # how many others there are


def verdict_of(run: Reported) -> Verdict:
    """The verdict on a run; of the diagnostics where they have one, since they know more."""
    verdict = (run.diagnostics and run.diagnostics.verdict) or run.results.verdict
    if verdict:
        return verdict
    command = f"`pxsgmcmc diagnose {plain(run.place)}`"
    return Verdict(healthy=None, headline=f"Nothing was diagnosed yet; {command} does.")


def warnings_of(run: Reported) -> list[str]:
    """Every warning about a run, each once."""
    warnings = [*verdict_of(run).warnings, *run.results.remarks]
    return [plain(text, 500) for text in dict.fromkeys(warnings)]


def judge(methods: Sequence[ShownMethod]) -> Judgement:
    """The verdict on one run, or in few words on several."""
    runs = [(method, run) for method in methods for run in method.runs]
    if len(runs) == 1:
        verdict, warnings = verdict_of(runs[0][1]), warnings_of(runs[0][1])
        headline = verdict.headline  # the page says the first word in its own way
        for word in ("healthy: ", "not healthy: "):
            headline = headline.removeprefix(word)
        return _judgement(verdict.healthy, plain(headline, 500), warnings)
    verdicts = [verdict_of(run) for _, run in runs]
    healthy = sum(verdict.healthy is True for verdict in verdicts)
    ill = sum(verdict.healthy is False for verdict in verdicts)
    unknown = len(runs) - healthy - ill
    headline = f"{healthy} of {len(runs)} runs {'is' if healthy == 1 else 'are'} healthy"
    headline += f", {ill} {'is' if ill == 1 else 'are'} not" if ill else ""
    headline += f", and of {unknown} it is not known." if unknown else "."
    order = {False: 0, None: 1}
    others = [
        (
            order[verdict.healthy],
            f"{method.name}, seed {run.results.subject.seed}: {_brief(verdict)}",
        )
        for (method, run), verdict in zip(runs, verdicts, strict=True)
        if verdict.healthy is not True
    ]
    overall = False if ill else (None if unknown else True)
    return _judgement(overall, headline, [text for _, text in sorted(others, key=lambda o: o[0])])


def _brief(verdict: Verdict) -> str:
    """The headline and the gravest warning."""
    return plain(" ".join([verdict.headline, *verdict.warnings[:1]]), 300)


def _judgement(healthy: bool | None, headline: str, warnings: Sequence[str]) -> Judgement:
    shown = list(warnings[:_SHOWN_WARNINGS])
    more = len(warnings) - len(shown)
    return Judgement(healthy, _NAMES[healthy], headline, shown, more)
