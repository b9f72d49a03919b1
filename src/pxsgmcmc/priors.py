"""Priors: anything with an energy of a tree, minus its log density up to a constant.

A prior stands on the base parameters V, on the factors, or (`on_weights`) on the product W. With
`old` it gives the difference of two energies without losing digits where they are nearly equal.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, Protocol

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import UserError, check_number, one_line
from pxsgmcmc.expansion.factors import less_identity
from pxsgmcmc.tree import broadcast_prefix, check_prefix, paths, widen
from pxsgmcmc.types import Array, Tree

FEW = 16  # leaves; more are laid end to end before they are summed


class Prior(Protocol):
    """An energy of a tree; made by the functions of this file, or your own."""

    @property
    def name(self) -> str:
        """As one would type it."""
        ...

    def energy(self, tree: Tree, old: Tree | None = None) -> Array:
        """Energy of `tree`, less that of `old` if given."""
        ...


def normal(variance: Tree, *, at: Literal["zero", "identity"] | Tree = "zero") -> "Normal":
    """Independent normals around zero, or around given weights.

    Args:
      variance: a number, or a tree prefix of what it stands on (see `px.by_path` for patterns).
      at: "zero", "identity" for factors that should stay near it, or weights of the shapes of what
        it stands on, such as trained ones: a posterior around them.

    Example:
      >>> float(normal(0.5).energy({"w": jnp.ones(3)}))  # 3 / (2 * 0.5)
      3.0
    """
    check_prefix("variance", variance, above=True)
    if isinstance(at, str) and at not in ("zero", "identity"):
        raise UserError(f"`at` must be 'zero', 'identity' or a tree of weights, got {at!r}.")
    return Normal(variance, at)


def laplace(scale: Tree) -> "Elementwise":
    """Independent Laplace distributions around zero: energy |x| / scale.

    Args:
      scale: a number, or a tree prefix of what it stands on.

    Example:
      >>> float(laplace(0.5).energy({"w": jnp.ones(3)}))
      6.0
    """
    check_prefix("scale", scale, above=True)
    return Elementwise(f"laplace({_spelt(scale)})", scale, lambda x, s: jnp.abs(x) / s)


def student_t(scale: Tree, *, freedom: float = 4.0) -> "Elementwise":
    """Independent Student-t distributions around zero, which let single weights be large.

    Args:
      scale: a number, or a tree prefix of what it stands on.
      freedom: degrees of freedom.

    Example:
      >>> round(float(student_t(1.0, freedom=1.0).energy(jnp.ones(1))), 4)  # log 2
      0.6931
    """
    check_prefix("scale", scale, above=True)
    v = check_number("freedom", freedom, above=0.0)
    return Elementwise(
        f"student_t({_spelt(scale)}, freedom={v:g})",
        scale,
        lambda x, s: (v + 1.0) / 2.0 * jnp.log1p((x / s) ** 2 / v),
    )


def by_path(priors: Mapping[str, Prior]) -> "ByPath":
    """A prior for each leaf, by the first pattern that matches its name.

    Args:
      priors: pattern such as "*/bias" or "*" -> prior.

    Example:
      >>> prior = by_path({"*bias": normal(1.0), "*": laplace(0.5)})
      >>> float(prior.energy({"bias": jnp.ones(2), "kernel": jnp.ones(2)}))  # 1 + 4
      5.0
    """
    if not priors:
        raise UserError("`priors` must hold at least one pattern, such as '*', got none.")
    return ByPath({pattern: as_prior(prior, "priors") for pattern, prior in priors.items()})


def custom(energy: Callable[[Tree], Array], *, name: str = "custom") -> "CustomPrior":
    """A prior from a function: minus the log density of a tree, in JAX, differentiable.

    Example:
      >>> float(custom(lambda params: jnp.sum(params["w"] ** 4)).energy({"w": jnp.ones(3)}))
      3.0
    """
    return CustomPrior(energy, name)


def on_weights(prior: Any, *, temperature: float = 1.0) -> "OnWeights":
    """A prior on W = collapse(q) itself, with the log-determinants that make it one.

    The marginal of W is then the posterior of the unexpanded model, whatever the factor prior; the
    factors are independent of W and follow their prior. Singular factors have infinite energy, so
    give them a prior that keeps them away from it: a normal of a variance well below 1 / width
    around the identity.

    Args:
      prior: on the model's own parameters: `normal(...)` or any other.
      temperature: that of the sampler; the volume of a change of variables is not tempered.
    """
    check_number("temperature", temperature, at_least=0.0)
    return OnWeights(as_prior(prior, "prior"), temperature)


def as_prior(value: Any, name: str) -> Prior:
    """A prior, or a function of a tree as one."""
    if isinstance(value, OnWeights) and name != "prior":
        raise UserError(f"`{name}` cannot be made by `on_weights`, which is for `prior` alone.")
    if hasattr(value, "energy"):
        return value
    if callable(value):
        return custom(value, name=getattr(value, "__name__", "custom"))  # pyright: ignore
    raise UserError(
        f"`{name}` must be made by `px.priors.normal` or its like, or be a function of a tree, got "
        f"{one_line(value)}."
    )


@dataclass(frozen=True)
class Normal:
    """Made by `normal`."""

    variance: Tree
    at: Literal["zero", "identity"] | Tree

    @property
    def name(self) -> str:
        """As one would type it."""
        at = self.at if isinstance(self.at, str) else "weights"
        where = {"zero": "", "identity": ", at='identity'", "weights": ", at=..."}[at]
        return f"normal({_spelt(self.variance)}{where})"

    def energy(self, tree: Tree, old: Tree | None = None) -> Array:
        """Sum of x^2 / (2 variance), less that of `old` if given."""
        olds = None if old is None else _less(old, self.at)
        return _quadratic(_less(tree, self.at), self.variance, olds)


@dataclass(frozen=True)
class Elementwise:
    """Made by `laplace` and `student_t`: one energy a coordinate, with a scale."""

    name: str
    scale: Tree
    each: Callable[[Array, Array], Array]

    def energy(self, tree: Tree, old: Tree | None = None) -> Array:
        """Sum over coordinates, less that of `old`, coordinate by coordinate."""
        scales = jax.tree.leaves(broadcast_prefix(self.scale, tree, "scale"))
        leaves, olds = jax.tree.leaves(tree), jax.tree.leaves(old)
        total = jnp.zeros((), float)
        for place, (leaf, scale) in enumerate(zip(leaves, scales, strict=True)):
            x = widen(leaf)
            s = jnp.asarray(scale, x.dtype)
            energy = self.each(x, s)
            if olds:
                energy = energy - self.each(widen(olds[place]), s)
            total = total + jnp.sum(energy)
        return total


@dataclass(frozen=True)
class ByPath:
    """Made by `by_path`."""

    priors: Mapping[str, Prior]

    @property
    def name(self) -> str:
        """As one would type it."""
        inner = ", ".join(f"{pattern!r}: {prior.name}" for pattern, prior in self.priors.items())
        return f"by_path({{{inner}}})"

    def energy(self, tree: Tree, old: Tree | None = None) -> Array:
        """Each prior on the leaves that are its."""
        chosen: dict[str, list[int]] = {pattern: [] for pattern in self.priors}
        for place, path in enumerate(paths(tree)):
            pattern = next((p for p in self.priors if fnmatchcase(path, p)), None)
            if pattern is None:
                raise UserError(
                    f"`priors` has no pattern for {path!r}; add one, or '*' for the rest."
                )
            chosen[pattern].append(place)
        if unused := [pattern for pattern, places in chosen.items() if not places]:
            raise UserError(f"`priors` has a pattern that matches nothing: {unused[0]!r}.")
        leaves, olds = jax.tree.leaves(tree), jax.tree.leaves(old)
        return sum(
            (
                self.priors[pattern].energy(
                    [leaves[place] for place in places],
                    [olds[place] for place in places] if olds else None,
                )
                for pattern, places in chosen.items()
            ),
            start=jnp.zeros((), float),
        )


@dataclass(frozen=True)
class CustomPrior:
    """Made by `custom`."""

    function: Callable[[Tree], Array]
    name: str

    def energy(self, tree: Tree, old: Tree | None = None) -> Array:
        """What the function says."""
        energy = jnp.asarray(self.function(tree))
        if energy.shape != ():
            raise UserError(f"`prior` must give one number, got shape {energy.shape}.")
        return widen(energy) if old is None else widen(energy) - self.energy(old)


@dataclass(frozen=True)
class OnWeights:
    """Made by `on_weights`; `potential` gives `energy` the collapsed weights."""

    prior: Prior
    temperature: float

    @property
    def name(self) -> str:
        """As one would type it."""
        return f"on_weights({self.prior.name})"

    def energy(self, tree: Tree, old: Tree | None = None) -> Array:
        """Energy of the weights; the volume is added by `potential`, which knows the factors."""
        return self.prior.energy(tree, old)


def _spelt(value: Tree) -> str:
    return f"{value:g}" if isinstance(value, int | float) else "..."


def _quadratic(tree: Tree, variance: Tree, old: Tree | None) -> Array:
    """Sum of x^2 / (2 variance) over coordinates, less the same of `old` without cancellation."""
    leaves, olds = jax.tree.leaves(tree), jax.tree.leaves(old)
    variances = jax.tree.leaves(broadcast_prefix(variance, tree, "variance"))
    total = jnp.zeros((), float)
    for places in _alike(variances):
        x = _end_to_end([leaves[place] for place in places])
        before = _end_to_end([olds[place] for place in places]) if olds else None
        squares = x * x if before is None else (x - before) * (x + before)
        total = total + jnp.sum(squares) / (2.0 * jnp.asarray(variances[places[0]], x.dtype))
    return total


def _alike(values: list[Any]) -> list[list[int]]:
    """The places of equal numbers that are summed together.

    What is traced stands alone, its value being unknown; so do the leaves of a small network, which
    run faster one by one.
    """
    groups: dict[Any, list[int]] = {}
    for place, value in enumerate(values):
        together = len(values) > FEW and isinstance(value, int | float)
        known = value if together else ("alone", place)
        groups.setdefault(known, []).append(place)
    return list(groups.values())


def _end_to_end(leaves: list[Array]) -> Array:
    """One vector, for one sum: a sum for each of a hundred leaves takes longer to trace and run."""
    return jnp.concatenate([jax.lax.reshape(widen(leaf), (leaf.size,)) for leaf in leaves])


def _less(tree: Tree, at: Any) -> Tree:
    if isinstance(at, str):
        return less_identity(tree) if at == "identity" else tree
    if jax.tree.map(jnp.shape, tree) != jax.tree.map(jnp.shape, at):
        raise UserError("`at` must have the structure and shapes of what the prior stands on.")
    return jax.tree.map(lambda x, w: widen(x) - jnp.asarray(w, widen(x).dtype), tree, at)
