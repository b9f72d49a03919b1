"""What is fitted to which data, and how it is judged: one value that every part takes."""

import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc import notebook
from pxsgmcmc.data.check import check_inputs, check_pair, scale_warnings
from pxsgmcmc.errors import UserError, one_line
from pxsgmcmc.likelihoods.likelihood import Likelihood
from pxsgmcmc.network_checks import check_fixed, check_no_state
from pxsgmcmc.types import Array, Batch, Key, Tree

NETWORK, LIKELIHOOD = "network", "likelihood"  # parts of the parameters where both are sampled


class Rows(NamedTuple):
    """Inputs and targets of one split, as stored."""

    x: np.ndarray  # (rows, ...)
    y: np.ndarray | None  # (rows,) labels or (rows, targets); None where there are none


@dataclass(frozen=True, repr=False)
class Problem:
    """A network, a likelihood and data.

    Args:
      apply: (params, inputs) -> outputs, a pure function: no dropout, no batch statistics.
      likelihood: from `px.likelihoods`.
      train: (inputs, targets) to fit.
      validation: (inputs, targets) for choosing settings.
      test: (inputs, targets) for judging the outcome.
      shifts: name -> (inputs, targets) of data that differ from the training data in kind.
      out_of_distribution: name -> inputs that the network should not be sure about.
      names: of the classes, or of the targets; numbers if not given.
      transform: raw inputs -> inputs as `apply` takes them, in JAX, such as scaling; applied both
        when sampling and when predicting.
      augment: (key, raw inputs) -> raw inputs, applied to batches while sampling.
      init: key -> params to start from, or the params themselves. Needed by the command line and by
        `px.fit`, which have no params of yours.
      name: of the data, for tables.
      model: of the network, for tables.

    Example:
      >>> import pxsgmcmc as px
      >>> x, y = np.zeros((6, 2), np.float32), np.array([0, 1, 2, 0, 1, 2])
      >>> Problem(lambda W, x: x @ W, px.likelihoods.categorical(), train=(x, y), name="toy")
      Problem: categorical() on toy, 6 training rows of float32[2], 3 classes
    """

    apply: Callable[[Tree, Array], Array]
    likelihood: Likelihood
    train: Any
    validation: Any = None
    test: Any = None
    shifts: Mapping[str, Any] = field(default_factory=dict)
    out_of_distribution: Mapping[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    transform: Callable[[Array], Array] | None = None
    augment: Callable[[Key, Array], Array] | None = None
    init: Callable[[Key], Tree] | Tree | None = None
    name: str = "data"
    model: str = "network"

    def __post_init__(self) -> None:
        """Check all data, once."""
        if not callable(self.apply):
            raise UserError(f"`apply` must be a function, got {one_line(self.apply)}.")
        if not isinstance(self.likelihood, Likelihood):
            raise UserError(
                "`likelihood` must be made by `px.likelihoods`, as `px.likelihoods.categorical()`, "
                f"got {one_line(self.likelihood)}."
            )
        names = tuple(map(str, self.names))
        train = self._checked("train", self.train, names)
        assert train.y is not None
        if not names:
            names = tuple(map(str, range(_count_targets(self.likelihood, train.y))))
        keep = functools.partial(object.__setattr__, self)
        keep("train", train)
        keep("names", names)
        for split in ("validation", "test"):
            if getattr(self, split) is not None:
                keep(split, self._checked(split, getattr(self, split), names, train))
        shifts = {
            name: self._checked(f"shifts[{name!r}]", rows, names, train)
            for name, rows in self.shifts.items()
        }
        keep("shifts", shifts)
        outside = {
            name: Rows(
                check_inputs(_inputs_alone(x), f"out_of_distribution[{name!r}]", train.x), None
            )
            for name, x in self.out_of_distribution.items()
        }
        keep("out_of_distribution", outside)

    def _checked(
        self, where: str, pair: Any, names: tuple[str, ...], like: Rows | None = None
    ) -> Rows:
        """A split as arrays, or a sentence on what is wrong with it."""
        pair = check_pair(pair, name=where)
        x = check_inputs(pair[0], f"{where}[0]", None if like is None else like.x)
        y = self.likelihood.check_targets(pair[1], names, f"{where}[1]")
        if len(x) != len(y):
            raise UserError(
                f"`{where}` must have as many inputs as targets, got {len(x)} inputs for {len(y)} "
                "targets."
            )
        if like is not None and like.y is not None and y.shape[1:] != like.y.shape[1:]:
            raise UserError(
                f"`{where}` must have targets like those of `train`, {like.y.shape[1:]} a row, got "
                f"{y.shape[1:]}."
            )
        return Rows(x, y)

    @property
    def targets(self) -> int:
        """How many classes or targets there are."""
        return len(self.names)

    @functools.cached_property
    def sha256(self) -> str:
        """Of the training data."""
        digest = hashlib.sha256()
        for array in self.train:
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def start(self, params: Tree) -> Tree:
        """Parameters to sample: the network's, and the likelihood's own where it has any.

        A likelihood with learned noise samples it along: {"network": params, "likelihood": ...}.
        """
        own = self.likelihood.start()
        return {NETWORK: params, LIKELIHOOD: dict(own)} if own else params

    def split(self, params: Tree) -> tuple[Tree, Tree]:
        """The network's parameters and the likelihood's own."""
        if not self.likelihood.start():
            return params, {}
        if not isinstance(params, dict) or set(params) != {NETWORK, LIKELIHOOD}:
            raise UserError(
                f"`position` must be made by `problem.start(params)`: {self.likelihood.name} "
                "samples its noise besides the network."
            )
        return params[NETWORK], params[LIKELIHOOD]

    def distribution(self, params: Tree, x: Array) -> Array:
        """What the network says of raw inputs: parameters of a distribution, (batch, numbers)."""
        network, own = self.split(params)
        x = x if self.transform is None else self.transform(x)
        return self.likelihood.distribution(self.apply(network, x), own, self.targets)

    def log_likelihood(self, params: Tree, batch: Batch) -> Array:
        """Log-probability of each target of a batch (inputs, targets), (batch,)."""
        if not isinstance(batch, tuple | list) or len(batch) != 2:
            raise UserError(
                f"`batch` must be a pair (inputs, targets), got {type(batch).__name__}."
            )
        x, y = batch
        if jnp.shape(x)[:1] != jnp.shape(y)[:1]:
            raise UserError(
                f"`batch` must have as many inputs as targets, got shapes {jnp.shape(x)} and "
                f"{jnp.shape(y)}."
            )
        return self.likelihood.log_prob(self.distribution(params, x), y)

    def transform_batch(self, key: Key, batch: Batch) -> Batch:
        """A batch as the sampler sees it."""
        assert self.augment is not None
        return self.augment(key, batch[0]), batch[1]

    def initial(self, key: Key) -> Tree:
        """Parameters to start from, made by `init`."""
        if self.init is None:
            raise UserError(
                "`init` must be given to the problem, a function of a key or the parameters to "
                "start from: nothing else knows how to begin."
            )
        return self.start(self.init(key) if callable(self.init) else self.init)

    def check_network(self, params: Tree) -> list[str]:
        """See that the network can be sampled at all; returns warnings.

        Raises:
          UserError: if outputs do not fit the targets, or the network keeps state of its own.
        """
        check_no_state(params)
        x = jnp.asarray(self.train.x[:8])
        check_fixed(self.distribution, params, x)
        warnings = [] if self.transform is not None else scale_warnings(self.train.x)
        rows = np.asarray(jax.jit(self.distribution)(params, x))
        if self.likelihood.task == "classification" and _are_probabilities(rows):
            warnings.append(
                "`apply` seems to give probabilities: each row is between 0 and 1 and adds up to "
                "1. Give logits, without softmax."
            )
        return warnings

    def facts(self) -> dict[str, Any]:
        """What a manifest says of it."""
        return {
            "data": self.name,
            "rows": len(self.train.x),
            "data_sha256": self.sha256,
            "likelihood": self.likelihood.name,
            "task": self.likelihood.task,
            "model": self.model,
            "names": list(self.names[:1000]),
        }

    def __repr__(self) -> str:
        """One line: what, on what."""
        x = self.train.x
        kind = "classes" if self.likelihood.task == "classification" else "targets"
        kind = kind.removesuffix("es" if kind == "classes" else "s") if self.targets == 1 else kind
        text = (
            f"Problem: {self.likelihood.name} on {self.name}, {len(x)} training rows of "
            f"{x.dtype}{list(x.shape[1:])}, {self.targets} {kind}"
        )
        more = [f"{len(self.test.x)} test rows"] if self.test is not None else []
        more += [f"{len(self.validation.x)} validation rows"] if self.validation is not None else []
        more += [f"shifts {', '.join(self.shifts)}"] if self.shifts else []
        return ", ".join([text, *more])

    def _repr_html_(self) -> str:
        """For notebooks."""
        splits = {"validation": self.validation, "test": self.test, **self.shifts}
        splits |= self.out_of_distribution
        rows = {name: f"{len(split.x)} rows" for name, split in splits.items() if split is not None}
        text = repr(self).removeprefix("Problem: ").partition(", ")[0]
        train = f"{len(self.train.x)} rows of {self.train.x.dtype}{list(self.train.x.shape[1:])}"
        shown = ", ".join(self.names[:12]) + ", ..." * (len(self.names) > 12)
        named = {"network": self.model, "targets": f"{self.targets}: {shown}", "train": train}
        return notebook.facts("Problem", text, named | rows)


def _count_targets(likelihood: Likelihood, y: np.ndarray) -> int:
    if likelihood.task == "classification":
        return max(int(y.max()) + 1, 2)
    return int(np.prod(y.shape[1:], dtype=int))


def _inputs_alone(x: Any) -> Any:
    """Inputs of a set without targets; of a pair, the first."""
    return x[0] if isinstance(x, tuple) and len(x) == 2 else x


def _are_probabilities(rows: np.ndarray) -> bool:
    return bool(rows.min() >= 0.0 and np.allclose(rows.sum(axis=1), 1.0, atol=1e-4))
