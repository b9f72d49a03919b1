"""One of several classes: the network gives a logit for each.

log p(y | x) = z_y - log sum_k exp(z_k)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc import notebook
from pxsgmcmc.data.check import check_labels
from pxsgmcmc.errors import UserError
from pxsgmcmc.likelihoods._jax_averages import class_averages
from pxsgmcmc.metrics import log_softmax, uncertainty
from pxsgmcmc.metrics._metric_sums import MetricSums, classification_sums
from pxsgmcmc.metrics._windows import Windows
from pxsgmcmc.metrics.classification import measure_windows
from pxsgmcmc.tree import widen
from pxsgmcmc.types import Array, Tree

_BLOCK = 4096  # rows finished together


def categorical() -> "Categorical":
    """Classification with a logit for each class.

    Example:
      >>> likelihood = categorical()
      >>> round(float(likelihood.log_prob(jnp.zeros((1, 2)), jnp.zeros(1, int))[0]), 4)
      -0.6931
    """
    return Categorical()


class ClassPrediction(NamedTuple):
    """What the draws predict together, in float64; entropies in nats.

    entropy = aleatoric + epistemic, row by row: what every draw finds uncertain, and what they
    disagree about (the mutual information of label and draw).
    """

    probabilities: np.ndarray  # (data, classes), mean over draws
    entropy: np.ndarray  # (data,)
    aleatoric: np.ndarray  # (data,)
    epistemic: np.ndarray  # (data,)
    draws: int

    def __repr__(self) -> str:
        """A line, not all the numbers."""
        rows, classes = self.probabilities.shape
        return (
            f"ClassPrediction({rows} rows, {classes} classes, {self.draws} draws; mean entropy "
            f"{self.entropy.mean():.3g} nats, {self.epistemic.mean():.3g} of it epistemic)"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the most probable class of the first rows."""
        rows, classes = self.probabilities.shape
        head = ("row", "class", "probability", "entropy", "epistemic")
        cells = [
            (str(i), str(p.argmax()), f"{p.max():.3f}", f"{h:.3f}", f"{e:.3f}")
            for i, (p, h, e) in enumerate(
                zip(self.probabilities[:5], self.entropy, self.epistemic, strict=False)
            )
        ]
        text = f"{rows} rows, {classes} classes, {self.draws} draws"
        return notebook.table("ClassPrediction", text, head, cells, "..." if rows > 5 else "")


@dataclass(frozen=True)
class Categorical:
    """Made by `categorical`, or by `bernoulli` with one logit z, which stands for (0, z).

    Attributes:
      one_logit: whether the network gives one logit, that of the second of two classes.
    """

    one_logit: bool = False
    task = "classification"
    headline = ("err", "nll", "ece", "brier", "amb", "epistemic")

    @property
    def name(self) -> str:
        """As one would type it."""
        return "bernoulli()" if self.one_logit else "categorical()"

    def outputs(self, targets: int) -> int:
        """A logit for each class, or one."""
        return 1 if self.one_logit else targets

    def start(self) -> Mapping[str, Array]:
        """Nothing is sampled besides the network."""
        return {}

    def energy(self, own: Tree) -> Array:
        """Nothing."""
        del own
        return jnp.zeros((), float)

    def check_targets(self, y: Any, names: tuple[str, ...], where: str) -> np.ndarray:
        """Whole numbers from 0, (rows,)."""
        return check_labels(y, 2 if self.one_logit else len(names) or None, where)

    def distribution(self, outputs: Array, own: Tree, targets: int) -> Array:
        """The logits of all classes, in at least float32."""
        del own
        if self.one_logit:
            return _two_logits(outputs)
        if outputs.ndim != 2 or outputs.shape[1] != targets:
            remedy = "give one logit for each class"
            if outputs.ndim < 2 or outputs.shape[1] == 1:
                remedy = "one logit is for `px.likelihoods.bernoulli()`"
            elif outputs.shape[1] > targets:
                remedy += ", or, if no label is of the last ones, all classes by `names`"
            raise UserError(
                f"`apply` must give logits of shape (batch, {targets}), got {outputs.shape}; "
                f"{remedy}."
            )
        return widen(outputs)

    def log_prob(self, distribution: Array, y: Array) -> Array:
        """(batch,)."""
        log_p = jax.nn.log_softmax(distribution)
        return jnp.take_along_axis(log_p, y[:, None], axis=1)[:, 0]

    def collector(self, rows: int) -> "ProbabilitySums":
        """Running sums: memory does not grow with the draws."""
        return ProbabilitySums(rows)

    def average(self, distributions: Array, levels: tuple[float, ...]) -> dict[str, Array]:
        """Probabilities, entropy and its two parts."""
        del levels  # numbers have quantiles, classes have none
        return class_averages(distributions)

    def sums(self, distributions: np.ndarray, y: np.ndarray) -> MetricSums:
        """All of `pxsgmcmc.metrics.METRICS`."""
        return classification_sums(distributions, y)

    def measure_windows(
        self, distributions: np.ndarray, y: np.ndarray, names: tuple[str, ...], windows: Windows
    ) -> dict[str, np.ndarray]:
        """Name -> (windows,)."""
        return measure_windows(distributions, y, names, windows)

    def uncertainty(self, distributions: np.ndarray) -> np.ndarray:
        """Predictive entropy in nats."""
        return uncertainty(distributions).total

    def followed(self, distributions: np.ndarray) -> np.ndarray:
        """Probabilities."""
        return np.exp(log_softmax(np.asarray(distributions, np.float64)))

    def simulate(self, distribution: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Labels drawn from the distribution, (rows,): the largest of logits with Gumbel noise."""
        return (distribution + rng.gumbel(size=distribution.shape)).argmax(axis=-1)

    def error(self, distribution: np.ndarray, y: np.ndarray) -> float:
        """Share of wrong answers."""
        return float(np.mean(distribution.argmax(axis=-1) != y))


def _two_logits(outputs: Array) -> Array:
    z = outputs[:, None] if outputs.ndim == 1 else outputs
    if z.ndim != 2 or z.shape[1] != 1:
        raise UserError(
            "`apply` must give one logit for each input, (batch,) or (batch, 1), got "
            f"{outputs.shape}; two logits are for `px.likelihoods.categorical()`."
        )
    z = widen(z)
    return jnp.concatenate([jnp.zeros_like(z), z], axis=1)


class ProbabilitySums:
    """Sums over draws of probabilities and entropies.

    In float64, whatever the number of draws: 8 bytes for each row and class, and 24 for the three
    entropies of a row. For 950,000 inputs and 10 classes these are 98.8 MB.
    """

    def __init__(self, rows: int):
        self._rows = rows
        self._total: np.ndarray | None = None
        self._aleatoric = np.zeros(rows)

    def add(self, rows: slice, distribution: np.ndarray) -> None:
        """Some rows of one draw."""
        log_p = log_softmax(distribution.astype(np.float64))
        p = np.exp(log_p)
        if self._total is None:
            self._total = np.zeros((self._rows, p.shape[1]))
        self._total[rows] += p
        self._aleatoric[rows] -= np.sum(p * log_p, axis=1)

    def finish(self, draws: int) -> ClassPrediction:
        """Sums to means in place, block by block: temporaries would double the memory."""
        total, aleatoric = self._total, self._aleatoric
        assert total is not None
        total /= draws
        aleatoric /= draws
        entropy, epistemic = np.empty_like(aleatoric), np.empty_like(aleatoric)
        for start in range(0, len(total), _BLOCK):
            rows = slice(start, start + _BLOCK)
            p = total[rows]
            entropy[rows] = -np.sum(p * np.log(np.where(p > 0.0, p, 1.0)), axis=1)
            epistemic[rows] = np.maximum(entropy[rows] - aleatoric[rows], 0.0)
        return ClassPrediction(total, entropy, aleatoric, epistemic, draws)
