"""What a network is to the other rooms: two pure functions and the names of its two ends."""

from collections.abc import Callable
from dataclasses import dataclass

from pxsgmcmc.types import Array, Key, Tree


@dataclass(frozen=True)
class Model:
    """A network without dropout and without batch statistics.

    Attributes:
      name: as in `build(name)`.
      init: (key, example) -> parameters, a nested dict of arrays with string keys. Of `example`, a
        batch of inputs, only the shape is read.
      apply: (parameters, inputs) -> logits, (batch, classes). Images are float, normalised,
        (batch, height, width, channels); it computes in the dtype of the parameters.
      input_layer: the layer that takes the input, for `plan(params, input_layer=...)`.
      logits_layer: the layer that gives the logits, for `plan(params, logits_layer=...)`.
      convolutional: whether it convolves, which XLA does slowly inside `lax.scan` on a CPU.
    """

    name: str
    init: Callable[[Key, Array], Tree]
    apply: Callable[[Tree, Array], Array]
    input_layer: str
    logits_layer: str
    convolutional: bool
