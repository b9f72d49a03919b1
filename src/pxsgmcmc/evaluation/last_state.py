"""Where the chains of a run are now: the spectra of their factors, and their temperatures."""

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc import diagnostics, results
from pxsgmcmc.chain.health import by_group
from pxsgmcmc.chain.record import from_arrays
from pxsgmcmc.config.schema import Cyclical, Groups
from pxsgmcmc.diagnostics import Temperature
from pxsgmcmc.evaluation.load import Opened
from pxsgmcmc.expansion.factors import as_matrix
from pxsgmcmc.expansion.position import Expanded
from pxsgmcmc.results import Skipped
from pxsgmcmc.schedules import as_schedule, cyclical
from pxsgmcmc.tree import size
from pxsgmcmc.types import Tree

Report = Callable[[str, int, int], None]  # (what, how many done, of how many)
CHUNK = 500  # training rows at a time, for the gradient
_NO_STATE = Skipped(reason="No state was saved.")


class LastState(NamedTuple):
    """The last saved state of one chain."""

    state: Any  # of the sampler
    factor: float  # on the step size, below 1 if the chain was set back after a divergence


def last_states(opened: Opened) -> list[LastState]:
    """Of every chain that saved one."""
    like = jax.eval_shape(opened.experiment.sampler(1.0).init, opened.experiment.position)
    found = []
    for run in opened.runs:
        saved = run.load_state()
        if saved is not None:
            state = from_arrays(saved.arrays, like, f"The state of `{run.path}`")
            found.append(LastState(state, 0.5 ** len(saved.meta["retried"])))
    return found


def factor_spectra(opened: Opened, states: Sequence[LastState]) -> results.Spectra | Skipped:
    """Extreme singular values of every factor, one value a chain."""
    if opened.experiment.plan is None:
        return Skipped(reason="The run is not expanded, so it has no factors.")
    if not states:
        return _NO_STATE
    matrices = [dict(_factors(last.state.position)) for last in states]
    found = diagnostics.track_spectra(
        matrices, lambda _, matrix: diagnostics.matrix_singular_values(matrix)
    )
    return results.Spectra(
        layers={
            name: results.Extremes(
                largest=found.largest[:, i].tolist(),
                smallest=found.smallest[:, i].tolist(),
                condition=[c if np.isfinite(c) else None for c in found.condition[:, i].tolist()],
            )
            for i, name in enumerate(found.layers)
        }
    )


def _factors(position: Expanded) -> Iterator[tuple[str, np.ndarray]]:
    """(name, matrix) of each factor: "stem/conv P1" is the one next to the base, on its outputs."""
    for layer, factors in position.factors.items():
        for letter, side in (("P", factors.out), ("Q", factors.into)):
            for number, factor in enumerate(side, start=1):
                yield f"{layer} {letter}{number}", np.asarray(as_matrix(factor))


def temperatures(
    opened: Opened, states: Sequence[LastState], tell: Report
) -> results.Temperatures | Skipped:
    """Kinetic and configurational temperature of the chains together, by group.

    A group into which no noise is injected has no temperature and is left out.
    """
    sampler = opened.experiment.config.sampler
    T = getattr(sampler, "temperature", 0.0)
    if not T:
        return Skipped(reason="The sampler runs at temperature 0.")
    if not states:
        return _NO_STATE
    noise = _by_group(opened, "noise", 1.0)
    kept = {group for group, scale in noise.items() if scale}
    kinetic, configurational = {}, {}
    if hasattr(states[0].state, "momentum"):
        factors = kinetic_factors(opened, states)
        found = diagnostics.kinetic_temperature(
            _pooled([last.state.momentum for last in states], kept), temperature=T, factor=factors
        )
        kinetic = {name: _written(t, T * factors[name]) for name, t in found.items()}
    if not opened.experiment.config.data.augment:  # the energy would be of other images
        positions = [last.state.position for last in states]
        found = diagnostics.configurational_temperature(
            _pooled(positions, kept),
            _pooled(full_gradients(opened, positions, tell), kept),
            temperature=T,
        )
        configurational = {name: _written(t, T) for name, t in found.items()}
    return results.Temperatures(kinetic=kinetic, configurational=configurational)


def kinetic_factors(opened: Opened, states: Sequence[LastState]) -> dict[str, float]:
    """By group, what a finite step and a factor on the noise make of the momentum's temperature.

    The momentum at hand came out of the last step that was taken. A cyclical schedule ends near
    zero, where the factor is 1. Only SGHMC's depends on the step: a thermostat holds the mean
    square where it is, and a Metropolis test leaves it exact.
    """
    config, noise = opened.experiment.config, _by_group(opened, "noise", 1.0)
    if config.sampler.__struct_config__.tag != "sghmc":
        return dict.fromkeys(noise, 1.0)
    friction = _by_group(opened, "friction", 0.0)
    factors = {}
    for group, scale in noise.items():
        each = []
        for last in states:
            h = last.factor * _step_size(opened, int(last.state.step) - 1)
            each.append(diagnostics.sghmc_factors(h, friction[group])[0])
        factors[group] = max(scale, 1e-30) ** 2 * fmean(each)
    return factors


def _step_size(opened: Opened, step: int) -> float:
    """That of the step which led from `step` to the next."""
    config = opened.experiment.config
    asked = config.sampler.step_size
    if isinstance(asked, Cyclical):
        period = asked.period or config.chain.steps
        asked = cyclical(asked.peak, period, lowest=asked.lowest)
    return float(as_schedule(asked, "step_size")(jnp.int32(max(step, 0))))


def _by_group(opened: Opened, setting: str, default: float) -> dict[str, float]:
    """A setting of the sampler, for base and factors."""
    config = opened.experiment.config
    value = getattr(config.sampler, setting, default)
    base, factors = (value.base, value.factors) if isinstance(value, Groups) else (value, value)
    if setting == "noise" and config.expansion.frozen:
        factors = 0.0
    return {"base": base, "factors": factors}


def _pooled(trees: Sequence[Tree], kept: set[str]) -> dict[str, list[Tree]]:
    """Group -> its part of every chain; a group of one number or none has no band."""
    parts = [by_group(tree) for tree in trees]
    names = [name for name, part in parts[0].items() if name in kept and size(part) > 1]
    return {name: [part[name] for part in parts] for name in names}


def full_gradients(opened: Opened, positions: Sequence[Tree], tell: Report) -> list[Tree]:
    """Gradient of the energy on all training rows at each position, chunk by chunk.

    The energy of a chunk stands for that of all rows, so that the mean over chunks, weighted by the
    rows in each, is the energy of all rows.
    """
    x, y = opened.experiment.train
    gradient = jax.jit(jax.grad(opened.experiment.potential))
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


def _written(found: Temperature, expected: float) -> results.GroupTemperature:
    return results.GroupTemperature(
        value=found.estimate, expected=expected, low=found.low, high=found.high
    )
