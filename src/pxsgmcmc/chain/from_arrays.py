"""Draws that another sampler made, as a run of ours."""

from pathlib import Path
from typing import Any

import jax
import numpy as np

from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.environment import versions
from pxsgmcmc.chain.record import MemoryRecord
from pxsgmcmc.errors import UserError, printable, printable_texts
from pxsgmcmc.expansion.position import collapse
from pxsgmcmc.problem import Problem
from pxsgmcmc.run import Run
from pxsgmcmc.store import create_chains, create_run
from pxsgmcmc.store.layout import chain_folder
from pxsgmcmc.tree import check_float_leaves, size, to_arrays
from pxsgmcmc.types import Tree


def from_arrays(
    draws: Tree,
    problem: Problem | None = None,
    *,
    one_chain: bool = False,
    energy: Any = None,
    acceptance: Any = None,
    method: str = "another sampler",
    out: str | Path | None = None,
) -> Run:
    """A `Run` of draws made elsewhere: by BlackJAX, NumPyro, an own loop, or out of a file.

    Args:
      draws: a pytree of arrays that begin with the axes (chains, draws); what follows is one
        parameter. Expanded positions are collapsed.
      problem: what was sampled, for `predict`, `evaluate`, `diagnose` and `report`.
      one_chain: whether the arrays begin with the axis of draws alone.
      energy: minus the log density at each draw, of the same axes; the verdict needs it.
      acceptance: of the steps that led to each draw, of the same axes.
      method: who made them, for tables.
      out: run directory to write; None keeps the draws in memory.

    Example:
      >>> run = from_arrays({"w": np.zeros((2, 5, 3), np.float32)}, method="NUTS")
      >>> run.chains, len(run), run[0]["w"].shape
      (2, 10, (3,))
    """
    check_float_leaves("draws", draws)
    if one_chain:
        draws = jax.tree.map(lambda x: x[None], draws)
        energy, acceptance = (x if x is None else np.asarray(x)[None] for x in (energy, acceptance))
    chains, count = _axes(draws)
    params = jax.tree.map(np.asarray, jax.vmap(jax.vmap(collapse))(draws))
    numbers = {"energy": energy, "acceptance": acceptance}
    numbers = {name: _numbers(name, x, (chains, count)) for name, x in numbers.items()}
    like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[2:], x.dtype), params)
    if problem is not None:
        jax.eval_shape(problem.distribution, like, problem.train.x[:1])
    origin = {
        "method": printable(method),
        "versions": versions(),
        "parameters": size(like),
        "sampled": size(draws) // (chains * count),
        "collection": Collection(count, 1)._asdict(),
        **({} if problem is None else problem.facts()),
    }
    if out is not None and chains > 1:
        create_chains(out, chains)
    records = []
    for chain in range(chains):
        record = _record({**origin, "chain": chain}, out, chain if chains > 1 else None)
        for draw in range(count):
            record.commit_draw(
                to_arrays(jax.tree.map(lambda x: x[chain, draw], params)),  # noqa: B023
                step=draw + 1,
                energy=_number(numbers["energy"], chain, draw),
                acceptance=_number(numbers["acceptance"], chain, draw),
            )
        record.update("done")
        record.close()
        records.append(record)
    return Run(records, problem, like, path=None if out is None else Path(out))


def _record(origin: dict[str, Any], out: str | Path | None, chain: int | None) -> Any:
    origin = printable_texts(origin)
    text = "".join(f"{name} = {origin['collection'][name]}\n" for name in ("draws",))
    if out is None:
        return MemoryRecord(text, origin)
    return create_run(Path(out) if chain is None else chain_folder(Path(out), chain), text, origin)


def _axes(draws: Tree) -> tuple[int, int]:
    """The number of chains and of draws, that all arrays share."""
    shapes = {np.shape(leaf)[:2] for leaf in jax.tree.leaves(draws)}
    if len(shapes) != 1 or len(first := shapes.pop()) < 2 or 0 in first:
        listed = ", ".join(str(np.shape(leaf)) for leaf in jax.tree.leaves(draws))
        raise UserError(
            "`draws` must hold arrays that begin with the same axes (chains, draws), got shapes "
            f"{printable(listed, 200)}; `one_chain=True` is for (draws, ...)."
        )
    return int(first[0]), int(first[1])


def _numbers(name: str, values: Any, shape: tuple[int, int]) -> np.ndarray | None:
    if values is not None and np.shape(values) != shape:
        raise UserError(
            f"`{name}` must have one number a draw, {shape}, got shape {np.shape(values)}."
        )
    return None if values is None else np.asarray(values, np.float64)


def _number(values: np.ndarray | None, chain: int, draw: int) -> float | None:
    return None if values is None else float(values[chain, draw])
