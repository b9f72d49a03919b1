"""Which layers get which factors and what that costs, as a value that prints as a table."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from pxsgmcmc import notebook
from pxsgmcmc.expansion.position import Expanded
from pxsgmcmc.expansion.rules import Layer


@dataclass(frozen=True)
class FactorPlan:
    """The factors on one side of a layer."""

    count: int
    width: int
    rank: int | None  # None is a full matrix
    inner: int | None = None  # width between them, None for square ones

    @property
    def parameters(self) -> int:
        """Numbers in all of them."""
        if self.inner is not None:
            return 2 * self.width * self.inner + (self.count - 2) * self.inner**2
        one = self.width**2 if self.rank is None else self.width * (1 + 2 * self.rank)
        return self.count * one

    def merge_cost(self, leaf_size: int) -> int:
        """Multiply-adds to bring them into a leaf."""
        if self.inner is not None:  # one of these products a layer is shared by its leaves
            own = (self.count - 2) * self.inner**2 * self.width + self.width**2 * self.inner
            return own + self.width * leaf_size
        each = self.width if self.rank is None else 2 * self.rank + 1
        return self.count * each * leaf_size

    def __str__(self) -> str:
        """Such as "64x64", "2 of 64r8" or "2 of 64x96"."""
        if not self.count:
            return "-"
        kind = f"{self.width}x{self.inner or self.width}"
        kind = kind if self.rank is None else f"{self.width}r{self.rank}"
        return kind if self.count == 1 else f"{self.count} of {kind}"


class LayerPlan(NamedTuple):
    """One layer and its factors."""

    layer: Layer
    out: FactorPlan
    into: FactorPlan
    note: str  # "input", "logits", or nothing

    @property
    def base_parameters(self) -> int:
        """Numbers in the layer as the model has it."""
        return sum(math.prod(leaf.shape) for leaf in self.layer.leaves)

    @property
    def merge_cost(self) -> int:
        """Multiply-adds to collapse the layer once."""
        return sum(
            plan.merge_cost(math.prod(leaf.shape))
            for leaf in self.layer.leaves
            for plan, axes in ((self.out, leaf.out), (self.into, leaf.into))
            if axes
        )


@dataclass(frozen=True, repr=False)
class Plan:
    """Which layers get which factors. `print(plan)` shows the table.

    Attributes:
      layers: a row each.
      untouched: names of the parameters that no rule speaks of; they are sampled as they are.
      structure: of the parameters the plan was made for.
      base_parameters: numbers in the model.
    """

    layers: tuple[LayerPlan, ...]
    untouched: tuple[str, ...]
    structure: Any
    base_parameters: int

    @property
    def factor_parameters(self) -> int:
        """Numbers in all the factors."""
        return sum(row.out.parameters + row.into.parameters for row in self.layers)

    @property
    def parameters(self) -> int:
        """Numbers the sampler moves."""
        return self.base_parameters + self.factor_parameters

    @property
    def factor_count(self) -> int:
        """How many factors there are."""
        return sum(row.out.count + row.into.count for row in self.layers)

    @property
    def merge_cost(self) -> int:
        """Multiply-adds to collapse the position once, as every step does."""
        return sum(row.merge_cost for row in self.layers)

    def groups(self, *, base: Any, factors: Any) -> Expanded:
        """A tree prefix of the expanded position: one value for the base, one for the factors."""
        return Expanded(base, factors, tuple(row.layer for row in self.layers))

    def __repr__(self) -> str:
        """The table."""
        return _table(self)

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        (head, *rows), remarks = _rows(self)
        return notebook.table("Plan", "", head, rows, "; ".join(remarks))


_HEAD = ("layer", "kind", "shape", "out", "into", "parameters", "expanded", "merge cost")


def _rows(plan: Plan) -> tuple[list[tuple[str, ...]], list[str]]:
    """A line a layer between the names of the columns and the totals, and what is left as it is."""
    rows: list[tuple[str, ...]] = [_HEAD]
    for row in plan.layers:
        before, extra = row.base_parameters, row.out.parameters + row.into.parameters
        kind = f"{row.layer.kind} ({row.note})" if row.note else row.layer.kind
        largest = max((leaf.shape for leaf in row.layer.leaves), key=math.prod)
        shape = "x".join(map(str, largest))
        cells = (row.layer.name, kind, shape, str(row.out), str(row.into))
        rows.append((*cells, f"{before:,}", f"{before + extra:,}", f"{row.merge_cost:,}"))
    total = (f"{plan.base_parameters:,}", f"{plan.parameters:,}", f"{plan.merge_cost:,}")
    rows.append(("total", "", "", "", "", *total))
    remarks = [f"{plan.factor_count} factors; merge cost in multiply-adds per step"]
    if plan.untouched:
        remarks.append(f"as they are (no rule): {', '.join(plan.untouched)}")
    for note, argument in (("input", "input_layer"), ("logits", "logits_layer")):
        if plan.layers and not any(row.note == note for row in plan.layers):
            remarks.append(f"no {note} layer recognised; name it with `{argument}`")
    return rows, remarks


def _table(plan: Plan) -> str:
    rows, remarks = _rows(plan)
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    lines = []
    for row in rows:
        left = [cell.ljust(width) for cell, width in zip(row[:5], widths[:5], strict=True)]
        right = [cell.rjust(width) for cell, width in zip(row[5:], widths[5:], strict=True)]
        lines.append("  ".join(left + right).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    lines.insert(-1, lines[1])
    return "\n".join([*lines, *remarks])
