"""Networks by name. They are written in Flax NNX, which is imported when one is first built."""

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from pxsgmcmc.errors import UserError
from pxsgmcmc.models.model import Model

_FILE_OF = {"resnet_frn": "resnet", "mlp": "mlp", "cnn": "cnn", "vit": "vit"}

NAMES = tuple(_FILE_OF)

__all__ = ["NAMES", "Model", "build", "settings_of"]


def build(name: str, **settings: Any) -> Model:
    """The network called `name`.

    Args:
      name: one of `NAMES`.
      **settings: as the function of that name takes them; what is not given has its default.

    Example:
      >>> build("resnet_frn", depth=8, width=4, classes=10).logits_layer
      'head'
    """
    known = settings_of(name)
    for setting in settings:
        if setting not in known:
            raise UserError(
                f"The model {name!r} has no setting {setting!r}; known: {', '.join(known)}."
            )
    return _builder(name)(**settings)


def settings_of(name: str) -> dict[str, Any]:
    """The settings of the network called `name`, with their defaults.

    Example:
      >>> settings_of("resnet_frn")
      {'depth': 20, 'width': 16, 'classes': 10, 'head_init': 'lecun'}
    """
    parameters = inspect.signature(_builder(name)).parameters
    return {setting: parameter.default for setting, parameter in parameters.items()}


def _builder(name: str) -> Callable[..., Model]:
    if name not in _FILE_OF:
        raise UserError(f"There is no model {name!r}; known: {', '.join(NAMES)}.")
    try:
        return getattr(importlib.import_module(f"pxsgmcmc.models.{_FILE_OF[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "flax":
            raise
        raise UserError(
            f"The model {name!r} needs Flax, which is not installed; "
            "run `pip install 'pxsgmcmc[flax]'`."
        ) from None
