"""Figures of a meta-training: how the loss fell, and what the network has become."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from pxsgmcmc.meta.held_out import mean_over_tasks
from pxsgmcmc.report.drawing import Drawing, DrawnCurve, draw, finished, panel, scale, tick
from pxsgmcmc.report.svg import INK, SERIES

# The network's inputs in units of their root mean square: gradient, position, momentum, averages.
_REACH = np.linspace(-3.0, 3.0, 61)


def meta_figures(
    log: Sequence[Mapping[str, Any]], weights: Mapping[str, Mapping[str, np.ndarray]]
) -> Iterator[Drawing]:
    """All figures, from the lines of the log and the weights of the network."""
    yield _training(log)
    yield _held_out(log)
    for output, name in enumerate(("alpha", "beta")):
        for steady in (True, False):
            yield _output(weights, output, name, steady)


def step_losses(log: Sequence[Mapping[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """Outer steps with a finite pair, and the mean loss of each."""
    lines = [line for line in log if "plus" in line]
    both = [np.array([*line["plus"], *line["minus"]], float) for line in lines]
    kept = [(line["step"], own[np.isfinite(own)]) for line, own in zip(lines, both, strict=True)]
    kept = [(step, own.mean()) for step, own in kept if own.size]
    return np.array([s for s, _ in kept]), np.array([loss for _, loss in kept])


def _training(log: Sequence[Mapping[str, Any]]) -> Drawing:
    axes = panel("outer step", "meta-loss on the tasks of a step")
    steps, losses = step_losses(log)
    draw(axes, DrawnCurve(steps.tolist(), losses.tolist()), SERIES[0], linewidth=0.5, alpha=0.4)
    window = max(1, len(losses) // 20)
    smooth = np.convolve(losses, np.ones(window) / window, mode="valid") if len(losses) else losses
    draw(axes, DrawnCurve(steps[window - 1 :].tolist(), smooth.tolist()), SERIES[0], linewidth=1.7)
    scale(axes, "y")
    scale(axes, "x", whole=True)
    ends = f"From {losses[0]:.3f} to {smooth[-1]:.3f}." if len(losses) else "No steps."
    return finished(
        axes,
        "training",
        "While it learned",
        f"Loss of the averaged predictions, each step on other tasks; in bold over {window} steps.",
        ends,
    )


def _held_out(log: Sequence[Mapping[str, Any]]) -> Drawing:
    axes = panel("outer step", "meta-loss on held-out tasks")
    looks = [line for line in log if "held_out" in line]
    steps = [line["step"] for line in looks]
    means = [mean_over_tasks(line["held_out"]) for line in looks]
    for label in looks[0]["held_out"]:
        own = [mean_over_tasks({label: line["held_out"][label]}).value for line in looks]
        draw(axes, DrawnCurve(steps, own), SERIES[1], linewidth=0.6, alpha=0.5)
    draw(axes, DrawnCurve(steps, [mean.value for mean in means]), SERIES[1], linewidth=1.7)
    scale(axes, "y")
    scale(axes, "x", whole=True)
    return finished(
        axes,
        "held-out",
        "On tasks it was not trained on",
        "Each thin line is a task, the bold one their mean: networks of other widths and depths, "
        "some of them on other data.",
        f"From {means[0].value:.3f} to {means[-1].value:.3f}.",
    )


def outputs_over(
    weights: Mapping[str, Mapping[str, np.ndarray]], *, steady: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Both outputs, (61, 61) each, over momentum (columns) and gradient (rows) from -3 to 3.

    Args:
      weights: of the network.
      steady: whether the averages of the gradient equal it, or are zero.
    """
    r, g = np.meshgrid(_REACH, _REACH)
    nothing = np.zeros_like(g)
    inputs = [g, nothing, r, *[g if steady else nothing] * 6]
    x = np.stack(inputs, axis=-1)
    for number in range(3):
        layer = weights[f"linear_{number}"]
        x = x @ layer["w"] + layer["b"]
        x = np.maximum(x, 0.0) if number < 2 else 1e-3 * x
    return x[..., 0], x[..., 1]


def _output(
    weights: Mapping[str, Mapping[str, np.ndarray]], output: int, name: str, steady: bool
) -> Drawing:
    values = outputs_over(weights, steady=steady)[output]
    axes = panel("momentum", "gradient", square=True)
    levels = MaxNLocator(8, steps=[1, 2, 5, 10]).tick_values(values.min(), values.max())
    shades = [(INK, 0.02 + 0.6 * i / len(levels)) for i in range(len(levels) - 1)]
    axes.contourf(_REACH, _REACH, values, levels=levels, colors=shades, antialiased=False)
    lines = axes.contour(
        _REACH, _REACH, values, levels=levels[1:-1], colors=[INK], linewidths=0.4, alpha=0.6
    )
    axes.clabel(lines, fmt=lambda v: tick(v), fontsize=7.0, colors=[INK])
    axes.set_aspect("equal", adjustable="box", anchor="W")
    axes.grid(visible=False)
    for which in "xy":
        scale(axes, which)
    kind = "lasts" if steady else "is new"
    about = {
        "beta": "the direction in which the position moves",
        "alpha": "what is taken off the momentum beside the gradient",
    }[name]
    return finished(
        axes,
        f"{name}-{'steady' if steady else 'new'}",
        f"{name} where the gradient {kind}",
        f"{name}, {about}, over momentum and gradient in units of their size, with all averages of "
        f"the gradient {'equal to it' if steady else 'at zero'} and the weight at zero.",
        f"From {values.min():.3g} to {values.max():.3g}.",
    )
