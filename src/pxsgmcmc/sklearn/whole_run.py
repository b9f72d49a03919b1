"""The run behind a fitted estimator, opened again from what the estimator keeps."""

from pathlib import Path
from typing import Any

import jax

from pxsgmcmc.posterior import potential
from pxsgmcmc.problem import Problem
from pxsgmcmc.run import Run
from pxsgmcmc.sklearn.fitted import Fitted
from pxsgmcmc.sklearn.programs import Spec, program_for, sampler_of
from pxsgmcmc.store import open_run
from pxsgmcmc.store.layout import chain_folder
from pxsgmcmc.types import Sampler, Tree


def whole_run(fitted: Fitted, spec: Spec, problem: Problem, params: Tree) -> Run:
    """The run, with all that its diagnostics need.

    Args:
      fitted: what the estimator keeps.
      spec: of its program.
      problem: in the units of the inputs as they came.
      params: of the shapes of a draw.
    """
    records = fitted.records
    if records is None:
        out = Path(str(fitted.out))
        several = fitted.chains > 1
        folders = [chain_folder(out, n) for n in range(fitted.chains)] if several else [out]
        records = [open_run(folder) for folder in folders]
    facts = records[0].manifest["origin"]["estimator"]
    position = program_for(spec).expanded(params)
    made_by = _sampler(spec, problem, facts, position)
    return Run(
        records,
        problem,
        jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), params),
        path=None if fitted.out is None else Path(fitted.out),
        # The energy of a problem knows no weights, so with weights there is none to judge by.
        sampler=None if fitted.weighted else made_by,
        state_like=jax.eval_shape(made_by.init, position),
    )


def _sampler(spec: Spec, problem: Problem, facts: dict[str, Any], position: Tree) -> Sampler:
    """The sampler on the problem's own rows."""
    kept = program_for(spec).potential
    energy = potential(problem, prior=kept.prior, factor_prior=kept.factor_prior)
    h, friction, masses = (facts[name] for name in ("step_size", "friction", "masses"))
    return sampler_of(spec, energy, h, friction, masses, position)
