"""An environment of its own for `sklearn-contrib-bde`, which needs another BlackJAX than we do."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / ".bde-venv"
PINNED = ("sklearn-contrib-bde==1.0.2",)
# Its defaults are for a first try: 20 epochs and 10 draws. These are the settings of the two
# examples that its documentation begins with; network and number of members are as in the others.
PROGRAM = """
import os, sys
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import numpy as np
from bde import BdeClassifier, BdeRegressor
given = np.load(sys.argv[1])
x, y, new, seed = (given[name] for name in ("x", "y", "new", "seed"))
settings = dict(hidden_layers=[50], n_members=4, seed=int(seed), lr=1e-3, patience=10)
if given["classes"]:
    settings |= dict(epochs=1000, warmup_steps=400, n_samples=100, n_thinning=1)
    model = BdeClassifier(**settings).fit(x=x.astype("float32"), y=y.astype("int32"))
    np.savez(sys.argv[2], a=model.predict_proba(new.astype("float32")))
else:
    settings |= dict(epochs=200, warmup_steps=5000, n_samples=2000, n_thinning=2)
    centre, scale = y.mean(), y.std()
    model = BdeRegressor(**settings).fit(x=x, y=((y - centre) / scale).reshape(-1, 1))
    mean, std = model.predict(new, mean_and_std=True)
    np.savez(sys.argv[2], a=centre + scale * mean, b=scale * std)
"""


class NoBde(Exception):
    """It cannot be had; the message is one sentence."""


def predict_with_bde(
    x: np.ndarray, y: np.ndarray, new: np.ndarray, classes: bool, seed: int
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """Probabilities, or mean and standard deviation, for new rows."""
    python = _python()
    with tempfile.TemporaryDirectory() as folder:
        given, found = f"{folder}/given.npz", f"{folder}/found.npz"
        np.savez(given, x=x, y=y, new=new, classes=classes, seed=seed)
        _run([str(python), "-c", PROGRAM, given, found], "run sklearn-contrib-bde")
        with np.load(found) as read:
            if classes:
                return np.asarray(read["a"], np.float64)
            return np.ravel(read["a"]), np.ravel(read["b"])


def _python() -> Path:
    """The interpreter, whose environment is made if it is not there as pinned."""
    python, ready = FOLDER / "bin" / "python", FOLDER / "ready"
    if not (python.exists() and ready.exists() and ready.read_text() == "\n".join(PINNED)):
        _run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], f"make {FOLDER.name}")
        _run([str(python), "-m", "pip", "install", "--quiet", *PINNED], f"install {PINNED[0]}")
        ready.write_text("\n".join(PINNED))
    return python


def _run(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no reason was given"]
        raise NoBde(f"could not {what}: {said[-1]}")
