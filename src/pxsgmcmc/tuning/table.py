"""What a pilot found, in a few lines of text."""

import math
from collections.abc import Sequence

from pxsgmcmc.tuning.measure import Measurement
from pxsgmcmc.tuning.prediction import SAMPLERS
from pxsgmcmc.tuning.recommend import Recommendation

GREW = 2.0  # times: what is worth a sentence
UNCERTAIN = 0.1  # relative error above which a curvature is only a bound
LEGEND = (
    "Curvature: second derivative of the energy, in full-data units; its square root times the "
    "step size",
    "must stay below 2 for SGHMC. Gradient noise: variance of a mini-batch gradient, of a typical "
    "coordinate",
    "and along the stiffest direction. T: predicted temperature relative to the one asked for, 1 "
    "if nothing heats",
    "the chain; a/b are the groups in the order above. Steps to forget: autocorrelation time in "
    "steps.",
)


def pilot_table(
    measurement: Measurement, recommendations: Sequence[Recommendation], *, growth: float = 1.0
) -> str:
    """Measurements by group, then a line and its outlook for each sampler.

    Args:
      measurement: of an energy.
      recommendations: one a sampler.
      growth: of the largest curvature along the cautious steps before the measurement.
    """
    size = sum(terrain.size for terrain in measurement.terrain.values())
    lines = [
        f"Pilot: {size:,} coordinates, batches of {measurement.batch_size} of "
        f"{measurement.data_size:,} rows, curvature over {measurement.rows:,} rows",
        "",
        *_columns(_groups(measurement)),
        _together(measurement),
    ]
    if growth > GREW:
        lines.append(
            f"It was {growth:.2g} times as large along the first steps as at the start, and may "
            "grow on: watch the temperature."
        )
    if measurement.layers:
        layers = [(name, f"{value:.3g}") for name, value in measurement.layers.items()]
        lines += ["", *_columns([("layer", "largest curvature"), *layers])]
    lines += ["", *_columns(_samplers(recommendations)), ""]
    for one in recommendations:
        lines += [repr(one), f"  {one.larger_step}"]
    return "\n".join([*lines, "", *LEGEND])


def _together(measurement: Measurement) -> str:
    """The largest curvature of all groups, and how far it may be off."""
    found = f"largest curvature of all together {measurement.largest:.3g}"
    if measurement.error > UNCERTAIN:
        return f"{found}, a lower bound: its search had not come to an end"
    return f"{found}, to {max(0.1, 100 * measurement.error):.1g} %"


def _groups(measurement: Measurement) -> list[tuple[str, ...]]:
    head = ("group", "coordinates", "largest curvature", "softest", "gradient noise")
    rows: list[tuple[str, ...]] = [(*head, "along the stiffest", "gradient", "prior curvature")]
    for name, terrain in measurement.terrain.items():
        scales = measurement.scales[name]
        rows.append(
            (
                name,
                f"{terrain.size:,}",
                f"{terrain.stiffest:.3g}",
                f"{terrain.softest:.2g}" if terrain.softest > 0.0 else "-",
                f"{terrain.noise:.3g}",
                f"{terrain.stiffest_noise:.3g}",
                f"{scales.gradient:.2g}",
                "-" if scales.prior is None else f"{scales.prior:.3g}",
            )
        )
    return rows


def _samplers(recommendations: Sequence[Recommendation]) -> list[tuple[str, ...]]:
    head = ("sampler", "step size", "friction", "T kinetic", "T configurational", "T stiffest")
    rows: list[tuple[str, ...]] = [(*head, "stable to", "steps to forget, stiffest", "softest")]
    for one in recommendations:
        heat, times = one.prediction.temperatures, one.prediction.autocorrelation.values()
        rows.append(
            (
                SAMPLERS[one.sampler],
                f"{one.step_size:g}",
                "/".join(f"{g:g}" for g in one.friction.values()) or "-",
                "/".join(_number(t.kinetic, ".2f") for t in heat.values()),
                "/".join(_number(t.configurational, ".2f") for t in heat.values()),
                "/".join(_number(t.stiffest, ".2f") for t in heat.values()),
                f"{one.prediction.limit:.2g}",
                "/".join(_number(stiff, ",.0f") for stiff, _ in times),
                "/".join(_number(soft, ",.0f") for _, soft in times),
            )
        )
    return rows


def _number(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "-"


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    """The first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        ).rstrip()
        for row in rows
    ]
