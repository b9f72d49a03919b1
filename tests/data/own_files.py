"""A user's own files, and the short way to load them."""

from pathlib import Path

import numpy as np

from pxsgmcmc.data.load_files import load_files

ROWS = 60


def write_files(folder: Path) -> Path:
    """Arrays X.npy, y.npy (three classes), t.npy (real), and the same as tables."""
    rng = np.random.default_rng(0)
    x = rng.normal(5.0, 2.0, (ROWS, 3))
    y = np.arange(ROWS) % 3
    t = x @ [1.0, -2.0, 0.5] + 10
    np.save(folder / "X.npy", x)
    np.save(folder / "y.npy", y)
    np.save(folder / "t.npy", t)
    np.save(folder / "noise.npy", rng.normal(size=(7, 3)))
    np.savez(folder / "all.npz", X=x, labels=y)
    kinds = np.array(["cat", "ape", "dog"])[y]
    lines = ["a,b,c,price,kind"]
    lines += [
        ",".join([*map(repr, row.tolist()), repr(float(v)), k])
        for row, v, k in zip(x, t, kinds, strict=True)
    ]
    (folder / "table.csv").write_text("\n".join(lines))
    return folder


def load(folder, train=None, **spec):
    options = {name: spec.pop(name) for name in ("seed",) if name in spec}
    files = {"train": train or {"x": "X.npy", "y": "y.npy"}, **spec}
    return load_files(files, base=folder, **options)
