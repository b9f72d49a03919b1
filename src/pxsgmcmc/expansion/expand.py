"""Decide on an expansion (`plan`) and make it (`expand`)."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import jax

from pxsgmcmc.errors import UserError, check_count, check_number
from pxsgmcmc.expansion.factors import Factor, identity, low_rank_identity, wide_identity
from pxsgmcmc.expansion.plan import FactorPlan, LayerPlan, Plan
from pxsgmcmc.expansion.position import Expanded, LayerFactors
from pxsgmcmc.expansion.rules import Layer, Rule, find_layers
from pxsgmcmc.tree import check_float_leaves, paths, size
from pxsgmcmc.types import Key, Tree


def plan(
    params: Tree,
    *,
    out: int = 1,
    into: int = 1,
    rank: int | float | None = None,
    inner: float = 1.0,
    layers: Mapping[str, Mapping[str, Any]] | None = None,
    rules: Sequence[Rule] = (),
    input_layer: str | None = None,
    logits_layer: str | None = None,
    expand_input: bool = False,
    expand_logits: bool = False,
) -> Plan:
    """Decide which factors each layer gets; nothing is computed yet.

    Args:
      params: the model's parameters: any pytree of floating-point arrays.
      out: how many factors multiply the output channels (c in the paper).
      into: how many multiply the input channels (d in the paper).
      rank: None for full matrices; a whole number, or a fraction of the width, for diagonal plus
        low rank.
      inner: how many times as wide as the layer it is between the factors of one side, of which
        there must then be two at least: P_1 is (inner width, width), P_c (width, inner width).
      layers: pattern of layer names -> {"out": .., "into": .., "rank": ..}, over the three above.
      rules: axes of leaves that the presets do not recognise, or should treat otherwise.
      input_layer: pattern of the layer that takes the network's input; by default recognised as the
        one whose input width no layer produces.
      logits_layer: pattern of the layer that gives the network's output; by default recognised as
        the one whose output width no layer takes.
      expand_input: also put factors on the network's input.
      expand_logits: also put factors on the network's output.

    Example:
      >>> import jax.numpy as jnp
      >>> params = {"a": {"kernel": jnp.ones((4, 8))}, "b": {"kernel": jnp.ones((8, 3))}}
      >>> plan(params, out=1, into=1).parameters  # 8x8 behind a, 8x8 before b
      184
    """
    check_float_leaves("params", params)
    check_count("out", out)
    check_count("into", into)
    check_number("inner", inner, at_least=1.0)
    chosen = find_layers(params, rules)
    names = [layer.name for layer in chosen]
    # What a rule leaves alone still stands between its neighbours and the outside.
    known = list({layer.name: layer for layer in [*find_layers(params), *chosen]}.values())
    inputs = _named(names, input_layer, "input_layer", _input_layers(known))
    logits = _named(names, logits_layer, "logits_layer", _logits_layers(known))
    overrides = dict(layers or {})
    _check_overrides(overrides, names)

    rows = []
    for layer in chosen:
        settings = {"out": out, "into": into, "rank": rank}
        for pattern, changes in overrides.items():
            if fnmatchcase(layer.name, pattern):
                settings.update(changes)
        if layer.name in inputs and not expand_input:
            settings["into"] = 0
        if layer.name in logits and not expand_logits:
            settings["out"] = 0
        note = "input" * (layer.name in inputs) or "logits" * (layer.name in logits)
        rows.append(
            LayerPlan(
                layer,
                _factor_plan(settings["out"], layer.out_width, settings["rank"], inner, layer.name),
                _factor_plan(
                    settings["into"], layer.into_width, settings["rank"], inner, layer.name
                ),
                note,
            )
        )
    planned = {leaf.place for layer in chosen for leaf in layer.leaves}
    untouched = tuple(name for i, name in enumerate(paths(params)) if i not in planned)
    return Plan(tuple(rows), untouched, jax.tree.structure(params), size(params))


def expand(params: Tree, plan: Plan, key: Key | None = None) -> Expanded:
    """The expanded position with `params` as base and every factor the identity.

    Args:
      params: what the plan was made for.
      plan: from `plan(params, ...)`.
      key: needed by low-rank factors, whose `left` part starts at random, and by factors that are
        wider inside, for what the first of them has more than the identity.

    Example:
      >>> import jax.numpy as jnp
      >>> params = {"a": {"kernel": jnp.ones((4, 8))}, "b": {"kernel": jnp.ones((8, 3))}}
      >>> position = expand(params, plan(params))
      >>> position.factors["a"].out[0].shape
      (8, 8)
    """
    if jax.tree.structure(params) != plan.structure:
        raise UserError("`params` must have the structure the plan was made for; plan it again.")
    leaves = jax.tree.leaves(params)
    for planned in (leaf for row in plan.layers for leaf in row.layer.leaves):
        shape = leaves[planned.place].shape
        if shape != planned.shape:
            raise UserError(
                f"`params` must have the shapes the plan was made for, got {shape} for "
                f"{planned.name!r} of shape {planned.shape}; plan it again."
            )

    def make(side: FactorPlan, layer: Layer, offset: int) -> tuple[Factor, ...]:
        dtype = leaves[layer.leaves[0].place].dtype
        if side.rank is side.inner is None or not side.count:
            return tuple(identity(side.width, dtype) for _ in range(side.count))
        if key is None:
            setting = "inner" if side.rank is None else "rank"
            raise UserError(f"`key` must be given to `expand` when `{setting}` is set.")
        layer_key = jax.random.fold_in(jax.random.fold_in(key, layer.leaves[0].place), offset)
        if side.inner is not None:
            wide = wide_identity(layer_key, side.width, side.inner, side.count, dtype)
            return tuple(one.T for one in wide) if offset else tuple(wide)
        assert side.rank is not None
        keys = jax.random.split(layer_key, side.count)
        return tuple(low_rank_identity(k, side.width, side.rank, dtype) for k in keys)

    factors = {
        row.layer.name: LayerFactors(make(row.out, row.layer, 0), make(row.into, row.layer, 1))
        for row in plan.layers
    }
    return Expanded(params, factors, tuple(row.layer for row in plan.layers))


def _factor_plan(count: int, width: int | None, rank: Any, inner: float, layer: str) -> FactorPlan:
    if width is None:
        return FactorPlan(0, 0, None)
    wider = round(inner * width)
    if wider > width and count == 1:
        raise UserError(
            f"`inner` needs no or at least two factors on a side, since they are {width} wide "
            f"outside, got one in layer {layer!r}; set `out` and `into` to 2."
        )
    if wider > width and count:
        if rank is not None:
            raise UserError(f"`inner` needs full factors, got `rank` {rank!r} for layer {layer!r}.")
        return FactorPlan(count, width, None, wider)
    if rank is None:
        return FactorPlan(count, width, None)
    fits = isinstance(rank, int | float) and not isinstance(rank, bool) and rank > 0
    if not fits or (isinstance(rank, float) and rank > 1.0):
        raise UserError(
            f"`rank` must be None, a whole number of at least 1 or a fraction of the width, "
            f"got {rank!r} for layer {layer!r}."
        )
    if isinstance(rank, int) and rank > width and count:
        raise UserError(
            f"`rank` must be at most the width of a factor, {width} in layer {layer!r}, got "
            f"{rank}; give a fraction of the width, or another rank for it by `layers`."
        )
    wanted = round(rank * width) if isinstance(rank, float) else rank
    return FactorPlan(count, width, min(max(wanted, 1), width))


def _check_overrides(overrides: Mapping[str, Mapping[str, Any]], names: list[str]) -> None:
    for pattern, changes in overrides.items():
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UserError(
                f"`layers` has a pattern that matches no layer: {pattern!r}; the layers are "
                f"{', '.join(names[:6])}{', ...' if len(names) > 6 else ''}."
            )
        for setting, value in changes.items():
            if setting not in ("out", "into", "rank"):
                raise UserError(
                    f"`layers` has no setting {setting!r} for {pattern!r}; known: out, into, rank."
                )
            if setting != "rank":
                check_count(f"layers[{pattern!r}].{setting}", value)


def _named(names: list[str], pattern: str | None, argument: str, recognised: set[str]) -> set[str]:
    if pattern is None:
        return recognised
    matched = {name for name in names if fnmatchcase(name, pattern)}
    if not matched:
        raise UserError(
            f"`{argument}` matches no layer: {pattern!r}; the layers are "
            f"{', '.join(names[:6])}{', ...' if len(names) > 6 else ''}."
        )
    return matched


def _input_layers(layers: list[Layer]) -> set[str]:
    """Layers whose input width no layer produces; with convolutions about, only those.

    (Behind convolutions a dense layer may take a flattened image, a width that no layer produces.)
    """
    produced = {layer.out_width for layer in layers if layer.kind != "norm"}
    first = [la for la in layers if la.into_width and la.into_width not in produced]
    images = [layer for layer in first if layer.kind == "convolution"]
    return {layer.name for layer in images or first}


def _logits_layers(layers: list[Layer]) -> set[str]:
    """Layers whose output width no layer takes; with dense ones about, only those."""
    taken = {layer.into_width for layer in layers}
    last = [la for la in layers if la.into_width and la.out_width and la.out_width not in taken]
    dense = [layer for layer in last if layer.kind == "dense"]
    return {layer.name for layer in dense or last}
