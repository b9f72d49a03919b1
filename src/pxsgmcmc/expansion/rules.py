"""Which axes of which leaves carry input and output channels.

A layer is the leaves that share a parent. Presets recognise the layers of the usual frameworks; a
`Rule` says it for any other leaf.
"""

import math
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

import jax

from pxsgmcmc.errors import UserError
from pxsgmcmc.expansion.presets import Axes, equinox_axes, equinox_layers, named_axes
from pxsgmcmc.tree import paths
from pxsgmcmc.types import Tree


class Rule(NamedTuple):
    """Channel axes of the leaves whose name matches a pattern.

    Attributes:
      pattern: as in a shell, matched against names such as "blocks/0/attention/query/kernel".
      out: the axis, or axes taken together, that `out` factors multiply; None for none.
      into: the axis, or axes taken together, that `into` factors multiply; None for none.
      layer: the layer the leaves belong to, where it is not the name of their parent (a leaf
        without a parent is a layer by itself). Leaves of one layer share its factors. A rule with
        neither `out` nor `into` leaves its leaves as they are.

    Example:
      >>> Rule("*/query/kernel", into=0, out=(1, 2))  # (features, heads, head width)
      Rule(pattern='*/query/kernel', out=(1, 2), into=0, layer=None)
    """

    pattern: str
    out: int | Axes | None = None
    into: int | Axes | None = None
    layer: str | None = None


class LeafAxes(NamedTuple):
    """Where the channels of one leaf are."""

    place: int  # of the leaf, in flattening order
    name: str
    shape: tuple[int, ...]
    out: Axes
    into: Axes


class Layer(NamedTuple):
    """Leaves that share factors."""

    name: str
    kind: str  # dense, convolution, attention, embedding, norm, or rule
    leaves: tuple[LeafAxes, ...]

    @property
    def out_width(self) -> int | None:
        """Output channels, None where no leaf has any."""
        return self._width("out")

    @property
    def into_width(self) -> int | None:
        """Input channels, None where no leaf has any."""
        return self._width("into")

    def _width(self, side: str) -> int | None:
        for leaf in self.leaves:
            axes = getattr(leaf, side)
            if axes:
                return math.prod(leaf.shape[axis] for axis in axes)
        return None


def find_layers(params: Tree, rules: Sequence[Rule] = ()) -> list[Layer]:
    """The layers of `params` that have channels, in the order their first leaf comes."""
    names = paths(params)
    shapes = [tuple(leaf.shape) for leaf in jax.tree.leaves(params)]
    ruled = _apply_rules(names, shapes, rules)
    equinox = equinox_layers(params)
    parents = {name.rpartition("/")[0] for name in names}
    siblings: dict[str, dict[str, tuple[int, tuple[int, ...]]]] = {}
    for index, (name, shape) in enumerate(zip(names, shapes, strict=True)):
        if name not in ruled:
            parent, _, leaf = name.rpartition("/")
            siblings.setdefault(parent, {})[leaf] = (index, shape)

    layers: dict[str, Layer] = {}
    for parent, leaves in siblings.items():
        shaped = {leaf: shape for leaf, (_, shape) in leaves.items()}
        if parent in equinox:
            kind, axes = equinox_axes(equinox[parent], shaped)
        else:
            kind, axes = named_axes(parent, shaped, parents)
        members = tuple(
            LeafAxes(leaves[leaf][0], f"{parent}/{leaf}".lstrip("/"), shaped[leaf], out, into)
            for leaf, (out, into) in axes.items()
        )
        if members and _widths_agree(members):
            layers[parent or "(root)"] = Layer(parent or "(root)", kind, members)
    _join_ruled(layers, ruled)
    return sorted(layers.values(), key=lambda layer: layer.leaves[0].place)


def _apply_rules(
    names: list[str], shapes: list[tuple[int, ...]], rules: Sequence[Rule]
) -> dict[str, tuple[str, LeafAxes]]:
    """Name of a leaf -> (its layer, its axes), where a rule speaks of it; the first rule wins."""
    ruled: dict[str, tuple[str, LeafAxes]] = {}
    for rule in rules:
        matched = [i for i, name in enumerate(names) if fnmatchcase(name, rule.pattern)]
        if not matched:
            raise UserError(
                f"`rules` has a pattern that matches no parameter: {rule.pattern!r}; "
                f"the parameters are {', '.join(names[:6])}{', ...' if len(names) > 6 else ''}."
            )
        for i in matched:
            if names[i] not in ruled:
                layer = rule.layer or names[i].rpartition("/")[0] or names[i]
                ruled[names[i]] = layer, _checked_axes(rule, i, names[i], shapes[i])
    return ruled


def _checked_axes(rule: Rule, index: int, name: str, shape: tuple[int, ...]) -> LeafAxes:
    def axes(side: str) -> Axes:
        chosen = getattr(rule, side)
        if not isinstance(chosen, tuple | list):
            chosen = () if chosen is None else (chosen,)
        for axis in chosen:
            if not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
                raise UserError(
                    f"`rules` gives {side}={getattr(rule, side)!r} to {name!r}, "
                    f"which has shape {shape}; name axes it has."
                )
        return tuple(axis % len(shape) for axis in chosen)

    out, into = axes("out"), axes("into")
    if len(set(out + into)) < len(out + into):
        raise UserError(f"`rules` gives {name!r} an axis twice: out={out}, into={into}.")
    return LeafAxes(index, name, shape, out, into)


def _join_ruled(joined: dict[str, Layer], ruled: dict[str, tuple[str, LeafAxes]]) -> None:
    """Add the leaves that rules speak of to their layers, or as new ones."""
    for name, leaf in ruled.values():
        if not (leaf.out or leaf.into):
            continue
        layer = joined.get(name, Layer(name, "rule", ()))
        layer = layer._replace(leaves=(*layer.leaves, leaf))
        if not _widths_agree(layer.leaves):
            shapes = ", ".join(f"{leaf.name} {leaf.shape}" for leaf in layer.leaves)
            raise UserError(
                f"`rules` puts leaves of different widths into the layer {name!r}: {shapes}; "
                "give them different `layer` names."
            )
        joined[name] = layer


def _widths_agree(leaves: Sequence[LeafAxes]) -> bool:
    for side in ("out", "into"):
        widths = {
            math.prod(leaf.shape[axis] for axis in getattr(leaf, side))
            for leaf in leaves
            if getattr(leaf, side)
        }
        if len(widths) > 1:
            return False
    return True
