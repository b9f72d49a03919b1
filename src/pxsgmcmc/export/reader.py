"""Read a predictor that `pxsgmcmc export` wrote, with numpy, jax and flatbuffers alone."""

import hashlib
import io
import json
import zipfile

import jax
import numpy as np
from jax import export


class FrozenPredictor:
    """`FrozenPredictor("model.px")(x)`: a dictionary of named arrays, a row for each input."""

    def __init__(self, path):
        try:
            with zipfile.ZipFile(path) as file:
                parts = {name: file.read(name) for name in file.namelist()}
            self.manifest = json.loads(parts["manifest.json"])
            for name, digest in self.manifest["sha256"].items():
                if hashlib.sha256(parts[name]).hexdigest() != digest:
                    raise ValueError(f"{name} is not as it was written")
            draws = [io.BytesIO(parts[draw["file"]]) for draw in self.manifest["draws"]]
            self._draws = [jax.device_put(np.load(draw, allow_pickle=False)) for draw in draws]
            rows = self.manifest["input"]
            self._input = tuple(map(int, rows["shape"])), np.dtype(rows["dtype"])
            programs = [bytearray(parts[f"{name}.stablehlo"]) for name in ("draw", "average")]
            self._draw, self._average = (jax.jit(export.deserialize(p).call) for p in programs)
        except (FileNotFoundError, PermissionError, IsADirectoryError):
            raise
        except Exception as error:
            raise ValueError(f"{path} is damaged or no exported predictor: {error}") from error

    def __call__(self, x, batch_size=1024):
        """Predict inputs as the training data have them, (rows, ...), `batch_size` at a time."""
        x, (shape, dtype) = np.asarray(x), self._input
        if x.shape[1:] != shape or not len(x) or not np.can_cast(x.dtype, dtype, "same_kind"):
            raise ValueError(f"inputs must be rows of {dtype}{[*shape]}, got {x.dtype}{[*x.shape]}")
        parts = [self._rows(x[i : i + batch_size]) for i in range(0, len(x), batch_size)]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _rows(self, x):
        more = (1 << (len(x) - 1).bit_length()) - len(x)  # so that few sizes are compiled
        filled = np.concatenate([x, np.repeat(x[-1:], more, axis=0)]).astype(self._input[1])
        rows = jax.numpy.stack([self._draw(draw, filled) for draw in self._draws])
        return {k: np.asarray(v)[: len(x)] for k, v in self._average(rows).items()}
