"""What the laws need to know of an energy, measured at one position."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.tuning.curvature import Hessian, Product, Ritz, lanczos, random_signs
from pxsgmcmc.tuning.gradient_noise import gradient_noise
from pxsgmcmc.tuning.laws import GroupTerrain, Spectrum
from pxsgmcmc.types import Batch

# Residual, as a share of the largest curvature, at which Lanczos' method stops. The error of the
# curvature itself is about the square of it.
RESIDUAL = 0.01
CURVATURE_STEPS, NOISE_STEPS = 40, 8  # products with the Hessian at most
SMALL = 64  # coordinates of a group whose Hessian is taken whole


class MeasuredEnergy(Protocol):
    """An energy around a position whose coordinates are one vector, as `FlatEnergy` is."""

    position: np.ndarray
    groups: dict[str, slice]

    @property
    def prior(self) -> "MeasuredEnergy | None":
        """The part of it that is the prior's, if it tells its parts."""
        ...

    def gradient(self, vector: Any, batch: Batch) -> np.ndarray:
        """Of the energy on a batch, (coordinates,)."""
        ...

    def layers(self) -> dict[str, np.ndarray]:
        """Name of a layer -> the places of its coordinates."""
        ...


class GroupScales(NamedTuple):
    """Sizes of one group's parts of the energy, for the table."""

    gradient: float  # root mean square over coordinates, of all data
    prior: float | None  # mean curvature of the prior; None if the energy does not tell its parts


@dataclass(frozen=True)
class Measurement:
    """An energy at one position.

    Attributes:
      terrain: group -> what the laws need.
      scales: group -> sizes of gradient and prior.
      largest: the largest curvature of all groups together.
      error: share by which `largest` may be off: the residual of Lanczos' method and the change if
        the difference of gradients is taken over twice the length.
      layers: layer -> its largest curvature, where they were asked for.
      data_size: rows in all.
      batch_size: rows in a batch.
      rows: over which curvatures were taken.
    """

    terrain: Mapping[str, GroupTerrain]
    scales: Mapping[str, GroupScales]
    largest: float
    error: float
    data_size: int
    batch_size: int
    rows: int
    layers: Mapping[str, float] = field(default_factory=dict)


def measure(
    energy: MeasuredEnergy,
    data: Batch,
    *,
    batch_size: int,
    rows: int,
    batches: int,
    per_layer: bool,
    seed: int,
    transform_batch: Callable[[Any, Batch], Batch] | None = None,
    residual: float = RESIDUAL,
) -> Measurement:
    """Curvatures and gradient noise of an energy at its position; arguments as in `pilot`.

    `residual` is that of Lanczos' method, as a share of the largest curvature.
    """
    rng = np.random.default_rng(seed)
    size = len(jax.tree.leaves(data)[0])
    keys = iter(jax.random.split(jax.random.key(seed), 2 * batches + 2 * size // batch_size + 4))

    def on_rows(q: np.ndarray, index: np.ndarray) -> np.ndarray:
        batch = jax.tree.map(lambda x: jnp.asarray(x[index]), data)
        return energy.gradient(q, batch)

    def as_sampled(index: np.ndarray) -> np.ndarray:
        batch = jax.tree.map(lambda x: jnp.asarray(x[index]), data)
        if transform_batch is not None:
            batch = transform_batch(next(keys), batch)
        return energy.gradient(energy.position, batch)

    # Chunks of the size of a batch: one program is compiled, for curvatures and for noise.
    chosen = rng.permutation(size)[: max(1, min(rows, size) // batch_size) * batch_size]
    chunks = np.split(chosen, len(chosen) // batch_size)
    hessian = Hessian(
        lambda q: np.mean([on_rows(q, chunk) for chunk in chunks], axis=0), energy.position
    )
    noise = gradient_noise(
        as_sampled, data_size=size, batch_size=batch_size, count=batches, rng=rng
    )
    _check_finite(noise.mean)
    hessian.fit_stride(noise.mean if noise.mean.any() else random_signs(rng, energy.position))
    prior = _prior_curvatures(energy, data, rng)
    terrain, scales, tops = {}, {}, {}
    for name, places in energy.groups.items():
        product, start = hessian.within(places), random_signs(rng, energy.position[places])
        if len(start) <= SMALL:
            found, spread = _of_small_group(product, start, noise.deviations[:, places])
        else:
            found = lanczos(product, start, steps=CURVATURE_STEPS, tolerance=residual)
            spread = _noise_spectrum(product, noise.deviations[:, places])
        _check_finite(found.spectrum.curvatures)
        terrain[name] = GroupTerrain(
            size=len(start),
            curvatures=found.spectrum,
            noise=noise.variance(places),
            noise_curvatures=spread,
            stiffest=found.largest,
            stiffest_noise=noise.along(found.direction, places),
            # No direction is softer than the prior alone, if the likelihood is not curved down.
            softest=max(float(found.spectrum.curvatures[0]), prior.get(name, 0.0)),
            batches=size / batch_size,
        )
        root = float(np.sqrt(np.mean(np.square(noise.mean[places], dtype=np.float64))))
        scales[name] = GroupScales(root, prior.get(name))
        tops[name] = found
    largest, error = _largest(hessian, energy, tops, residual)
    layers = {}
    for name, places in energy.layers().items() if per_layer else ():
        start = random_signs(rng, energy.position[places])
        found = lanczos(hessian.within(places), start, steps=CURVATURE_STEPS, tolerance=RESIDUAL)
        layers[name] = found.largest
    return Measurement(terrain, scales, largest, error, size, batch_size, len(chosen), layers)


def _noise_spectrum(product: Product, deviations: np.ndarray) -> Spectrum:
    """How the noise of gradients is spread over curvatures, from two of them."""
    parts, squares = [], []
    for deviation in deviations[:2]:
        if square := float(np.vdot(deviation, deviation)):
            parts.append(lanczos(product, deviation, steps=NOISE_STEPS).spectrum)
            squares.append(square)
    if not parts:
        return Spectrum(np.zeros(1), np.ones(1))
    shares = np.array(squares) / np.sum(squares)
    return Spectrum(
        np.concatenate([part.curvatures for part in parts]),
        np.concatenate([share * part.shares for share, part in zip(shares, parts, strict=True)]),
    )


def _of_small_group(
    product: Product, like: np.ndarray, deviations: np.ndarray
) -> tuple[Ritz, Spectrum]:
    """The same without random vectors, which say little of the mean over a few coordinates."""
    matrix = np.stack([product(row) for row in np.eye(len(like), dtype=like.dtype)])
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    spectrum = Spectrum(values, np.full(len(values), 1.0 / len(values)))
    squares = np.sum(np.square(deviations @ vectors, dtype=np.float64), axis=0)
    shares = squares / squares.sum() if squares.any() else spectrum.shares
    return Ritz(spectrum, float(values[-1]), vectors[:, -1], 0.0), Spectrum(values, shares)


def _largest(
    hessian: Hessian, energy: MeasuredEnergy, tops: dict[str, Ritz], tolerance: float
) -> tuple[float, float]:
    """The largest curvature of all coordinates, and by what share it may be off."""
    top = next(iter(tops.values()))  # of all coordinates, if they are one group
    if len(tops) > 1:
        start = np.zeros_like(energy.position)
        for name, found in tops.items():
            start[energy.groups[name]] = found.direction
        top = lanczos(hessian.product, start, steps=CURVATURE_STEPS, tolerance=tolerance)
    residual = top.bound / abs(top.largest) if top.largest else 0.0
    return top.largest, residual + hessian.error(top.direction, top.largest)


def _prior_curvatures(
    energy: MeasuredEnergy, data: Batch, rng: np.random.Generator
) -> dict[str, float]:
    """Group -> mean curvature of the prior; nothing if the energy does not tell its parts."""
    flat = energy.prior
    if flat is None:
        return {}
    row = jax.tree.map(lambda x: jnp.asarray(x[:1]), data)
    signs = random_signs(rng, flat.position)
    # A tenth of a coordinate's own size: priors with tails change on that scale.
    length = 0.1 * float(np.sqrt(np.mean(flat.position**2)) or 1.0) * np.sqrt(len(signs))
    product = Hessian(lambda q: flat.gradient(q, row), flat.position, length).product(signs)
    return {
        name: float(np.mean(signs[places] * product[places], dtype=np.float64))
        for name, places in energy.groups.items()
    }


def _check_finite(values: np.ndarray) -> None:
    if not np.isfinite(values).all():
        raise UserError(
            "`position` must be where the energy and its gradient are finite, got a gradient that "
            "is not; start from smaller weights."
        )
