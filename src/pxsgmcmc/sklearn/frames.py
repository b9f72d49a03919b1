"""Predictions as data frames, where `set_output` asked for them."""

from collections.abc import Sequence
from typing import Any, Self

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


class FrameOutput:
    """`set_output` for an estimator's predictions of several columns."""

    def set_output(self, *, transform: str | None = None) -> Self:
        """Give predictions of several columns as "pandas" or "polars" frames; "default" as arrays.

        Args:
          transform: the kind; None leaves it as it is. The name is scikit-learn's.
        """
        if transform is not None:
            if transform not in KINDS:
                raise UserError(
                    f"`transform` must be one of {', '.join(KINDS)}, got {transform!r}."
                )
            self._sklearn_output_config = {"transform": transform}
        return self

    @property
    def _frames(self) -> str:
        return getattr(self, "_sklearn_output_config", {}).get("transform", "default")
