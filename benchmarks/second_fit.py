"""CPU seconds of a second fit of an estimator beyond its steps, on 500 rows of 20 features.

    python benchmarks/second_fit.py

The first fit of each estimator compiles. The time of every call of a compiled program is taken, of
steps and of the gradients with which settings are found apart; the rest of `fit` is what is left.
"""

import argparse
import os
import time
import warnings
from typing import Any

import jax
import numpy as np

from pxsgmcmc.sklearn import PXClassifier, PXRegressor
from pxsgmcmc.tuning.engine.stepper import Stepper


class Clock:
    """CPU seconds inside the program: of its steps, and of gradients, which the program makes too.

    Attributes:
      inside: CPU seconds of all calls.
      gradients: of those that were gradients.
    """

    def __init__(self) -> None:
        self.inside = self.gradients = 0.0
        self._call, self._gradients = Stepper.call, Stepper.gradients

    def __enter__(self) -> "Clock":
        """Listen."""

        def call(stepper: Stepper, *given: Any, **named: Any) -> Any:
            began = time.process_time()
            found = jax.block_until_ready(self._call(stepper, *given, **named))
            self.inside += time.process_time() - began
            return found

        def gradients(stepper: Stepper, *given: Any, **named: Any) -> Any:
            before = self.inside
            found = self._gradients(stepper, *given, **named)
            self.gradients += self.inside - before
            return found

        Stepper.call, Stepper.gradients = call, gradients  # pyright: ignore
        return self

    def __exit__(self, *_: object) -> None:
        """Leave things as they were."""
        Stepper.call, Stepper.gradients = self._call, self._gradients


def second_fit(kind: Any, x: np.ndarray, y: np.ndarray, seed: int) -> str:
    """A line on one fit."""
    with Clock() as clock:
        began = time.process_time()
        fitted = kind(random_state=seed, max_seconds=36_000.0).fit(x, y)
        whole = time.process_time() - began
    steps, rest = clock.inside - clock.gradients, whole - clock.inside
    return (
        f"{kind.__name__}, seed {seed}: {whole:.2f} s, {steps:.2f} of it for "
        f"{fitted.run_.steps[0, -1]:,} steps and those that find settings, {clock.gradients:.2f} "
        f"for gradients, {rest:.2f} beyond both"
    )


def main() -> None:
    """Fit each estimator four times; the first compiles."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=3, help="after the first")
    fits = parser.parse_args().fits
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 20))
    signal = x[:, 0] + 0.3 * rng.normal(size=500)
    for kind, y in ((PXClassifier, signal > 0.0), (PXRegressor, signal)):
        kind(random_state=100, max_seconds=36_000.0).fit(x, y)
        for seed in range(fits):
            print(second_fit(kind, x, y, seed), flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
