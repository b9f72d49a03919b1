"""What came of a search: the chosen settings, what to know about them, which settings mattered."""

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from pxsgmcmc.config import Config, parse_config, write_config
from pxsgmcmc.errors import Diverged
from pxsgmcmc.results import Trial, Tuning
from pxsgmcmc.tuning.halving import leader, winner
from pxsgmcmc.tuning.optuna_search import importances
from pxsgmcmc.tuning.space import at_edge, with_values


def concluded(tuning: Tuning, over: bool) -> Tuning:
    """The search with its outcome.

    Args:
      tuning: all trials.
      over: whether the search came to its end.
    """
    best = winner(tuning.trials, tuning.lengths)
    by_forest = importances(tuning)
    return replace(
        tuning,
        chosen=None if best is None else best.number,
        mattered=by_thirds(tuning) if by_forest is None else by_forest,
        mattered_by="thirds" if by_forest is None else "fANOVA",
        notes=list(_notes(tuning, best, over)),
    )


def best_config(tuning: Tuning) -> Config | None:
    """The configuration with the chosen settings, as long and as many chains as it began with."""
    if tuning.best is None:
        return None
    return with_values(parse_config(tuning.start_config), tuning.best.settings)


def best_toml(tuning: Tuning, own_problem: bool = False) -> str:
    """The same as a file that can be run.

    Args:
      tuning: the search.
      own_problem: the problem was given in Python, and has no name of its own.
    """
    config, best = best_config(tuning), tuning.best
    assert config is not None and best is not None and best.verdict is not None
    lines = [
        f"# The best of {len(tuning.trials)} trials by `pxsgmcmc tune` ({tuning.search}), trial "
        f"{best.number}.",
        f"# validation NLL of {best.scores[-1].draws} draws of one chain: {best.scores[-1].nll:.4f}"
        " (the lowest of several, so the next run may be a little worse)",
        f"# {best.verdict.headline}",
    ]
    if own_problem:
        lines.append("# `problem` is to name your own function: the search was given it in Python.")
        config = replace(config, problem_folder=None)
    return "\n".join([*lines, "", write_config(config)])


def raise_if_all_diverged(tuning: Tuning) -> None:
    """Say what was tried, and how far one may go."""
    if not tuning.trials or not all(trial.diverged for trial in tuning.trials):
        return
    tried = []
    for place in tuning.ranges:
        values = [trial.settings[place.name] for trial in tuning.trials]
        low, high = f"{min(values):g}", f"{max(values):g}"
        tried.append(f"{place.name} {low}" + (f" to {high}" if low != high else ""))
    step = tuning.ranges[0].name
    smallest = min(t.settings.get(step, 0.0) for t in tuning.trials)
    if tuning.stable_to is None:
        advice = f"no stable step size is known, so search below {step} = {smallest:g}"
    else:
        limit = tuning.stable_to
        advice = f"the pilot predicts that steps are stable up to {limit:.2g}"
        if step.startswith("sampler.step_size"):
            advice += (
                f": give `--space {step}={limit / 100:.1g}:{limit / 3:.1g}` and another `--out`, "
                "since a search keeps its ranges"
            )
    many = len(tuning.trials)
    whole = "The only trial" if many == 1 else f"All {many} trials"
    raise Diverged(f"{whole} diverged ({', '.join(tried)}); {advice}.")


def _notes(tuning: Tuning, best: Trial | None, over: bool) -> Iterator[str]:
    if best is None:
        yield from _why_none(tuning, over)
        return
    for place in tuning.ranges:
        value = best.settings[place.name]
        if tuning.search == "tpe" and (edge := at_edge(place, value)):
            yield (
                f"`{place.name}` = {value:g} lies at the {edge} edge of its range, {place.low:.3g} "
                f"to {place.high:.3g}: the same command with more --trials goes on with a wider "
                "one."
            )
    if best.verdict is not None and best.verdict.healthy is None:
        yield (
            f"Whether the chosen chain has settled cannot be told from {best.scores[-1].draws} "
            "draws: raise `chain.draws`, or run several chains."
        )


def _why_none(tuning: Tuning, over: bool) -> Iterator[str]:
    nearest = leader(tuning.trials, tuning.lengths)
    whole = [trial for trial in tuning.trials if tuning.is_whole(trial)]
    if not over:
        yield "No trial of full length is healthy yet."
    elif nearest is None:
        yield (
            "No trial was at its temperature, so none is chosen: search smaller step sizes or "
            "larger friction (--space), or raise `chain.batch_size`."
        )
    elif whole:
        yield (
            f"No trial of full length has settled, so none is chosen: raise `chain.burn_in` or "
            f"`chain.draws`. Nearest is trial {nearest.number}: {_headline(nearest)}."
        )


def _headline(trial: Trial) -> str:
    return trial.verdict.headline if trial.verdict else "not judged"


def by_thirds(tuning: Tuning) -> dict[str, float]:
    """Share of the variance of first scores between the thirds of each setting's values.

    What thirds of equal size would show by chance is taken off (epsilon squared), so a setting that
    does nothing has a share near zero. A few very bad scores would be all of the variance: the
    logarithm of what scores are above the best counts instead.
    """
    scored = [t for t in tuning.trials if t.scores and t.scores[0].nll is not None]
    if len(scored) < 6:
        return {}
    nll = np.array([trial.scores[0].nll for trial in scored], float)
    nll = np.log(nll - nll.min() + 0.1 * (np.median(nll) - nll.min()) + 1e-12)
    total, shares = float(np.sum((nll - nll.mean()) ** 2)), {}
    for place in tuning.ranges:
        ranks = np.argsort(np.argsort([trial.settings[place.name] for trial in scored]))
        thirds = [nll[3 * ranks // len(scored) == k] for k in range(3)]
        within = sum(float(np.sum((part - part.mean()) ** 2)) for part in thirds)
        chance = within / (len(scored) - 3) * 2
        shares[place.name] = max(0.0, (total - within - chance) / total) if total else 0.0
    return shares
