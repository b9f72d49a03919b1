"""The run of chains that found their own settings, with all that its diagnostics need."""

from pathlib import Path
from typing import Any

import jax

from pxsgmcmc.posterior import potential
from pxsgmcmc.problem import Problem
from pxsgmcmc.run import Run
from pxsgmcmc.tuning.engine.chains import settings_in
from pxsgmcmc.tuning.engine.programs import Program, factor_prior
from pxsgmcmc.types import Tree


def whole_run(
    records: list[Any],
    program: Program,
    problem: Problem,
    params: Tree,
    *,
    made_by: str,
    out: Path | None,
    weighted: bool = False,
) -> Run:
    """The run of some records.

    Args:
      records: of the chains.
      program: that made them.
      problem: in the units of the inputs as they came.
      params: of the shapes of a draw.
      made_by: the name under which the manifest has the settings.
      out: run directory, if there is one.
      weighted: rows have weights. The energy of a problem knows none, so there is none to judge by.
    """
    settings = settings_in(records[0].manifest["origin"][made_by])
    position = program.expanded(params)
    energy = potential(
        problem, prior=program.prior(settings.last_layer), factor_prior=factor_prior()
    )
    sampler = program.sampler(energy, settings, position)
    return Run(
        records,
        problem,
        jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), params),
        path=out,
        sampler=None if weighted else sampler,
        state_like=jax.eval_shape(sampler.init, position),
    )
