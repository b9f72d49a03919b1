"""A mixture of 25 Gaussians, sampled by HMC with and without parameter expansion.

    python examples/mixture25.py           # about a minute on two cores; writes runs/toy.png
    python examples/mixture25.py --help    # step size, leapfrog steps, strength, starts, seeds, ...

Wanted is y in R^2 with energy U(y). Standard HMC moves y; expanded HMC moves the 14 numbers of
y = W3 W2 W1 x, from W_i = I, under one of three energies:

    flat    U(y)                                              as the paper says
    ridge   U(y) + k/2 sum |W_i|^2                            as its networks have it
    exact   U(y) + k/2 sum |W_i - I|^2 - sum log |det W_i|    the mixture's law for y

`preconditioned` moves y alone, by the force -P(y) dU(y) with P the matrix of Lemma 3.1 at W_i = I.
Needs the extra `report`. What comes out, and why, is told in docs/toy.md.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track
from rich.table import Table

import pxsgmcmc as px
from pxsgmcmc.data._toys import mixture25_energy, mixture25_means
from pxsgmcmc.errors import check_count, check_number
from pxsgmcmc.reproduce.mixture25 import Point, Result, methods, reference, run


def table(results: Sequence[Result], starts: Sequence[Point]) -> Table:
    """Mean ± sd over seeds, a row for each method and start."""
    shown = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    shown.add_column("sampler", no_wrap=True)
    for title in ("start", "accepted", "modes\n≥100", "modes\n≥1", "TV", "switches", "mean\n|y|²"):
        shown.add_column(title, justify="right", no_wrap=True)
    for name, _, numbers in results:
        for index, rows in enumerate(numbers):
            start = "{:g},{:g}".format(*starts[index]) if name != "independent" else ""
            cells = map(mean_and_sd, rows.T, (2, 1, 1, 2, 1, 2))
            shown.add_row("" if index else name, start, *cells)
    return shown


def mean_and_sd(values: np.ndarray, digits: int) -> str:
    """Mean ± standard deviation; a dash for what was not measured."""
    if np.isnan(values).any():
        return "-"
    mean, sd = np.mean(values), np.std(values, ddof=1) if len(values) > 1 else 0.0
    form = ".0e" if mean >= 1e5 else ".0f" if mean >= 1e3 else f".{digits}f"
    return f"{mean:{form}}±{sd:{form}}"


def picture(results: Sequence[Result], starts: Sequence[Point], out: Path) -> None:
    """The chains of seed 0 coloured by energy, a panel for each method, to a PNG file."""
    rows = -(-len(results) // 3)
    figure = Figure(figsize=(9.6, 3.1 * rows + 0.5), layout="constrained")
    panels = list(figure.subplots(rows, 3, sharex=True, sharey=True, squeeze=False).flat)
    for panel, (name, y, numbers) in zip(panels, results, strict=False):
        y = y[:, 0].reshape(-1, 2)
        energy = np.asarray(jax.jit(mixture25_energy)(jnp.asarray(y)))
        y, energy = y[np.argsort(-energy)], np.sort(energy)[::-1]  # the likeliest on top
        inside = np.all(np.abs(y) < 5, axis=-1)
        panel.scatter(*mixture25_means().T, s=90, facecolors="none", edgecolors="0.8", lw=0.8)
        dots = panel.scatter(*y[inside].T, s=1.5, lw=0, c=energy[inside], vmin=1.5, vmax=9)
        if name != "independent":
            panel.scatter(*np.array(starts).T, s=22, marker="x", color="crimson", lw=1.2)
        away = "" if inside.all() else f", {np.mean(~inside):.0%} of draws outside"
        panel.set_title(f"{name}\n{numbers[..., 1].mean():.1f} of 25 modes{away}", fontsize=10)
        ticks = range(-4, 5, 2)
        panel.set(xlim=(-5, 5), ylim=(-5, 5), xticks=ticks, yticks=ticks, aspect="equal")
        if panel is panels[0]:
            figure.colorbar(dots, ax=panels, shrink=0.4, extend="max", label="-log p(y), nats")
    figure.suptitle("25 Gaussians (circles), HMC from each cross; bare ones stood still or fled")
    figure.savefig(out, dpi=110)


def main(
    out: Path = Path("runs/toy.png"),
    quick: bool = False,
    draws: int = 10_000,
    seeds: int = 4,
    starts: tuple[Point, ...] = ((0.0, 0.0), (2.0, 2.0), (4.0, 4.0)),
    step_size: float = 0.05,
    leapfrog_steps: int = 10,
    strength: float = 2.0,
) -> None:
    """Sample a mixture of 25 Gaussians by standard and expanded HMC; print and draw how they do.

    Args:
      out: where the picture goes.
      quick: two methods and few draws, to see that it works.
      draws: HMC iterations of each chain.
      seeds: chains from each start.
      starts: where chains begin, such as 0 0 2 2.
      step_size: of leapfrog, but for the control that has 0.34.
      leapfrog_steps: gradients in an iteration.
      strength: k of the ridge and exact readings.
    """
    check_count("draws", draws, at_least=1)
    check_count("seeds", seeds, at_least=1)
    check_count("number of starts", len(starts), at_least=1)
    check_number("strength", strength, above=0.0)
    if out.suffix != ".png":
        raise px.UserError(f"`out` must end in .png, got {str(out)!r}.")
    todo = methods(step_size, leapfrog_steps, strength)
    out.parent.mkdir(parents=True, exist_ok=True)
    if quick:
        todo, draws, seeds = [todo[0], todo[4]], 100, 2
    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    console.print(
        f"HMC on a mixture of 25 Gaussians: {len(starts)} starts x {seeds} seeds, {draws:,} draws "
        f"each, {leapfrog_steps} leapfrog steps of {step_size:g}."
    )
    results = [reference(seeds=seeds, draws=draws)]
    for method in track(todo, "sampling", console=console, disable=not console.is_terminal):
        console.print(f"  {method.name} ...")
        results.append(run(method, starts, seeds=seeds, draws=draws))
    console.print(table(results, starts))
    picture(results, starts, out)
    console.print(
        "\nA chain that mixes would score like the first row, independent draws. "
        "The others have to climb 16 nats between neighbouring modes: a factor bends the path, "
        f"but leaves the barrier.\nPicture: {out}. Why: docs/toy.md."
    )


if __name__ == "__main__":
    try:
        tyro.cli(main)
    except px.UserError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
