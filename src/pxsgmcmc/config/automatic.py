"""Numbers in place of "auto": measured once, when a run begins, and taken over when it goes on."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pxsgmcmc.config.schema import Config
from pxsgmcmc.config.validate import automatic_settings

if TYPE_CHECKING:
    from pxsgmcmc.config.build import Built


def with_measured(built: "Built") -> "Built":
    """The parts with measured settings in place of "auto"; as they are if there are none."""
    if not automatic_settings(built.config):
        return built
    from pxsgmcmc.config.build import with_settings
    from pxsgmcmc.tuning.automatic import measured_config  # a room above, see DOORS

    return with_settings(built, measured_config(built))


def measure_config(config: Config) -> Config:
    """A configuration with measured settings in place of "auto"; as it is if there are none."""
    if not automatic_settings(config):
        return config  # without JAX, which the processes of the chains import themselves
    from pxsgmcmc.config.build import build

    return with_measured(build(config)).config


def taken_over(config: Config, begun: Config) -> Config:
    """A configuration with what the run that has begun measured in place of "auto".

    Args:
      config: as it is asked for now.
      begun: as the run keeps it, in which nothing is left to be measured.
    """
    names = automatic_settings(config)
    if not names or begun.measured is None or not set(names) <= set(begun.measured.settings):
        return config
    changes = {}
    for setting in names:
        _, field, *inner = setting.split(".")
        value = getattr(begun.sampler, field, None)
        if inner:
            value = replace(getattr(config.sampler, field), peak=getattr(value, "peak", None))
        changes[field] = value
    return replace(config, sampler=replace(config.sampler, **changes), measured=begun.measured)
