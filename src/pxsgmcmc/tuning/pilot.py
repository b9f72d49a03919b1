"""Measure an energy at a position, then compute what samplers will do there, in seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np

from pxsgmcmc.errors import UserError, check_count, check_number
from pxsgmcmc.errors import one_line as shown
from pxsgmcmc.posterior import PosteriorPotential
from pxsgmcmc.posterior import potential as default_potential
from pxsgmcmc.problem import Problem
from pxsgmcmc.tuning.combine import combine
from pxsgmcmc.tuning.flat_energy import FlatEnergy
from pxsgmcmc.tuning.honest import TOLERANCE, Wanted
from pxsgmcmc.tuning.measure import Measurement, measure
from pxsgmcmc.tuning.prediction import SAMPLERS, Prediction, friction_by_group, predict
from pxsgmcmc.tuning.recommend import (
    Recommendation,
    one_line,
    recommend,
    what_it_needs,
)
from pxsgmcmc.tuning.settle import settle as go_ahead
from pxsgmcmc.tuning.table import pilot_table
from pxsgmcmc.types import Batch, Potential, Tree

SETTLE = 300  # steps of a cautious chain before the measurement, unless given


@dataclass(frozen=True, repr=False)
class Pilot:
    """What was measured, and what follows for samplers. Made by `pilot`; print it for the table.

    Attributes:
      measurement: curvatures and gradient noise at the position.
      temperature: that the sampler is to have.
      cycle_length: steps of a cosine cycle; None for a constant step size.
      growth: how many times as large the largest curvature was along the cautious steps as at the
        position; 1 if there were none.
    """

    measurement: Measurement
    temperature: float = 1.0
    cycle_length: int | None = None
    growth: float = 1.0
    _found: dict[tuple[str, float], Recommendation] = field(
        default_factory=dict, init=False, compare=False
    )

    def predict(
        self,
        sampler: str,
        step_size: float,
        friction: float | Mapping[str, float] | None = None,
    ) -> Prediction:
        """What a sampler will do at a step size (the peak, if there is a cycle) and friction.

        Args:
          sampler: "sgld", "sghmc" or "sgnht".
          step_size: constant, or the peak of the cycle.
          friction: a number, or one for each group; None for SGLD.
        """
        return predict(
            self.measurement,
            sampler,
            step_size,
            friction=friction,
            temperature=self.temperature,
            cycle_length=self.cycle_length,
        )

    def recommend(self, sampler: str = "sghmc", *, tolerance: float = TOLERANCE) -> Recommendation:
        """The largest honest step size for a sampler, and its friction.

        Args:
          sampler: "sgld", "sghmc" or "sgnht".
          tolerance: share by which the predicted temperatures may be off.
        """
        place = (sampler, tolerance)
        if place not in self._found:
            self._found[place] = recommend(
                self.measurement,
                sampler,
                temperature=self.temperature,
                cycle_length=self.cycle_length,
                tolerance=tolerance,
            )
        return self._found[place]

    def describe(
        self,
        sampler: str,
        step_size: float,
        friction: float | Mapping[str, float] | None = None,
    ) -> str:
        """A line on given settings, and what would make them honest; arguments as in `predict`."""
        prediction = self.predict(sampler, step_size, friction)
        by_group = friction_by_group(self.measurement, sampler, friction)
        wanted = Wanted(sampler, self.temperature, self.cycle_length, TOLERANCE)
        text = one_line(sampler, step_size, by_group, self.cycle_length, prediction)
        return f"{text}\n  {what_it_needs(self.measurement, step_size, wanted, by_group)}"

    def __repr__(self) -> str:
        """What was measured, and one recommendation per sampler."""
        best = [self.recommend(name) for name in SAMPLERS]
        return pilot_table(self.measurement, best, growth=self.growth)


def pilot(
    problem: Problem | Potential,
    position: Tree,
    *,
    batch_size: int,
    more_positions: Sequence[Tree] = (),
    settle: int = SETTLE,
    data: Batch | None = None,
    temperature: float = 1.0,
    cycle_length: int | None = None,
    rows: int = 1000,
    batches: int = 16,
    per_layer: bool = False,
    seed: int = 0,
) -> Pilot:
    """Measure curvatures and gradient noise where a chain will be; say what step sizes will do.

    What holds at one position may not at another: at a freshly drawn position and at an optimum
    both curvature and noise are others than along a chain, and factors that leave the identity make
    a network many times stiffer. So a cautious chain goes ahead, and what counts are the places it
    came to and the stiffest one it passed.

    Args:
      problem: the problem, with its default priors; or an energy of (position, batch) in full-data
        units, as `px.potential` makes.
      position: where to begin, as the sampler would take it (expanded or not).
      batch_size: rows a step will see.
      more_positions: where to measure besides; the largest curvature and the mean noise count.
      settle: steps of the cautious chain; 0 to measure at the position itself.
      data: a tree of arrays whose leading axis counts rows, for an energy that does not know its
        problem.
      temperature: that the sampler is to have, above 0.
      cycle_length: steps of a cosine cycle; None for a constant step size.
      rows: over which curvatures are taken at most; a random part if there are more data. The
        largest curvature of a part is on average above that of all.
      batches: gradients from which their noise is measured.
      per_layer: also measure the largest curvature of each layer.
      seed: of the random vectors and rows.

    Example:
      >>> import jax.numpy as jnp
      >>> import pxsgmcmc as px
      >>> y = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
      >>> U = px.potential(lambda q, y: -0.5 * jnp.sum((y - q[None]) ** 2, 1), data_size=200)
      >>> found = pilot(U, jnp.zeros(3), batch_size=50, data=y)
      >>> round(found.measurement.largest)  # 200 data and the prior
      201
    """
    energy, data, transform = _resolve(problem, data)
    sizes = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(data)}
    if len(sizes) != 1 or sizes in ({()}, {(0,)}):
        raise UserError(f"`data` must hold arrays of one length of at least 1, got {sizes}.")
    data_size = sizes.pop()[0]
    check_count("batch_size", batch_size, at_least=1)
    if batch_size > data_size:
        raise UserError(
            f"`batch_size` must be at most the number of data, got {batch_size} for {data_size} "
            "data."
        )
    check_number("temperature", temperature, above=0.0)
    if cycle_length is not None:
        check_count("cycle_length", cycle_length, at_least=1)
    check_count("rows", rows, at_least=1)
    check_count("batches", batches, at_least=2)
    check_count("seed", seed)
    check_count("settle", settle)
    flat, places, growth = FlatEnergy(energy, position), [position], 1.0
    how: dict[str, Any] = {"batch_size": batch_size, "rows": rows, "transform_batch": transform}
    how |= {"temperature": temperature, "seed": seed}
    if settle:
        there = go_ahead(flat, position, data, steps=settle, **how)
        places = [*there.visited[:2], there.stiffest]
        growth = max(there.curvatures) / max(there.curvatures[0], 1e-12)
    found = pilot_along(
        flat,
        (*places, *more_positions),
        data,
        cycle_length=cycle_length,
        batches=batches,
        per_layer=per_layer,
        **how,
    )
    return replace(found, growth=growth)


def pilot_along(
    energy: FlatEnergy,
    positions: Sequence[Tree],
    data: Batch,
    *,
    temperature: float = 1.0,
    cycle_length: int | None = None,
    seed: int = 0,
    batches: int = 16,
    per_layer: bool = False,
    **how: Any,
) -> Pilot:
    """The same with a gradient that may be compiled already; arguments as in `pilot`."""
    measurements = [
        measure(
            energy.at(place),
            data,
            seed=seed + number,
            batches=batches,
            per_layer=per_layer,
            **how,
        )
        for number, place in enumerate(positions)
    ]
    return Pilot(combine(measurements), temperature, cycle_length)


def _resolve(problem: Problem | Potential, data: Batch | None) -> tuple[Potential, Batch, Any]:
    """The energy, its data, and how batches are augmented."""
    if isinstance(problem, Problem):
        energy, known = default_potential(problem), problem
    elif callable(problem):
        energy = problem
        known = problem.problem if isinstance(problem, PosteriorPotential) else None
    else:
        raise UserError(
            "`problem` must be a `px.Problem` or an energy of (position, batch), got "
            f"{shown(problem)}."
        )
    if data is None:
        if known is None:
            raise UserError("`data` must be given for an energy that does not know its problem.")
        data = tuple(known.train)
    transform = known.transform_batch if known is not None and known.augment is not None else None
    return energy, data, transform
