"""Where the chains of a run are now: the spectra of their factors, and their temperatures."""

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc import diagnostics, results
from pxsgmcmc.chain.groups import by_group
from pxsgmcmc.diagnostics import Temperature
from pxsgmcmc.evaluate.diagnose_progress import Tell
from pxsgmcmc.expansion.factors import as_matrix
from pxsgmcmc.expansion.position import Expanded
from pxsgmcmc.problem import Problem
from pxsgmcmc.results import Skipped
from pxsgmcmc.run import Run
from pxsgmcmc.run.health import last_cycle_temperatures
from pxsgmcmc.tree import size
from pxsgmcmc.types import Tree

CHUNK = 500  # training rows at a time, for the gradient
_NO_STATE = Skipped(
    reason="The last state is not known here: it is after `px.sample`, and for a run directory "
    "when `px.open` is told the `sampler` and a `position`."
)


def last_states(run: Run) -> list[Any]:
    """Of every chain; none if they are not known here."""
    return run.last_states()


def factor_spectra(run: Run, states: Sequence[Any]) -> results.SpectraResult | Skipped:
    """Extreme singular values of every factor, one value a chain."""
    if run.origin.get("sampled") == run.origin.get("parameters"):
        return Skipped(reason="The run is not expanded, so it has no factors.")
    if not states:
        return _NO_STATE
    matrices = [dict(_factors(state.position)) for state in states]
    tracked = diagnostics.track_spectra(
        matrices, lambda _, matrix: diagnostics.matrix_singular_values(matrix)
    )
    return results.SpectraResult(
        layers={
            name: results.Extremes(
                largest=tracked.largest[:, i].tolist(),
                smallest=tracked.smallest[:, i].tolist(),
                condition=[c if np.isfinite(c) else None for c in tracked.condition[:, i].tolist()],
            )
            for i, name in enumerate(tracked.layers)
        }
    )


def _factors(position: Expanded) -> Iterator[tuple[str, np.ndarray]]:
    """(name, matrix) of each factor: "stem/conv P1" is the one next to the base, on its outputs."""
    for layer, factors in position.factors.items():
        for letter, side in (("P", factors.out), ("Q", factors.into)):
            for number, factor in enumerate(side, start=1):
                yield f"{layer} {letter}{number}", np.asarray(as_matrix(factor))


def temperatures(
    run: Run, problem: Problem, states: Sequence[Any], tell: Tell
) -> results.TemperaturesResult | Skipped:
    """Kinetic temperature over the last cycle, and configurational at the last state, by group.

    A group into which no noise is injected has no temperature and is left out.
    """
    facts = run.origin.get("sampler", {})
    T = facts.get("temperature", 0.0)
    if not T:
        return Skipped(reason="The sampler runs at temperature 0, or says nothing of it.")
    kinetic = {
        group: results.GroupTemperature(
            value=heat.value,
            expected=heat.expected,
            low=max(0.0, heat.expected * (1.0 - heat.chance)),
            high=heat.expected * (1.0 + heat.chance),
        )
        for group, heat in last_cycle_temperatures(run).items()
    }
    configurational = {}
    potential = run.sampler.facts.potential if run.sampler and run.sampler.facts else None
    if states and potential is not None and problem.augment is None:
        noise = facts.get("noise", {})
        kept = {group for group, scale in noise.items() if scale}
        positions = [state.position for state in states]
        measured = diagnostics.configurational_temperature(
            _pooled(positions, kept),
            _pooled(full_gradients(potential, problem, positions, tell), kept),
            temperature=T,
        )
        configurational = {name: _written(t, T) for name, t in measured.items()}
    return results.TemperaturesResult(kinetic=kinetic, configurational=configurational)


def _pooled(trees: Sequence[Tree], kept: set[str]) -> dict[str, list[Tree]]:
    """Group -> its part of every chain; a group of one number or none has no band."""
    parts = [by_group(tree) for tree in trees]
    names = [name for name, part in parts[0].items() if name in kept and size(part) > 1]
    return {name: [part[name] for part in parts] for name in names}


def full_gradients(
    potential: Any, problem: Problem, positions: Sequence[Tree], tell: Tell
) -> list[Tree]:
    """Gradient of the energy on all training rows at each position, chunk by chunk.

    The energy of a chunk stands for that of all rows, so that the mean over chunks, weighted by the
    rows in each, is the energy of all rows.
    """
    x, y = problem.train
    gradient = jax.jit(jax.grad(potential))
    starts = range(0, len(x), chunk_size(len(x)))
    totals: list[Tree] = []
    every = len(starts) * len(positions)
    for position in positions:
        total = jax.tree.map(lambda leaf: np.zeros(leaf.shape), position)
        for done, start in enumerate(starts, start=1):
            rows = slice(start, start + starts.step)
            part = gradient(position, (jnp.asarray(x[rows]), jnp.asarray(y[rows])))
            share = len(y[rows]) / len(x)
            total = jax.tree.map(lambda t, g, s=share: t + s * np.asarray(g), total, part)
            tell("gradient on all rows", len(totals) * len(starts) + done, every)
        totals.append(total)
    return totals


def chunk_size(rows: int, most: int = CHUNK) -> int:
    """Rows at a time: at most so many, and all chunks alike if that can be, to compile once.

    Example:
      >>> chunk_size(1200), chunk_size(997), chunk_size(80)
      (400, 500, 80)
    """
    if rows <= most:
        return rows
    return next((n for n in range(most, most // 4, -1) if rows % n == 0), most)


def _written(measured: Temperature, expected: float) -> results.GroupTemperature:
    return results.GroupTemperature(
        value=measured.estimate, expected=expected, low=measured.low, high=measured.high
    )
