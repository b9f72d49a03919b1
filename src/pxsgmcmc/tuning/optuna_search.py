"""The one place that knows Optuna: what to try next by TPE, kept in a journal file.

`trials.json` is the truth, and the journal is brought up to it before every proposal, so a search
that was killed anywhere goes on. Optuna orders trials as we do: those of full length by score, then
shorter ones by length and score. One that is not healthy is reported at length 0, behind them all.
The generator of a proposal is seeded by the number of trials, so a search that went on proposes
what it would have proposed without the stop.
"""

import importlib.util
import warnings
from pathlib import Path
from typing import Any

from pxsgmcmc.errors import UserError
from pxsgmcmc.results import SearchRange, Trial, Tuning
from pxsgmcmc.tuning.space import as_setting

JOURNAL = "optuna.journal"
_NUMBER, _SCORES = "trial", "scores"  # what a trial of Optuna's says of ours


def is_installed() -> bool:
    """Whether Optuna can be imported."""
    return importlib.util.find_spec("optuna") is not None


class Tpe:
    """Tree-structured Parzen estimator of Optuna.

    Args:
      folder: of the search, in which the journal is kept.
      seed: of the proposals.
    """

    name, halving = "tpe", True

    def __init__(self, folder: Path, seed: int):
        if not is_installed():
            raise UserError(
                "`--search tpe` needs the package 'optuna': pip install 'pxsgmcmc[tune]', or give "
                "`--search best-first`."
            )
        self._folder, self._seed = folder, seed

    def check(self, ranges: list[SearchRange]) -> None:
        """It can search them all."""

    def propose(self, tuning: Tuning, count: int, trials: int) -> list[dict[str, float]]:
        """Random settings for a third of the trials, ten at most, then what TPE suggests."""
        study = self._study(len(tuning.trials), startup=min(10, max(2, trials // 3)))
        _bring_up_to(study, tuning)
        distributions = {place.name: _distribution(place) for place in tuning.ranges}
        proposals = []
        for number in range(len(tuning.trials), len(tuning.trials) + count):
            asked = study.ask(distributions)
            # Rounded, as it will be tried: written down as ours when it has a score.
            proposals.append({p.name: as_setting(p, asked.params[p.name]) for p in tuning.ranges})
            asked.set_user_attr(_NUMBER, number)
        return proposals

    def _study(self, known: int, startup: int) -> Any:
        import optuna
        from optuna.storages.journal import JournalFileBackend, JournalStorage

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on which of its options are experimental
            sampler = optuna.samplers.TPESampler(
                constant_liar=True,
                multivariate=False,  # ranges may be widened on the way
                n_startup_trials=startup,
                seed=self._seed + known,
            )
            storage = JournalStorage(JournalFileBackend(str(self._folder / JOURNAL)))
            return optuna.create_study(
                storage=storage, sampler=sampler, study_name="tune", load_if_exists=True
            )


def _bring_up_to(study: Any, tuning: Tuning) -> None:
    """Tell the study what it does not know of our trials; forget what was asked and never run."""
    import optuna

    pruned, failed = optuna.trial.TrialState.PRUNED, optuna.trial.TrialState.FAIL
    known = set()
    for trial in study.get_trials(deepcopy=False):
        number = trial.user_attrs.get(_NUMBER)
        ours = tuning.trials[number] if number in range(len(tuning.trials)) else None
        if trial.state == optuna.trial.TrialState.RUNNING:
            study.tell(trial.number, state=failed)  # it is added below as it was really tried
        elif ours is not None and trial.state in (pruned, optuna.trial.TrialState.COMPLETE):
            known.add((number, trial.user_attrs.get(_SCORES)))
    for trial in tuning.trials:
        if not trial.open and (trial.number, len(trial.scores)) not in known:
            study.add_trial(_as_optuna(trial, tuning))


def _as_optuna(trial: Trial, tuning: Tuning) -> Any:
    import optuna

    whole = tuning.is_whole(trial)
    told: dict[int, float] = {}
    value = None
    if trial.scores and not trial.diverged:
        last = trial.scores[-1]
        if whole and last.is_fit:
            value = last.nll
        elif not whole and last.is_cool and last.nll is not None:
            told = {last.draws: last.nll}
        else:
            told = {0: max(last.too_hot or 0.0, last.unsettled or 0.0)}
    state = optuna.trial.TrialState.COMPLETE if value is not None else None
    return optuna.trial.create_trial(
        state=state or optuna.trial.TrialState.PRUNED,
        value=value,
        params={place.name: trial.settings[place.name] for place in tuning.ranges},
        distributions={place.name: _distribution(place, trial) for place in tuning.ranges},
        intermediate_values=told,
        user_attrs={_NUMBER: trial.number, _SCORES: len(trial.scores)},
    )


def _distribution(place: SearchRange, *tried: Trial) -> Any:
    """Of a setting; what was tried lies within, whatever was rounded."""
    import optuna

    values = [trial.settings[place.name] for trial in tried]
    low, high = min([place.low, *values]), max([place.high, *values])
    if place.whole:
        return optuna.distributions.IntDistribution(int(low), int(high), log=place.log)
    return optuna.distributions.FloatDistribution(low, high, log=place.log)


def importances(tuning: Tuning) -> dict[str, float] | None:
    """Shares of the variance of first scores by fANOVA; None where it cannot be had."""
    scored = [t for t in tuning.trials if t.scores and t.scores[0].nll is not None]
    if not is_installed() or importlib.util.find_spec("sklearn") is None or len(scored) < 8:
        return None
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study()
    ranges = {place.name: _distribution(place, *scored) for place in tuning.ranges}
    for trial in scored:
        params = {name: trial.settings[name] for name in ranges}
        value = trial.scores[0].nll
        study.add_trial(optuna.trial.create_trial(params=params, distributions=ranges, value=value))
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {name: float(found.get(name, 0.0)) for name in ranges}
