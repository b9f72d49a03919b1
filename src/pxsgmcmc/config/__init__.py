"""Configurations: TOML in, checked frozen structs out."""

from pxsgmcmc.config.schema import Config
from pxsgmcmc.config.toml import parse_config, read_config, started_from_python, write_config

__all__ = ["Config", "parse_config", "read_config", "started_from_python", "write_config"]
