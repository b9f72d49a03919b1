"""The draws of a run that a frozen predictor averages, and what leaving out the others costs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.export.choose import check_draws, evenly, greedily
from pxsgmcmc.export.losses import measured_loss
from pxsgmcmc.export.options import ExportOptions
from pxsgmcmc.export.program import DrawLayout
from pxsgmcmc.predict.forward import Forward
from pxsgmcmc.problem import Problem
from pxsgmcmc.progress import Show, progress_for
from pxsgmcmc.run import Run
from pxsgmcmc.types import Tree

_BATCH = 500  # rows at a time


@contextmanager
def telling(progress: Show) -> Iterator[Callable[[float, str], None]]:
    """Who is told how far an export is."""
    shown = progress_for("export", progress)
    try:
        yield shown.tell
    finally:
        shown.close()


class ChosenDraw(NamedTuple):
    """One draw of the predictor."""

    chain: int
    number: int
    sha256: str
    load: Callable[[], Tree]


def draws_by_chain(run: Run) -> list[ChosenDraw]:
    """All draws, chain after chain."""
    draws = []
    for number in range(run.chains):
        chain = run.chain(number)
        for place, known in enumerate(run.index(number)):
            draws.append(ChosenDraw(number, known.number, known.sha256, _loader(chain, place)))
    return draws


def _loader(chain: Run, place: int) -> Callable[[], Tree]:
    return lambda: chain[place]


def choose(
    run: Run, problem: Problem, options: ExportOptions, tell: Callable[[float, str], None]
) -> list[ChosenDraw]:
    """The draws that the options ask for."""
    draws = draws_by_chain(run)
    count = check_draws(options.draws, len(draws))
    if count == len(draws):
        return draws
    if options.choose == "evenly":
        return [draws[place] for place in evenly(count, len(draws))]
    held_out = problem.validation
    if held_out is None:
        raise UserError(
            "`choose` = 'greedily' needs validation rows, and the problem has none: give it "
            "`validation`, or choose 'evenly'."
        )
    forward = Forward(problem.distribution, min(_BATCH, len(held_out.x)))
    log_prob = jax.jit(problem.likelihood.log_prob)
    densities = []
    for number, draw in enumerate(draws, 1):
        rows = jnp.asarray(forward(draw.load(), held_out.x))
        densities.append(np.asarray(log_prob(rows, jnp.asarray(held_out.y)), np.float64))
        tell(number / len(draws), f"choosing, draw {number}/{len(draws)}")
    return [draws[place] for place in greedily(count, densities)]


def loss_of(
    run: Run,
    problem: Problem,
    chosen: list[ChosenDraw],
    layout: DrawLayout,
    tell: Callable[[float, str], None],
) -> dict[str, Any]:
    """What the chosen draws lose as they are stored; empty if that is nothing or cannot be known.

    Measured on the test rows, or the validation rows if there are none.
    """
    everything = draws_by_chain(run)
    rounded = layout.dtype == np.float16
    split = next((name for name in ("test", "validation") if getattr(problem, name)), None)
    if split is None or (len(chosen) == len(everything) and not rounded):
        return {}
    x = getattr(problem, split).x
    forward = Forward(problem.distribution, min(_BATCH, len(x)))
    places = {(draw.chain, draw.number) for draw in chosen}
    all_rows, kept_rows = [], []
    for number, draw in enumerate(everything, 1):
        params = draw.load()
        all_rows.append(forward(params, x))
        if (draw.chain, draw.number) in places:
            stored = layout.unflatten(jnp.asarray(layout.flatten(params))) if rounded else None
            kept_rows.append(all_rows[-1] if stored is None else forward(stored, x))
        tell(number / len(everything), f"measuring, draw {number}/{len(everything)}")
    return measured_loss(problem, split, np.stack(all_rows), np.stack(kept_rows))
