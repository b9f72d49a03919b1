"""The command `pxsgmcmc pilot`: what step size and friction will do, before a chain is run."""

from typing import Annotated, Any

import tyro

from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.cli.saying import say
from pxsgmcmc.cli.startup_checks import check_devices, check_single_precision


def pilot_config(
    config: Annotated[str, tyro.conf.arg(metavar="CONFIG")],
    rows: int = 1000,
    batches: int = 16,
    per_layer: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    settle: int = 300,
    settings: Annotated[list[str], tyro.conf.Suppress] = [],  # noqa: B006 - never changed
) -> None:
    """Measure curvature and gradient noise, and say what step size and friction will do.

    pxsgmcmc pilot digits/px_sghmc
    pxsgmcmc pilot my.toml --chain.batch_size 200 --per-layer
    pxsgmcmc pilot my.toml --settle 2000

    Begins where chain 0 of the configuration starts. Curvature and noise are others where the chain
    will be: a cautious chain goes there first, and `chain.start` may name weights that are near.

    Args:
      config: a TOML file, or the name of a bundled configuration.
      rows: over which curvatures are taken at most.
      batches: gradients from which their noise is measured.
      per_layer: also print the largest curvature of each layer.
      settle: steps of that chain; 0 to measure at the start.
      settings: flags over the configuration.
    """
    chosen = load_config(config, settings)

    check_devices()
    check_single_precision()
    from pxsgmcmc.config.build import build
    from pxsgmcmc.config.validate import automatic_settings
    from pxsgmcmc.tuning.pilot import pilot
    from pxsgmcmc.tuning.prediction import SAMPLERS

    built = build(chosen)
    sampler = built.config.sampler
    peak = getattr(sampler.step_size, "peak", None)
    cycle_length = None
    if peak is not None:
        cycle_length = getattr(sampler.step_size, "period", None) or chosen.chain.cycle_length
    temperature = getattr(sampler, "temperature", 1.0) or 1.0  # an optimiser has none
    measured = pilot(
        built.potential,
        built.position(0),
        settle=settle,
        batch_size=chosen.chain.batch_size,
        temperature=temperature,
        cycle_length=cycle_length,
        rows=rows,
        batches=batches,
        per_layer=per_layer,
    )
    say(measured)
    name = str(sampler.__struct_config__.tag)
    if name in SAMPLERS and not automatic_settings(chosen):
        say()
        say(_as_configured(measured, name, sampler))


def _as_configured(measured: Any, name: str, sampler: Any) -> str:
    """A line on the configuration's own settings."""
    step_size = getattr(sampler.step_size, "peak", sampler.step_size)
    friction = getattr(sampler, "friction", None)
    if friction is not None and not isinstance(friction, int | float):
        friction = {"base": friction.base, "factors": friction.factors}
    return "as configured, " + measured.describe(name, step_size, friction)
