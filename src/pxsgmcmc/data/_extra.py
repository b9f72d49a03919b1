"""Packages of the extra `data`, imported only where they are used."""

import importlib
from typing import Any

from pxsgmcmc.errors import UserError


def need(module: str, purpose: str) -> Any:
    """Import `module`, or say in one sentence which extra brings it.

    Example:
      >>> need("scipy.ndimage", "`gaussian_blur`").__name__
      'scipy.ndimage'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        package = module.partition(".")[0]
        raise UserError(
            f"{purpose} needs the extra `data` ({package} is not installed): "
            "pip install 'pxsgmcmc[data]'."
        ) from missing
