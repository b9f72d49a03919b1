"""The page on a search over settings: what was chosen, what was tried, and what mattered."""

from pxsgmcmc.report.drawing import style
from pxsgmcmc.report.formatting import MISSING, count, duration, number, plain
from pxsgmcmc.report.page import Folded, PageSection, render
from pxsgmcmc.report.summary import Tile
from pxsgmcmc.report.tables import Cell, Table
from pxsgmcmc.report.tuning_figures import frontier_figure, mattered_figure, setting_figures
from pxsgmcmc.report.verdicts import Judgement
from pxsgmcmc.results import Trial, Tuning

_KEY = (
    "Filled: trials of full length. Open: stopped early. Crosses: not healthy, so they cannot win. "
    "Triangles: diverged. Ringed: the chosen one. What is worse than the panel is tall stands at "
    "its upper edge."
)
_WORDS = (
    ("Trial", "One run with settings of its own, scored on the validation rows; the test rows are "
     "never read."),
    ("Validation NLL", "Mean of −log of the probability or density given to what was observed, "
     "draws averaged first. Lower is better."),
    ("Stopped early", "Of all trials that got to a length, the best third is extended; the others "
     "stay as they are."),
    ("Off temperature", "A kinetic temperature further off than a tenth: the draws are of another "
     "distribution than the posterior."),
    ("Not settled", "The energy still drifts over the draws: R-hat between parts of the chain is "
     "larger than chance allows."),
)  # fmt: skip


def write_tuning_page(tuning: Tuning, best: str = "") -> str:
    """The page as HTML.

    Args:
      tuning: the search.
      best: text of the chosen configuration; empty if there is none.
    """
    with style():
        sections = [
            PageSection(
                "settings",
                "Score against each setting",
                figures=list(setting_figures(tuning)),
                remarks=[_KEY],
            ),
            PageSection(
                "time",
                "What it took, and what mattered",
                figures=[*frontier_figure(tuning), *mattered_figure(tuning)],
            ),
            PageSection(
                "trials",
                "The trials",
                tables=[_table(tuning, _ranked(tuning)[:10], "The best of them")],
                folded=[
                    Folded("All of them", tables=[_table(tuning, tuning.trials, "All trials")])
                ],
            ),
        ]
    return render(
        title=f"Settings of {tuning.method} on {tuning.data}",
        lead=_lead(tuning),
        verdict=_verdict(tuning),
        tiles=_tiles(tuning),
        facts=_facts(tuning),
        config=best,
        sections=[section for section in sections if any(section[2:6])],
        glossary=_WORDS,
    )


def _lead(tuning: Tuning) -> str:
    trials = count(len(tuning.trials), "trial")
    kind = {"tpe": "proposed by TPE, stopped early by successive halving"}
    how = kind.get(tuning.search, "by a best-first search, all of the same length")
    words = f"{trials} of {plain(tuning.model, 80)}, {how}, in {duration(tuning.seconds)}."
    return f"{words} Scored on the validation rows; the test rows were not read."


def _verdict(tuning: Tuning) -> Judgement:
    best = tuning.best
    if best is None or best.verdict is None:
        return Judgement(None, "None chosen", " ".join(tuning.notes), [], 0)
    healthy = best.verdict.healthy
    name = {True: "Healthy", False: "Not healthy", None: "Not known"}[healthy]
    headline = best.verdict.headline.removeprefix("healthy: ")
    return Judgement(healthy, name, plain(f"Trial {best.number}: {headline}", 500), tuning.notes, 0)


def _tiles(tuning: Tuning) -> list[Tile]:
    best = tuning.best
    if best is None:
        return []
    tiles = [Tile("validation NLL", number(best.scores[-1].nll), f"of trial {best.number}")]
    first = tuning.trials[0]
    if first.number != best.number and first.scores:
        last = first.scores[-1]
        tiles.append(
            Tile("where it began", number(last.nll), f"trial 0, {count(last.draws, 'draw')}")
        )
    return tiles


def _facts(tuning: Tuning) -> dict[str, str]:
    facts = {"Started from": plain(tuning.start, 300)}
    if tuning.best is not None:
        facts |= {plain(k, 60): f"{v:g}" for k, v in tuning.best.settings.items()}
    lengths = ", ".join(f"{length:,}" for length in tuning.lengths)
    return facts | {"Compared at": f"{lengths} draws"}


def _ranked(tuning: Tuning) -> list[Trial]:
    """Whole and healthy ones first, by score."""
    states = ("whole", "stopped early")

    def key(trial: Trial) -> tuple[int, float]:
        state = tuning.state_of(trial)
        nll = trial.scores[-1].nll if trial.scores else None
        place = states.index(state) if state in states else len(states)
        return place, float("inf") if nll is None else nll

    return sorted(tuning.trials, key=key)


def _table(tuning: Tuning, trials: list[Trial], caption: str) -> Table:
    names = [place.name for place in tuning.ranges]
    rows = []
    for trial in trials:
        last = trial.scores[-1] if trial.scores else None
        strong = trial.number == tuning.chosen
        rows.append(
            [
                Cell(f"{trial.number}, {plain(trial.origin, 20)}"),
                Cell(MISSING if last is None else number(last.nll, 4), strong),
                *(Cell(f"{trial.settings[name]:g}", strong) for name in names),
                Cell(tuning.state_of(trial)),
                Cell(MISSING if last is None else f"{last.draws:,}"),
                Cell(f"{trial.seconds:,.0f}"),
            ]
        )
    head = ["trial", "validation NLL", *names, "state", "draws", "seconds"]
    return Table(caption, head, rows)
