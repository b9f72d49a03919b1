"""Curvatures and gradient noise where a chain is, as `px.pilot` takes them, by a kept program."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pxsgmcmc.sklearn.stepper import Flat, Stepper
from pxsgmcmc.tuning.curvature import Hessian, lanczos, random_signs
from pxsgmcmc.tuning.gradient_noise import GradientNoise
from pxsgmcmc.tuning.laws import GroupTerrain, Spectrum
from pxsgmcmc.tuning.measure import GroupScales, Measurement

LANCZOS, NOISE_LANCZOS, RESIDUAL = 20, 8, 0.03  # products at most, and when to stop
LOOKED_AT = 8  # batches over which curvatures are taken
NOISES = 8  # batches whose gradients are compared


def epoch_batches(stepper: Stepper, rng: np.random.Generator) -> list[np.ndarray]:
    """Rows of the batches of an epoch, every batch full, so that all rows count about alike."""
    batch = stepper.spec.batch
    if not batch:
        return []
    order = rng.permutation(stepper.count)
    epoch = range(0, stepper.count, batch)
    return [np.resize(np.roll(order, -start), batch) for start in epoch]


def hessian_at(
    stepper: Stepper, flat: Flat, position: np.ndarray, cuts: Sequence[np.ndarray]
) -> "PairedHessian":
    """Of the energy, on all rows or on some batches."""
    chains, shown = stepper.spec.chains, cuts[:LOOKED_AT]

    def gradients(two: np.ndarray) -> np.ndarray:
        if not shown and chains > 1:
            many = flat.trees(np.concatenate([two, np.repeat(two[:1], chains - 2, axis=0)]))
            return flat.slopes(stepper.gradients(many, None))[:2]
        return np.stack([_mean_gradient(stepper, flat, q, shown) for q in two])

    return PairedHessian(gradients, position)


def measure_at(stepper: Stepper, flat: Flat, position: np.ndarray) -> Measurement:
    """Curvatures and gradient noise at one position, as `px.pilot` takes them."""
    spec, rng = stepper.spec, np.random.default_rng(0)
    cuts = epoch_batches(stepper, rng)
    hessian = hessian_at(stepper, flat, position, cuts)
    noise = _noise(stepper, flat, position, cuts)
    hessian.fit_stride(noise.mean if noise.mean.any() else random_signs(rng, position))
    prior = prior_curvatures(stepper, flat, position, rng)
    terrain, scales = {}, {}
    start = np.zeros_like(position)
    for name, places in flat.groups.items():
        signs = random_signs(rng, position[places])
        found = lanczos(hessian.within(places), signs, steps=LANCZOS, tolerance=RESIDUAL)
        start[places] = found.direction
        spread = Spectrum(np.zeros(1), np.ones(1))
        if spec.batch and noise.deviations[0, places].any():
            deviation = noise.deviations[0, places]
            spread = lanczos(hessian.within(places), deviation, steps=NOISE_LANCZOS).spectrum
        terrain[name] = GroupTerrain(
            size=len(signs),
            curvatures=found.spectrum,
            noise=noise.variance(places),
            noise_curvatures=spread,
            stiffest=found.largest,
            stiffest_noise=noise.along(found.direction, places),
            # No direction is softer than the prior alone, if the likelihood is not curved down.
            softest=max(float(found.spectrum.curvatures[0]), prior[name]),
            batches=float(max(1, len(cuts))),
        )
        scales[name] = GroupScales(0.0, None)
    top = lanczos(hessian.product, start, steps=LANCZOS, tolerance=RESIDUAL)
    largest = max(top.largest, *(one.stiffest for one in terrain.values()))
    rows = min(LOOKED_AT, len(cuts)) * spec.batch or stepper.count
    size = spec.batch or stepper.count
    return Measurement(terrain, scales, largest, 0.0, stepper.count, size, rows)


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
    product = _prior_product(stepper, flat, position, np.random.default_rng(0))
    found = np.array([np.mean(product[places], dtype=np.float64) for places in flat.leaves])
    if not np.max(found) > 0.0:
        return (1.0,) * len(found)
    return tuple(np.maximum(found, 1e-3 * found.max()).tolist())


def prior_curvatures(
    stepper: Stepper, flat: Flat, position: np.ndarray, rng: np.random.Generator
) -> dict[str, float]:
    """Group -> mean curvature of the prior."""
    product = _prior_product(stepper, flat, position, rng)
    return {
        name: float(np.mean(product[places], dtype=np.float64))
        for name, places in flat.groups.items()
    }


def _prior_product(
    stepper: Stepper, flat: Flat, position: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Curvature of the energy without data, that of rows of no weight, at each coordinate."""
    x, y, weights = stepper.data
    alone = replace(stepper, data=(x, y, np.zeros(weights.shape, np.float32)))
    signs = random_signs(rng, position)
    # A tenth of a coordinate's own size: priors with tails change on that scale.
    step = np.float32(0.1 * float(np.sqrt(np.mean(position**2)) or 1.0))
    rows = None
    if stepper.spec.batch:
        rows = np.zeros((stepper.spec.chains, stepper.spec.batch), np.int32)
    found = []
    for q in (position + step * signs, position - step * signs):
        many = flat.trees(np.broadcast_to(q, (stepper.spec.chains, len(q))))
        found.append(flat.slopes(alone.gradients(many, rows))[0])
    return signs * (found[0] - found[1]) / (2.0 * step)


def _mean_gradient(
    stepper: Stepper, flat: Flat, q: np.ndarray, batches: Sequence[Any]
) -> np.ndarray:
    """Over some batches, as many at a time as there are chains; over all rows if there are none."""
    chains = stepper.spec.chains
    many = flat.trees(np.broadcast_to(q, (chains, len(q))))
    if not stepper.spec.batch:
        return flat.slopes(stepper.gradients(many, None))[0]
    total = np.zeros_like(q)
    for start in range(0, len(batches), chains):
        part = batches[start : start + chains]
        rows = np.stack([part[i % len(part)] for i in range(chains)])
        total += flat.slopes(stepper.gradients(many, rows))[: len(part)].sum(axis=0)
    return total / np.float32(len(batches))


def _noise(
    stepper: Stepper, flat: Flat, position: np.ndarray, cuts: Sequence[np.ndarray]
) -> GradientNoise:
    """How much gradients of batches of one epoch differ."""
    spec, chains = stepper.spec, stepper.spec.chains
    many = flat.trees(np.broadcast_to(position, (chains, len(position))))
    if not spec.batch:
        mean = flat.slopes(stepper.gradients(many, None))[0]
        return GradientNoise(np.zeros_like(mean)[None], mean)
    used = cuts[: max(2, min(len(cuts), NOISES))]
    rows = []
    for i in range(0, len(used), chains):
        part = [used[min(i + k, len(used) - 1)] for k in range(chains)]
        rows.append(flat.slopes(stepper.gradients(many, np.stack(part)))[: len(used) - i])
    found = np.concatenate(rows)
    share = 1.0 - spec.batch / stepper.count
    scale = np.float32(np.sqrt(share * len(found) / (len(found) - 1)))
    mean = found.mean(axis=0)
    return GradientNoise((found - mean) * scale, mean)
