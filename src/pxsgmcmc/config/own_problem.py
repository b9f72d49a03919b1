"""`problem = "my_module:make_problem"`: a problem that a function of the user's returns.

The module must be a file `my_module.py` in the folder of the configuration or the current folder:
a configuration that somebody else wrote cannot name anything that is installed.
"""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from pxsgmcmc.errors import UserError, printable
from pxsgmcmc.problem import Problem


def own_problem(name: str, folder: str | None) -> Problem:
    """The problem that the named function returns.

    Args:
      name: "module:function".
      folder: where the module is, beside the current folder.
    """
    module_name, colon, function_name = name.partition(":")
    if not colon or not module_name.isidentifier() or not function_name.isidentifier():
        raise UserError(
            f"`problem` must be a module and a function in it, as in 'my_module:make_problem', got "
            f"{name!r}."
        )
    places = [Path(place) for place in dict.fromkeys((folder or ".", "."))]
    module = _load(module_name, places)
    function = getattr(module, function_name, None)
    if not callable(function):
        raise UserError(
            f"`problem` names {function_name!r}, which {module.__file__} does not have."
        )
    with _blaming(name):
        problem = function()
    if not isinstance(problem, Problem):
        raise UserError(
            f"`problem` must name a function that returns a `px.Problem`; {name} returned "
            f"{type(problem).__name__}."
        )
    if problem.init is None:
        raise UserError(f"`problem` must have `init` to start from; {name} returned one without.")
    return problem


@contextmanager
def _blaming(what: str) -> Iterator[None]:
    """An error in the user's own code, as one sentence that says whose it is."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise UserError(
            f"`problem` needs {what}, which failed with {type(error).__name__}: "
            f"{printable(error)}; run it in Python to see where."
        ) from error


def _load(name: str, places: list[Path]) -> ModuleType:
    for place in places:
        path = (place / f"{name}.py").resolve()
        if not path.is_file():
            continue
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, str(path.parent))  # it may have neighbours of its own
        try:
            with _blaming(str(path)):
                spec.loader.exec_module(module)
        finally:
            sys.path.remove(str(path.parent))
        return module
    where = " or ".join(str(place.resolve()) for place in places)
    raise UserError(f"`problem` names the module {name!r}, but there is no {name}.py in {where}.")
