"""How far apart two computations of the same numbers may come out, whatever the processor.

XLA chooses instructions, the order of a sum and what it fuses by the processor, the number of
threads and the shapes of a program. Each of `n` roundings moves a result by at most half an epsilon
of what is rounded, so two programs for one number with `n` roundings each, of terms that add up to
`scale` in absolute value, lie at most

    n * eps * scale

apart. `scale` is not the result: where large terms cancel the result is small and its error is not,
so a tolerance relative to the result means nothing near zero. Bits are compared only where the
project promises them: one program, one set of shapes, one kind of processor, one number of threads.
"""

from typing import Any

import numpy as np


def tolerance(terms: float, scale: Any, dtype: Any = np.float32) -> np.ndarray:
    """The largest distance that rounding explains, `terms * eps * scale`.

    Args:
      terms: Roundings on the way to one number: the length of its longest sum, plus one for each
        operation after it; for steps of a chain, as many as the steps have together.
      scale: Size of what is rounded: the sum of the absolute values of the terms, or a bound on it.
      dtype: In which the computation rounds, not in which its result is kept.

    Example:
      >>> print(tolerance(terms=8, scale=2.0) == 16 * 2.0**-23)
      True
    """
    return terms * float(np.finfo(dtype).eps) * np.asarray(scale, np.float64)


def assert_close(
    actual: Any, expected: Any, *, terms: float, scale: Any = None, dtype: Any = np.float32
) -> None:
    """Fail unless `actual` is `expected` up to what rounding explains.

    Args:
      actual: The numbers of one program.
      expected: Those of another, or exact ones.
      terms: As in `tolerance`.
      scale: As in `tolerance`; unless given, the largest absolute value of `expected`, which will
        do where an entry near zero is made of terms like those of the other entries.
      dtype: As in `tolerance`.

    Example:
      >>> assert_close(np.float32([1.0, 1e-8]), [1.0, 0.0], terms=1)
    """
    wide = np.asarray(expected, np.float64)
    if scale is None:
        scale = np.max(np.abs(wide), initial=0.0)
    # The absolute tolerance of NumPy's check is one number; this one may differ by entry.
    allowed = np.broadcast_to(tolerance(terms, scale, dtype), wide.shape)
    distance = np.abs(np.asarray(actual, np.float64) - wide)
    assert np.shape(actual) == wide.shape, f"shapes {np.shape(actual)} and {wide.shape}"
    wrong = ~(distance <= allowed)  # NaN is wrong too
    if np.any(wrong):
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise AssertionError(
            f"{np.sum(wrong)} of {wide.size} entries are further off than rounding explains; at "
            f"{place}: {np.asarray(actual)[place]!r} and {wide[place]!r} are "
            f"{distance[place]:.3g} apart, {allowed[place]:.3g} is allowed."
        )
