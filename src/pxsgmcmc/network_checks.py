"""Whether a network can be sampled: a fixed function of parameters, with no state of its own."""

from collections.abc import Callable
from typing import Any

import jax

from pxsgmcmc.errors import UserError
from pxsgmcmc.tree import path_name
from pxsgmcmc.types import Array, Tree

_MUTABLE = {"BatchStat", "RngState", "RngCount", "RngKey", "Cache"}  # kinds of Flax NNX variables
_WITHOUT_STATE = (
    "use a norm without running averages (group, layer or filter response norm) and no dropout"
)


def check_no_state(params: Tree) -> None:
    """Refuse parameters among which is something that a network changes while it runs."""

    def is_variable(node: Any) -> bool:
        return type(node).__name__ in _MUTABLE

    flat, _ = jax.tree_util.tree_flatten_with_path(params, is_leaf=is_variable)
    for path, leaf in flat:
        name = path_name(path)
        if is_variable(leaf) or "batch_stats" in name.split("/"):
            raise UserError(
                f"`params` must hold parameters alone, but {name!r} is state that the network "
                f"changes itself (batch statistics or dropout's random numbers): {_WITHOUT_STATE}."
            )


def check_fixed(outputs: Callable[[Tree, Array], Array], params: Tree, x: Array) -> None:
    """Refuse a network that draws random numbers, or changes state that is not in its parameters.

    Args:
      outputs: of parameters and inputs.
      params: to try it with.
      x: a few rows.
    """
    try:
        jaxpr = jax.make_jaxpr(outputs)(params, x).jaxpr
    except UserError:
        raise
    except Exception as error:
        if type(error).__name__ == "TraceContextError":  # what Flax NNX calls it
            raise UserError(
                "`apply` must be a fixed function of params and inputs, but it changes state of "
                f"its own (batch statistics or dropout's random numbers): {_WITHOUT_STATE}, or "
                "call `.eval()` on the module first."
            ) from error
        error.add_note(f"`apply` failed on the first training rows, of shape {x.shape}.")
        raise
    if any("random" in name or "threefry" in name for name in primitives(jaxpr)):
        raise UserError(
            "`apply` must be a fixed function of params and inputs, but it draws random numbers: "
            "switch dropout off (evaluation mode)."
        )


def primitives(jaxpr: Any, platform: str | None = None) -> set[str]:
    """Names of all operations, inner functions included; those of one platform's form if given."""
    names = set()
    for equation in jaxpr.eqns:
        names.add(equation.primitive.name)
        params = equation.params
        if platform is not None and (forms := params.get("branches_platforms")):
            chosen = next(i for i, those in enumerate(forms) if not those or platform in those)
            params = {"branch": params["branches"][chosen]}
        for inner in jax.tree.leaves(list(params.values()), is_leaf=lambda x: hasattr(x, "jaxpr")):
            if hasattr(inner, "jaxpr") or hasattr(inner, "eqns"):
                names |= primitives(getattr(inner, "jaxpr", inner), platform)
    return names
