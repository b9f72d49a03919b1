"""Read a predictor that `pxsgmcmc export` wrote, with numpy, jax and flatbuffers alone."""

import hashlib
import io
import json
import os
import stat
import zipfile

import jax
import numpy as np
from jax import export


class FrozenPredictor:
    """`FrozenPredictor("model.px")(x)`: a dictionary of named arrays, a row for each input."""

    def __init__(self, path):
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
            raise ValueError(f"{path} is no regular file")
        try:
            with zipfile.ZipFile(path) as file:
                parts = {name: file.read(name) for name in file.namelist()}
            manifest = self.manifest = json.loads(parts["manifest.json"])
            for name, digest in manifest["sha256"].items():
                if hashlib.sha256(parts[name]).hexdigest() != digest:
                    raise ValueError(f"{name} is not as it was written")
            self._draws = [jax.numpy.load(io.BytesIO(parts[d["file"]])) for d in manifest["draws"]]
            self._row = jax.ShapeDtypeStruct(**manifest["input"])
            programs = [bytearray(parts[f"{name}.stablehlo"]) for name in ("draw", "average")]
            self._draw, self._average = (jax.jit(export.deserialize(p).call) for p in programs)
            jax.jit(self._named).lower(np.zeros((1, *self._row.shape), self._row.dtype))
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(f"{path} cannot be read as an exported predictor: {reason}") from error

    def __call__(self, x, batch_size=1024):
        """Predict inputs as the training data have them, (rows, ...), `batch_size` at a time."""
        x, shape, dtype = np.asarray(x), self._row.shape, self._row.dtype
        if x.shape[1:] != shape or not len(x) or not np.can_cast(x.dtype, dtype, "same_kind"):
            raise ValueError(f"inputs must be rows of {dtype}{[*shape]}, got {x.dtype}{[*x.shape]}")
        parts = [self._rows(x[i : i + batch_size]) for i in range(0, len(x), batch_size)]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _rows(self, x):
        """With rows repeated up to a power of two, so that few sizes are compiled."""
        rows = np.resize(x, (1 << (len(x) - 1).bit_length(), *x.shape[1:])).astype(self._row.dtype)
        return {k: np.asarray(v)[: len(x)] for k, v in self._named(rows).items()}

    def _named(self, x):
        return self._average(jax.numpy.stack([self._draw(draw, x) for draw in self._draws]))
