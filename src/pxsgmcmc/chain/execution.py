"""How steps are run and how often the chain is looked at."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from pxsgmcmc.chain.callbacks import Callback, check_callbacks
from pxsgmcmc.chain.executors import Executor
from pxsgmcmc.chain.precision import MatmulPrecision
from pxsgmcmc.errors import UserError, check_number


class Execution(NamedTuple):
    """How steps are run and how often the chain is looked at; none of it changes the law of a draw.

    Attributes:
      executor: "loop" (a step a call), "scan" (a loop on the device), "vmap" (the same for several
        chains side by side, whose last bits depend on their number), or "auto" for the fastest.
      chunk_seconds: seconds of work that the device is given ahead, in two chunks: the host looks
        at one while the device does the other. A signal stops the chain after them.
      checkpoint_seconds: seconds between saved states; after a crash at most this much work is
        repeated.
      on_divergence: "stop", or "retry" from the last saved state with half the step size.
      retries: how often.
      keep_data: on the "device", or on the "host" when they do not fit there.
      devices: of this process that one chain uses, its batches split among them; the batch size
        must be a multiple of it. Bits are the same for the same number of devices.
      matmul_precision: of matrix products and convolutions on an accelerator: "float32",
        "tensorfloat32" (11 bits, several times faster on a GPU that has it) or "bfloat16" (8 bits);
        "auto" is JAX's own setting if there is one, else float32. It is part of the chain.
      on_signal: "raise" after saving, or "return" what there is.
      callbacks: functions of a `px.Event`, told every chunk and every draw; what they raise is said
        once and never stops the chain.
      accept_changes: go on with a run although what decides its draws is not as it began; that is
        written into its manifest.
    """

    executor: Executor | Literal["auto"] = "auto"
    chunk_seconds: float = 1.0
    checkpoint_seconds: float = 10.0
    on_divergence: Literal["stop", "retry"] = "stop"
    retries: int = 3
    keep_data: Literal["auto", "device", "host"] = "auto"
    on_signal: Literal["raise", "return"] = "raise"
    accept_changes: bool = False
    callbacks: Sequence[Callback] = ()
    devices: int = 1
    matmul_precision: MatmulPrecision = "auto"

    def checked(self) -> "Execution":
        """These settings, if they make sense."""
        check_number("chunk_seconds", self.chunk_seconds, above=0.0)
        check_number("checkpoint_seconds", self.checkpoint_seconds, at_least=0.0)
        check_callbacks(self.callbacks)
        choices = {
            "executor": ("auto", "loop", "scan", "vmap"),
            "on_divergence": ("stop", "retry"),
            "keep_data": ("auto", "device", "host"),
            "on_signal": ("raise", "return"),
            "matmul_precision": get_args(MatmulPrecision),
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise UserError(
                    f"`{name}` must be one of {', '.join(known)}, got {getattr(self, name)!r}."
                )
        return self
