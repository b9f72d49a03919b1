"""What a run directory says of its estimator, so that it can predict elsewhere."""

import hashlib
from typing import Any

import msgspec
import numpy as np

from pxsgmcmc.config.data_description import DataDescription
from pxsgmcmc.data.standardise import Standardisation
from pxsgmcmc.sklearn.programs import EstimatorModel


def facts_of(model: EstimatorModel, data: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """What decides a fit besides its settings, for the manifest.

    Args:
      model: network and likelihood.
      data: inputs, targets and weights, as the program takes them.
      names: of the classes or targets.
    """
    digest = hashlib.sha256()
    for array in data:
        digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return {
        "data": "data",
        "rows": int(np.count_nonzero(data[2])),
        "data_sha256": digest.hexdigest(),
        "likelihood": model.likelihood.name,
        "task": model.likelihood.task,
        "model": model.network.name,
        "names": list(names[:1000]),
    }


def described(
    model: EstimatorModel,
    names: tuple[str, ...],
    feature_names: tuple[str, ...],
    inputs: Standardisation,
    targets: Standardisation | None,
) -> dict[str, Any]:
    """For the manifest, read by `config.estimator_problem`; empty for networks of the user's own.

    Args:
      model: network and likelihood.
      names: of the classes or targets.
      feature_names: of the columns, if they have any.
      inputs: scale of the inputs.
      targets: scale of the targets; None for classes.
    """
    kind, *rest = model.network.key if isinstance(model.network.key, tuple) else ("own",)
    if kind != "dense":
        return {}
    prepared = DataDescription(
        name="data",
        shape=(model.features,),
        dtype="float32",
        mean=inputs.mean,
        std=inputs.std,
        classes=() if targets else names,
        feature_names=feature_names,
        target_names=names if targets else (),
        targets=targets,
    )
    network: dict[str, Any] = {"widths": rest[0][1:-1]}
    if targets:
        noise: Any = model.likelihood
        network |= {"noise": noise.noise, "noise_floor": noise.noise_floor}
    return {"prepared": msgspec.to_builtins(prepared), "described": network}
