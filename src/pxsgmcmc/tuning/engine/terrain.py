"""Curvatures and gradient noise where a chain is, from the gradients of a compiled program."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pxsgmcmc.tuning.curvature import Hessian, lanczos, random_signs
from pxsgmcmc.tuning.engine.stepper import Flat, Stepper
from pxsgmcmc.tuning.gradient_noise import GradientNoise, gradient_noise
from pxsgmcmc.tuning.measure import Measurement, measure

LANCZOS, RESIDUAL = 20, 0.03  # products with the Hessian at most, and when to stop
LOOKED_AT = 4  # batches over which curvatures are taken, with a network that is not slow
NOISES = 8  # batches whose gradients are compared


class FlatChain:
    """The energy of the chains around one position: what `measure` takes for one.

    The rows of a batch are its data: what is measured is the gradient of a program that has them.

    Args:
      stepper: the program with its data.
      flat: how positions become vectors.
      position: (coordinates,) where to measure.
      prior: whether to tell the prior apart.
    """

    def __init__(self, stepper: Stepper, flat: Flat, position: np.ndarray, prior: bool = True):
        self.stepper, self.flat, self.position = stepper, flat, position
        self.groups = flat.groups
        self.prior = FlatChain(without_data(stepper), flat, position, False) if prior else None

    def gradient(self, vector: Any, batch: Any) -> np.ndarray:
        """Of the energy on a batch, (coordinates,)."""
        chains, size = self.stepper.spec.chains, self.stepper.spec.batch
        many = self.flat.trees(np.broadcast_to(vector, (chains, len(vector))))
        rows = None
        if size:
            rows = np.broadcast_to(np.resize(np.asarray(batch), size), (chains, size))
        return self.flat.slopes(self.stepper.gradients(many, rows, first=1))[0]

    def gradients(self, two: np.ndarray) -> np.ndarray:
        """On all rows, or on the first batches, at two positions at once."""
        stepper, chains = self.stepper, self.stepper.spec.chains
        if chains < 2:
            return np.stack([self._mean_gradient(q) for q in two])
        many = self.flat.trees(np.concatenate([two, np.repeat(two[:1], chains - 2, axis=0)]))
        total = np.zeros_like(two)
        cuts = _batches(stepper)
        for cut in cuts:
            rows = None if cut is None else np.broadcast_to(cut, (chains, len(cut)))
            total += self.flat.slopes(stepper.gradients(many, rows, first=2))[:2]
        return total / np.float32(len(cuts))

    def _mean_gradient(self, q: np.ndarray) -> np.ndarray:
        return np.mean([self.gradient(q, cut) for cut in _batches(self.stepper)], axis=0)

    def layers(self) -> dict[str, np.ndarray]:
        """None are looked at one by one."""
        return {}


def _batches(stepper: Stepper) -> list[Any]:
    """Rows of the batches over which curvatures are taken; one None for all rows."""
    batch = stepper.spec.batch
    if not batch:
        return [None]
    order = np.random.default_rng(0).permutation(stepper.count)
    many = 1 if stepper.spec.slow else LOOKED_AT
    return [np.resize(np.roll(order, -i * batch), batch) for i in range(many)]


def measure_at(stepper: Stepper, flat: Flat, position: np.ndarray) -> Measurement:
    """Curvatures and gradient noise at one position, as `px.pilot` takes them."""
    batch = stepper.spec.batch or stepper.count
    return measure(
        FlatChain(stepper, flat, position),
        np.arange(stepper.count),
        batch_size=batch,
        rows=batch * (1 if stepper.spec.slow else LOOKED_AT),
        batches=NOISES,
        per_layer=False,
        seed=0,
        residual=RESIDUAL,
    )


def largest_curvature(stepper: Stepper, flat: Flat, position: np.ndarray) -> float:
    """Of all groups together."""
    rng, chain = np.random.default_rng(0), FlatChain(stepper, flat, position)
    hessian = PairedHessian(chain.gradients, position)
    hessian.fit_stride(random_signs(rng, position))
    signs = random_signs(rng, position)
    return lanczos(hessian.product, signs, steps=LANCZOS, tolerance=RESIDUAL).largest


class PairedHessian(Hessian):
    """Products with the Hessian from both gradients at once.

    Args:
      gradients: of the energy at two positions, (2, coordinates) -> (2, coordinates).
      position: where the Hessian is taken.
    """

    def __init__(self, gradients: Callable[[np.ndarray], np.ndarray], position: np.ndarray):
        super().__init__(lambda q: gradients(np.stack([q, q]))[0], position)
        self._gradients = gradients

    def product(self, v: np.ndarray) -> np.ndarray:
        """H v."""
        length = np.linalg.norm(v)
        if length == 0.0:
            return np.zeros_like(v)
        s = np.asarray(self.stride / length, self.position.dtype)
        ahead, behind = self._gradients(np.stack([self.position + s * v, self.position - s * v]))
        return (ahead - behind) / (2.0 * s)


def prior_masses(stepper: Stepper, flat: Flat, position: np.ndarray) -> tuple[float, ...]:
    """Mean curvature of the prior in each leaf: with these masses it is about 1 everywhere.

    Leaves whose prior is hardly curved, or curved down where it was looked at, count as a
    thousandth of the most curved one.
    """
    product = _prior_product(stepper, flat, position)
    found = np.array([np.mean(product[places], dtype=np.float64) for places in flat.leaves])
    if not np.max(found) > 0.0:
        return (1.0,) * len(found)
    return tuple(np.maximum(found, 1e-3 * found.max()).tolist())


def noise_at(stepper: Stepper, flat: Flat, position: np.ndarray, *, seed: int = 0) -> GradientNoise:
    """Of the gradients of a few batches at one position, in the coordinates of `flat`."""
    chain = FlatChain(stepper, flat, position, False)
    return gradient_noise(
        lambda rows: chain.gradient(position, rows),
        data_size=stepper.count,
        batch_size=stepper.spec.batch,
        count=NOISES,
        rng=np.random.default_rng(seed),
    )


class Balanced(NamedTuple):
    """Masses that take noisy gradients into account.

    Attributes:
      masses: of each leaf of a position.
      noise: group -> mean variance of the gradient of a batch, where these masses are 1.
      softness: group -> mean curvature of the prior there.
    """

    masses: tuple[float, ...]
    noise: dict[str, float]
    softness: dict[str, float]


def balanced_masses(
    stepper: Stepper,
    flat: Flat,
    position: np.ndarray,
    priors: tuple[float, ...],
    *,
    free: bool = True,
) -> Balanced:
    """Masses larger than the curvature of the prior in leaves that the data decide.

    The noise of a gradient tells how curved the likelihood is (its Fisher information). For a given
    mean of masses, the mean of noise over mass is least if masses grow as the square root of the
    noise; so they grow as that of the curvature, prior included, beside that of most coordinates.

    Args:
      stepper: a program with batches, and its data.
      flat: in the coordinates of `stepper`.
      position: (coordinates,) where to measure.
      priors: mean curvature of the prior in each leaf, where masses are 1.
      free: whether the sampler has masses; if not, they are 1.
    """
    noise = noise_at(stepper, flat, position)
    prior, old = np.array(priors), np.array(stepper.masses)
    sizes = np.array([places.stop - places.start for places in flat.leaves])
    variances = old * [noise.variance(places) for places in flat.leaves]
    # A batch of B of N rows: its gradient varies N / B - 1 times as much as all rows inform.
    batches = stepper.count / stepper.spec.batch
    informed = 1.0 + variances / prior / max(batches - 1.0, 1e-6)
    usual = np.median(np.repeat(informed, sizes))
    masses = prior * np.sqrt(np.maximum(1.0, informed / usual)) if free else np.ones(len(prior))

    def mean(of_leaves: np.ndarray) -> dict[str, float]:
        each = np.repeat(of_leaves / masses, sizes)
        return {name: float(np.mean(each[places])) for name, places in flat.groups.items()}

    return Balanced(tuple(masses.tolist()), mean(variances), mean(prior))


def prior_curvatures(stepper: Stepper, flat: Flat, position: np.ndarray) -> dict[str, float]:
    """Group -> mean curvature of the prior."""
    product = _prior_product(stepper, flat, position)
    return {
        name: float(np.mean(product[places], dtype=np.float64))
        for name, places in flat.groups.items()
    }


def without_data(stepper: Stepper) -> Stepper:
    """With rows of no weight, so that the prior is all there is."""
    x, y, weights = stepper.data
    return replace(stepper, data=(x, y, np.zeros(weights.shape, np.float32)))


def _prior_product(stepper: Stepper, flat: Flat, position: np.ndarray) -> np.ndarray:
    """Curvature of the prior at each coordinate."""
    alone = FlatChain(without_data(stepper), flat, position, False)
    signs = random_signs(np.random.default_rng(0), position)
    # A tenth of a coordinate's own size: priors with tails change on that scale.
    stride = 0.1 * float(np.sqrt(np.mean(position**2)) or 1.0) * np.sqrt(len(signs))
    rows = np.zeros(stepper.spec.batch, np.int32)
    return signs * Hessian(lambda q: alone.gradient(q, rows), position, stride).product(signs)
