"""The problem of a run that a scikit-learn estimator made, from what its manifest says.

Networks given by hidden widths are described there, with the scales of inputs and targets; the
training rows are not, so such a problem can predict and nothing else.
"""

from functools import partial
from typing import Any

import msgspec
import numpy as np

from pxsgmcmc import likelihoods
from pxsgmcmc.config.data_description import read_description
from pxsgmcmc.config.problem import init_of, scaled
from pxsgmcmc.config.section import AtLeast0, Positive
from pxsgmcmc.errors import CorruptRun
from pxsgmcmc.models import build as build_model
from pxsgmcmc.problem import Problem


class Described(msgspec.Struct, frozen=True):
    """What a manifest says of an estimator's network and likelihood."""

    widths: tuple[Positive, ...]
    noise: float | str | None = None  # None for classes
    noise_floor: AtLeast0 = 0.0


def problem_of_estimator(origin: dict[str, Any], place: Any) -> Problem | None:
    """The problem, without its rows; None if the network was the user's own, or none is described.

    Args:
      origin: of the manifest.
      place: the run directory, for messages.
    """
    prepared = read_description(origin, place)
    if prepared is None or origin.get("described") is None:
        return None
    try:
        described = msgspec.convert(origin["described"], Described)
    except msgspec.ValidationError as error:
        raise CorruptRun(f"`{place}` does not say what its network was: {error}.") from None
    dataset = prepared.dataset()
    names = dataset.classes or dataset.target_names
    likelihood: Any = likelihoods.categorical()
    if described.noise is not None:
        units = None
        if dataset.targets is not None:
            units = (dataset.targets.mean, dataset.targets.std)
        noise: Any = described.noise
        likelihood = likelihoods.gaussian(noise, units=units, noise_floor=described.noise_floor)
    model = build_model("mlp", widths=described.widths, classes=likelihood.outputs(len(names)))
    x, y = dataset.splits["train"]
    return Problem(
        model.apply,
        likelihood,
        train=(np.asarray(x), y),
        names=names,
        transform=partial(scaled, dataset.mean, dataset.std, False),
        init=init_of(model, x),
        name=dataset.name,
        model=str(origin.get("model", "mlp")),
    )
