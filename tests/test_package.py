"""Starting is quick, and every public name explains itself."""

import importlib
import inspect
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pxsgmcmc

ROOT = Path(__file__).parents[1]


def best_time(command: list[str], tries: int = 5) -> float:
    """The best of several, since other work on the machine can only slow a start down."""
    times = []
    for _ in range(tries):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return min(times)


# What costs time at a start are other packages, whose number does not depend on the machine.
@pytest.mark.parametrize(
    "start", ["import pxsgmcmc", "from pxsgmcmc.cli import main; main(['--help'])"]
)
def test_starting_imports_nothing_but_the_standard_library(start):
    code = f"import sys; {start}; print('\\n', *{{name.partition('.')[0] for name in sys.modules}})"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path}; {code}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    modules = set(done.stdout.splitlines()[-1].split())
    assert modules <= sys.stdlib_module_names | {"pxsgmcmc", "__main__"}


@pytest.mark.slow
def test_import_takes_less_than_800_ms():
    assert best_time([sys.executable, "-c", "import pxsgmcmc"]) < 0.8


@pytest.mark.slow
def test_help_takes_less_than_500_ms():
    assert best_time([sys.executable, "-m", "pxsgmcmc", "--help"]) < 0.5


def test_help_of_every_command_works_without_jax():
    code = (
        "import sys; from pxsgmcmc.cli import main; main(['--help']);"
        "main(['run', '--help']); assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("name", pxsgmcmc.__all__)
def test_every_public_name_is_documented(name):
    thing = getattr(pxsgmcmc, name)
    assert (inspect.getdoc(thing) or "").strip(), name


@pytest.mark.parametrize("name", pxsgmcmc.__all__)
def test_every_public_function_shows_an_example_or_says_where_one_is(name):
    thing = getattr(pxsgmcmc, name)
    things = [thing]
    if inspect.ismodule(thing):
        things = [getattr(thing, found) for found in getattr(thing, "__all__", ())]
    for function in things:
        if inspect.isfunction(function):
            text = inspect.getdoc(function) or ""
            page = re.search(r"Example: see `?(docs/\w+\.md)", text)
            assert ">>>" in text or (page and (ROOT / page[1]).exists()), function


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'sgmc'"):
        pxsgmcmc.sgmc  # noqa: B018


def test_the_lazy_table_and_the_type_checkers_view_agree():
    lazy = [*pxsgmcmc._NAMESPACES, *pxsgmcmc._ROOM_OF, "open"]
    assert sorted(pxsgmcmc.__all__) == sorted(lazy)
    assert set(pxsgmcmc.__all__) <= set(dir(pxsgmcmc))


@pytest.mark.parametrize(
    "namespace", ["data", "diagnostics", "likelihoods", "metrics", "models", "samplers"]
)
def test_a_module_of_a_public_namespace_exports_something_or_is_private(namespace):
    module = importlib.import_module(f"pxsgmcmc.{namespace}")
    homes = {getattr(getattr(module, name), "__module__", "") for name in module.__all__}
    if namespace == "models":  # networks are exported by name, and imported when one is built
        homes |= {f"pxsgmcmc.models.{name}" for name in module._FILE_OF.values()}
    for path in Path(module.__file__).parent.glob("*.py"):
        assert path.stem.startswith("_") or f"pxsgmcmc.{namespace}.{path.stem}" in homes, path
