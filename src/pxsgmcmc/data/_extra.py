"""Packages of the extra `data`, imported only where they are used."""

import importlib
import importlib.util
from pathlib import Path
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
        raise _missing(module.partition(".")[0], purpose) from missing


def package_folder(package: str, purpose: str) -> Path:
    """Where the files of `package` lie, without importing it, or the sentence of `need`.

    Example:
      >>> package_folder("scipy", "`gaussian_blur`").name
      'scipy'
    """
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise _missing(package, purpose)
    return Path(spec.origin).parent


def _missing(package: str, purpose: str) -> UserError:
    return UserError(
        f"{purpose} needs the extra `data` ({package} is not installed): "
        "pip install 'pxsgmcmc[data]'."
    )
