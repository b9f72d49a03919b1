"""Checks on settings that are each allowed and do not go together."""

from pxsgmcmc.config.sampler_sections import (
    AUTO,
    GGMC,
    HMC,
    L2E,
    SGHMC,
    SGLD,
    SGNHT,
    CyclicalSettings,
)
from pxsgmcmc.config.schema import Config
from pxsgmcmc.errors import UserError


def check_settings_agree(config: Config) -> Config:
    """Return `config` if its settings go together, else raise `UserError`."""
    chain, expansion = config.chain, config.expansion
    _check_problem(config)
    thinning = chain.thinning if chain.thinning is not None else 1
    if (chain.draws_per_cycle - 1) * thinning >= chain.cycle_length:
        raise UserError(
            f"`chain.draws_per_cycle` draws, `chain.thinning` {thinning} apart, must fit into "
            f"a cycle of `chain.cycle_length` = {chain.cycle_length}, got {chain.draws_per_cycle}."
        )
    _check_period(config)
    _check_automatic(config)
    if chain.devices % chain.processes:
        raise UserError(
            f"`chain.devices` must be a multiple of `chain.processes` = {chain.processes}, so that "
            f"each has as many, got {chain.devices}."
        )
    if chain.processes > 1 and config.chains > 1:
        raise UserError(
            f"`chains` must be 1 for a chain of several `chain.processes`, got {config.chains}: "
            "start each as a run of its own."
        )
    if not (expansion.out or expansion.into):
        for setting, is_set in (
            ("rank", expansion.rank is not None),
            ("inner", expansion.inner > 1.0),
            ("frozen", expansion.frozen),
        ):
            if is_set:
                raise UserError(
                    f"`expansion.{setting}` needs factors: set `expansion.out` or `expansion.into`."
                )
    if expansion.frozen and isinstance(config.sampler, HMC | GGMC | L2E):
        raise UserError(
            "`expansion.frozen` needs a sampler with `noise` or none at all, got "
            f"`sampler.name` = {config.sampler.__struct_config__.tag!r}."
        )
    return config


def _check_period(config: Config) -> None:
    """Draws lie where a cycle of the chain ends, and there a cycle of the schedule must end too."""
    step_size, length = config.sampler.step_size, config.chain.cycle_length
    period = step_size.period if isinstance(step_size, CyclicalSettings) else None
    if period is not None and length % period:
        raise UserError(
            f"`sampler.step_size.period` must divide `chain.cycle_length` = {length}, so that "
            f"draws lie where cycles of the schedule end, got {period}."
        )


def _check_automatic(config: Config) -> None:
    """What can be measured is the law of a chain at a temperature that moves everything."""
    names, sampler = automatic_settings(config), config.sampler
    if not names:
        return
    tag = str(sampler.__struct_config__.tag)
    if not isinstance(sampler, SGLD | SGHMC | SGNHT):
        raise UserError(
            f'`{names[0]}` can be "auto" for sgld, sghmc and sgnht, whose laws are known, got '
            f"`sampler.name` = {tag!r}."
        )
    if not sampler.temperature:
        raise UserError(
            f'`{names[0]}` can be "auto" at a `sampler.temperature` above 0, got 0: an optimiser '
            "has no temperature to get right."
        )
    if config.expansion.frozen or sampler.noise != 1.0:
        setting = "expansion.frozen" if config.expansion.frozen else "sampler.noise"
        raise UserError(f'`{names[0]}` cannot be "auto" together with `{setting}`: leave one out.')


def automatic_settings(config: Config) -> list[str]:
    """Names of the settings that are to be measured.

    Example:
      >>> from pxsgmcmc.config.schema import ChainSettings
      >>> chain = ChainSettings(draws=1, cycle_length=1, batch_size=1)
      >>> automatic_settings(Config(sampler=SGHMC(step_size="auto", friction=1.0), chain=chain))
      ['sampler.step_size']
    """
    step_size, friction = config.sampler.step_size, getattr(config.sampler, "friction", None)
    names = ["sampler.step_size"] * (step_size == AUTO)
    names += ["sampler.step_size.peak"] * (
        isinstance(step_size, CyclicalSettings) and step_size.peak == AUTO
    )
    return names + ["sampler.friction"] * (friction == AUTO)


def _check_problem(config: Config) -> None:
    """One way to say what is sampled, and only one."""
    if config.problem is not None:
        for section in ("data", "model", "likelihood"):
            if getattr(config, section) is not None:
                raise UserError(
                    f"`problem` = {config.problem!r} takes the place of [{section}]: leave one out."
                )
        return
    if config.data is None:
        raise UserError("[data] is missing: name a set, files of your own, or a `problem`.")
    if config.model is None:
        raise UserError('[model] is missing: name a network, such as `name = "mlp"`.')
    if (config.data.name is None) == (config.data.train is None):
        raise UserError(
            "[data] must have either `name`, one of `pxsgmcmc data list`, or `train`, your own "
            "files; it has " + ("both." if config.data.name is not None else "neither.")
        )
