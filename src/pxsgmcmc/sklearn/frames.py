"""Predictions as data frames, where `set_output` asked for them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pxsgmcmc.errors import UserError

KINDS = ("default", "pandas", "polars")


def as_frame(values: np.ndarray, columns: Sequence[str], like: Any, kind: str) -> Any:
    """(rows, columns) as an array, or as a data frame with the index of the inputs `like`."""
    if kind == "default":
        return values
    if kind == "pandas":
        import pandas as pd  # pyright: ignore[reportMissingImports]

        return pd.DataFrame(values, columns=list(columns), index=getattr(like, "index", None))
    import polars as pl  # pyright: ignore[reportMissingImports]

    return pl.DataFrame(values, schema=list(columns), orient="row")


def check_kind(kind: Any) -> str:
    """Return `kind` if predictions can be given so."""
    if kind not in KINDS:
        raise UserError(f"`transform` must be one of {', '.join(KINDS)}, got {kind!r}.")
    return kind
