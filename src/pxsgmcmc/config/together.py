"""Checks on settings that are each allowed and do not go together."""

from pxsgmcmc.config.schema import GGMC, HMC, Config
from pxsgmcmc.errors import UserError


def check_together(config: Config) -> Config:
    """Return `config` if its settings go together, else raise `UserError`."""
    chain, expansion = config.chain, config.expansion
    every = chain.every if chain.every is not None else 1
    if (chain.draws_per_cycle - 1) * every >= chain.steps:
        raise UserError(
            f"`chain.draws_per_cycle` draws, `chain.every` {every} steps, must fit into a cycle of "
            f"`chain.steps` = {chain.steps}, got {chain.draws_per_cycle}."
        )
    if not (expansion.out or expansion.into):
        for setting, asked in (("rank", expansion.rank is not None), ("frozen", expansion.frozen)):
            if asked:
                raise UserError(
                    f"`expansion.{setting}` needs factors: set `expansion.out` or `expansion.into`."
                )
    if expansion.frozen and isinstance(config.sampler, HMC | GGMC):
        raise UserError(
            "`expansion.frozen` needs a sampler with `noise` or none at all, got "
            f"`sampler.name` = {config.sampler.__struct_config__.tag!r}."
        )
    return config
