"""What metrics mean, for readers who meet them here: beside the first table, and at the end."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from pxsgmcmc.report.reported import ShownMethod
from pxsgmcmc.results import SplitResult


class _Word(NamedTuple):
    title: str
    metrics: tuple[str, ...]  # any of which calls for it
    meaning: str
    task: str = ""  # the only one it is meant for


_WORDS = (
    _Word("ERR", ("err",), "Share of rows whose most probable class is wrong."),
    _Word("RMSE", ("rmse",), "Root of the mean squared error of the predictive mean, in the "
          "target's unit."),
    _Word("MAE", ("mae",), "Mean absolute error of the predictive mean, in the target's unit."),
    _Word("NLL", ("nll",), "Mean of −log of the probability given to the right class, draws "
          "averaged first. Punishes being sure and wrong.", "classification"),
    _Word("NLL", ("nll",), "Mean of −log of the density given to what was observed, draws averaged "
          "first. Below zero where densities are above one; punishes intervals that are too "
          "narrow.", "regression"),
    _Word("NLL", ("nll",), "Mean of −log of the probability or density given to what was observed, "
          "draws averaged first, as the run's own likelihood has it.", "custom"),
    _Word("IND", ("ind",), "The NLL of single draws, averaged after."),
    _Word("AMB", ("amb",), "Ambiguity: how much the draws disagree, as the NLL that averaging "
          "their logits saves."),
    _Word("VAR", ("var",), "Variance of the predicted probabilities between draws, summed over "
          "classes."),
    _Word("CRPS", ("crps",), "Continuous ranked probability score: like an absolute error, but of "
          "the whole predictive distribution, in the target's unit."),
    _Word("Coverage", ("coverage90", "coverage50"), "Share of the observed values within the "
          "central interval of that probability; ideally the probability itself."),
    _Word("Width", ("width90",), "Mean width of the central 90% interval: narrower is better, "
          "where its coverage is right."),
    _Word("Std", ("std",), "Mean standard deviation of the predictive distribution."),
    _Word("Epistemic share", ("epistemic_share",), "Part of the predictive variance that comes of "
          "draws that disagree; the rest is noise that every draw sees."),
    _Word("ECE", ("ece",), "Expected calibration error in 15 bins of confidence."),
    _Word("Brier", ("brier",), "Squared distance between predicted probabilities and what was "
          "true, from 0 to 2."),
    _Word("Entropy", ("entropy",), "Of the averaged prediction, in nats: aleatoric is what every "
          "draw is unsure of, epistemic is what they disagree about."),
    _Word("AUROC", ("auroc",), "Probability that a row of another kind has the higher entropy; 0.5 "
          "is guessing."),
    _Word("TNR95, TNR99", ("tnr95_inside", "tnr99_inside"), "Share of the other side turned away "
          "when 95% or 99% of the positive side is let in."),
)  # fmt: skip

_BESIDE_A_TABLE = {
    "ind": "IND is the NLL of single draws; what it lies above the NLL is what averaging gains.",
    "amb": "AMB is how much the draws disagree: the NLL that averaging their logits saves.",
    "var": "VAR is the variance of the predicted probabilities between draws.",
    "crps": "CRPS is an absolute error of the whole predictive distribution, in the target's unit.",
    "coverage90": "Coverage is the share of observed values within the central interval of that "
    "probability, and should equal it.",
}


def beside_a_table(metrics: Collection[str]) -> str:
    """What the less common of these metrics mean, in a sentence each.

    Example:
      >>> beside_a_table(["nll", "var"])
      'VAR is the variance of the predicted probabilities between draws.'
    """
    return " ".join(text for name, text in _BESIDE_A_TABLE.items() if name in metrics)


def glossary(methods: Sequence[ShownMethod]) -> list[tuple[str, str]]:
    """Words and meanings of the metrics that these runs have."""
    runs = [run.results for method in methods for run in method.runs]
    tasks = {results.task for results in runs}
    metrics: set[str] = set()
    for results in runs:
        splits = [results.train, results.test, results.validation, *results.shifts.values()]
        metrics |= _names(splits)
        metrics |= {name for d in results.out_of_distribution.values() for name in d.metrics}
    return [
        (word.title, word.meaning)
        for word in _WORDS
        if metrics & set(word.metrics) and (not word.task or word.task in tasks)
    ]


def _names(splits: Iterable[SplitResult | None]) -> set[str]:
    return {name for split in splits if split for name in split.metrics}
