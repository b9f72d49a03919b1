"""How exactly an accelerator computes: the precision of products, and the same bits every time."""

from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import jax

MatmulPrecision = Literal["auto", "float32", "tensorfloat32", "bfloat16"]
DETERMINISTIC = "--xla_gpu_deterministic_ops"


def matmul_precision(wanted: MatmulPrecision, platform: str) -> AbstractContextManager[None]:
    """What is traced inside multiplies matrices, and convolves, in that precision.

    "auto" follows a setting of JAX that the user has made; without one it takes float32, which
    accelerators would round to 8 or 11 bits otherwise. A CPU does it in float32 in any case.

    Example:
      >>> with matmul_precision("auto", "gpu"):
      ...     jax.config.jax_default_matmul_precision
      'float32'
    """
    chosen = jax.config.jax_default_matmul_precision  # pyright: ignore[reportAttributeAccessIssue]
    if wanted != "auto":
        return jax.default_matmul_precision(wanted)
    if chosen is not None or platform == "cpu":
        return nullcontext()
    return jax.default_matmul_precision("float32")


def repeatability_note(platform: str, flags: str) -> str | None:
    """A sentence if steps may differ in their last bits from one time to the next.

    Args:
      platform: of the devices.
      flags: of XLA.

    Example:
      >>> repeatability_note("gpu", "--xla_gpu_deterministic_ops=true") is None
      True
    """
    if platform not in ("gpu", "cuda", "rocm"):
        return None
    settings = [flag.partition("=") for flag in flags.split()]
    values = [value.lower() for name, _, value in settings if name == DETERMINISTIC]
    if values and values[-1] not in ("false", "0"):  # the last one counts
        return None
    return (
        f"XLA_FLAGS has no {DETERMINISTIC}=true: a GPU then adds up in any order, so a resumed run "
        "is the same chain but not the same bits."
    )
