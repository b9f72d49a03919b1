"""Haiku's parameters out of a pickle of old JAX arrays, without running it.

The layout: a `FlatMapping` made from a dictionary, module -> name -> array, in which an array is
rebuilt from NumPy's own pieces and a dictionary on its type (`weak_type`, `named_shape`), which is
not needed. The names below are marks to recognise, as in `data/_restricted_pickle.py`: nothing is
imported or called.
"""

from typing import Any

import numpy as np

from pxsgmcmc.data._faults import parsing
from pxsgmcmc.data._restricted_pickle import finished, read_pickled_arrays, rebuilt_array
from pxsgmcmc.errors import UserError, one_line, printable

_MAPPINGS = tuple(
    f"haiku._src.data_structures.{name}" for name in ("FlatMapping", "FlatMap", "frozendict")
)
_ARRAYS = ("jax._src.array._reconstruct_array", "jax.array._reconstruct_array")
_MOST = 100  # modules, and arrays in each


def read_haiku_pickle(data: bytes, where: str) -> dict[str, dict[str, np.ndarray]]:
    """Module -> name -> array; anything else in the pickle is refused.

    Args:
      data: the bytes of the file.
      where: what it is called in an error.
    """
    makers = dict.fromkeys(_MAPPINGS, _mapping) | dict.fromkeys(_ARRAYS, _array)
    modules = read_pickled_arrays(data, where, makers)
    weights: dict[str, dict[str, np.ndarray]] = {}
    for module, arrays in modules.items():
        if not isinstance(arrays, dict):
            raise _refused(where, module, arrays)
        # Few, or a small file could name one large dictionary a thousand times.
        if max(len(modules), len(arrays)) > _MOST:
            raise UserError(f"`{printable(where)}` must hold at most {_MOST} modules and arrays.")
        with parsing(where, "pickle of arrays"):
            weights[module] = {name: finished(array) for name, array in arrays.items()}
        for name, array in weights[module].items():
            if not isinstance(array, np.ndarray):
                raise _refused(where, f"{module}/{name}", array)
    return weights


def _mapping(args: tuple[Any, ...]) -> dict[str, Any]:
    (inner,) = args
    if not isinstance(inner, dict):
        raise ValueError("a mapping of something that is no dictionary")
    return inner


def _array(args: tuple[Any, ...]) -> np.ndarray:
    # The rebuilding function of NumPy, its arguments, the array's state, the type's state.
    function, _, state, _ = args
    return rebuilt_array(function, state)


def _refused(where: str, name: str, value: Any) -> UserError:
    return UserError(
        f"`{printable(where)}` must hold arrays and nothing else, got {type(value).__name__} at "
        f"{one_line(name)}: do not use it."
    )
