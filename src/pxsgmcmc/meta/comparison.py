"""The comparison with L2E as data: its methods, their configurations, and the published values.

Augmentation, T = 0.01: Table 3 of the paper and its table of L2E. At desk size the data are the
embedded digits; at the paper's, `paper_flags` turn each configuration into its run on CIFAR-10.
"""

from typing import NamedTuple

DATA_SETS = ("CIFAR-10", "CIFAR-100", "TinyImageNet")


class Published(NamedTuple):
    """Mean and spread over seeds of a published result on each of `DATA_SETS`."""

    error: tuple[tuple[float, float], ...]
    nll: tuple[tuple[float, float], ...]


class Method(NamedTuple):
    """A row of the comparison."""

    label: str
    config: str  # the name of a bundled configuration, desk size
    published: Published | None  # None for what nobody has tried


def _published(*values: float) -> Published:
    """From six values and six spreads, error before negative log-likelihood."""
    pairs = tuple(zip(values[::2], values[1::2], strict=True))
    return Published(pairs[:3], pairs[3:])


METHODS = (
    Method(
        "SGLD",
        "digits_cold/sgld",
        _published(
            0.080, 0.002, 0.326, 0.006, 0.546, 0.004, 0.246, 0.004, 1.180, 0.018, 2.278, 0.010
        ),
    ),
    Method(
        "pSGLD",
        "digits_cold/psgld",
        _published(
            0.097, 0.002, 0.412, 0.007, 0.601, 0.005, 0.306, 0.004, 1.546, 0.035, 2.562, 0.015
        ),
    ),
    Method(
        "SGHMC",
        "digits_cold/sghmc",
        _published(
            0.071, 0.001, 0.319, 0.002, 0.538, 0.003, 0.223, 0.002, 1.138, 0.008, 2.251, 0.022
        ),
    ),
    Method(
        "SGNHT",
        "digits_cold/sgnht",
        _published(
            0.074, 0.001, 0.335, 0.004, 0.536, 0.002, 0.231, 0.006, 1.199, 0.014, 2.240, 0.013
        ),
    ),
    Method(
        "PX-SGHMC",
        "digits_cold/px_sghmc",
        _published(
            0.069, 0.001, 0.290, 0.004, 0.498, 0.004, 0.217, 0.005, 1.030, 0.011, 2.089, 0.008
        ),
    ),
    Method(
        "L2E",
        "digits_cold/l2e",
        _published(
            0.071, 0.001, 0.268, 0.002, 0.488, 0.002, 0.232, 0.002, 0.980, 0.006, 2.062, 0.011
        ),
    ),
    Method("PX-L2E", "digits_cold/px_l2e", None),
)

# Peak of the step size and prior variance of the published runs; SGNHT's as SGHMC's.
_PAPER = {
    "SGLD": (1e-5, 0.2),
    "pSGLD": (3e-4, 0.2),
    "SGHMC": (3e-4, 0.05),
    "SGNHT": (3e-4, 0.05),
    "PX-SGHMC": (1e-4, 0.02),
}
_FRICTION = {"SGHMC": "100.0", "SGNHT": "100.0", "PX-SGHMC": "{ base = 100.0, factors = 1.0 }"}
_ROWS = 40_960  # that CIFAR-10 is trained on


def paper_flags(method: Method) -> list[str]:
    """Settings over a method's configuration that make it the paper's run on CIFAR-10.

    100 draws of 5,000 steps. L2E takes a constant step of sqrt(2 / rows) and a prior of variance
    1 / (5e-4 rows), as published; `--sampler.weights` must name the published weights.

    Example:
      >>> paper_flags(METHODS[2])[-2:]
      ['--sampler.friction', '100.0']
    """
    flags = ["--data.name", "cifar10", "--data.pad", "4", "--data.flip", "true"]
    flags += ["--model.depth", "20", "--model.width", "16", "--chain.draws", "100"]
    flags += ["--chain.cycle_length", "5000", "--chain.burn_in", "0", "--chain.batch_size", "256"]
    if method.label not in _PAPER:
        flags += ["--sampler.step_size", f"{(2 / _ROWS) ** 0.5:.6g}"]
        return [*flags, "--prior.variance", f"{1 / (5e-4 * _ROWS):.6g}"]
    peak, variance = _PAPER[method.label]
    flags += ["--sampler.step_size.peak", str(peak), "--prior.variance", str(variance)]
    if method.label in _FRICTION:
        flags += ["--sampler.friction", _FRICTION[method.label]]
    return flags
