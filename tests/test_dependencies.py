"""What is imported is declared, and what is locked is what is used."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# Modules whose packages are called something else.
PACKAGE = {"PIL": "pillow", "sklearn": "scikit-learn", "skimage": "scikit-image"}
# Imported where they are there, and never needed: what shows a notebook, what reads Parquet,
# what predictions are given as.
OPPORTUNE = {"ipython", "pyarrow", "polars", "pandas"}
IMPORTERS = {"need", "_import", "_installed", "import_module"}
# Rooms and files that belong to an extra; everything else must work without one.
EXTRAS = {
    "models": {"flax"},
    "report": {"report"},
    "data": {"data"},
    "diagnostics": {"diag"},
    "jobs": {"ray"},
    "moving": {"remote"},
    "tuning": {"tune"},
    "export": {"export", "onnx"},
    "sklearn": {"sklearn"},
    "meta": {"report"},
}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(requirements: list[str]) -> set[str]:
    return {canonical(re.split(r"[\[<>=!~; ]", text)[0]) for text in requirements}


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imported(tree: ast.AST) -> set[str]:
    """Top-level names of all modules that a file may import when it runs."""
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if is_for_types(node):
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
        elif isinstance(node, ast.Call) and _called(node) in IMPORTERS:
            given = node.args[0] if node.args else None
            if isinstance(given, ast.Constant):
                names.add(str(given.value))
        names |= imported(node)
    return {name.partition(".")[0] for name in names}


def _called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def foreign(path: Path) -> set[str]:
    """The packages of others that a file imports."""
    names = imported(ast.parse(path.read_text("utf-8"))) - sys.stdlib_module_names - {"pxsgmcmc"}
    return {canonical(PACKAGE.get(name, name)) for name in names}


def undeclared(src: Path) -> dict[str, set[str]]:
    """File -> packages that neither the dependencies nor its extra have."""
    core = declared(PROJECT["dependencies"]) | OPPORTUNE
    found = {}
    for path in sorted(src.rglob("*.py")):
        known = set(core)
        for extra in EXTRAS.get(path.relative_to(src).parts[0].removesuffix(".py"), ()):
            known |= declared(PROJECT["optional-dependencies"][extra])
        if missing := foreign(path) - known:
            found[str(path.relative_to(src))] = missing
    return found


def test_every_import_is_declared():
    assert undeclared(ROOT / "src" / "pxsgmcmc") == {}


def test_an_import_that_is_not_declared_would_be_seen(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store/a.py").write_text("def f():\n    import seaborn\n    need('torch.nn')\n")
    assert undeclared(tmp_path) == {"store/a.py": {"seaborn", "torch"}}


def lock_lines() -> list[str]:
    lines = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_the_lock_has_the_versions_of_the_constraints_and_no_addresses():
    pins = (ROOT / "constraints.txt").read_text("utf-8").split()
    locked = [line.split(" ")[0] for line in lock_lines()]
    assert sorted(map(canonical, locked)) == sorted(map(canonical, pins))
    for line in lock_lines():
        assert re.fullmatch(r"[\w.-]+==[\w.+!-]+ --hash=sha256:[0-9a-f]{64}", line), line


def test_the_constraints_have_every_package_that_is_declared():
    everything = [*PROJECT["dependencies"]]
    for name, requirements in PROJECT["optional-dependencies"].items():
        everything += (
            requirements if name not in ("docs", "onnx", "ray", "cuda12", "cuda13") else []
        )
    pinned = {canonical(line.split("==")[0]) for line in lock_lines()}
    assert declared(everything) - {"pxsgmcmc"} <= pinned


@pytest.mark.slow
def test_the_library_can_be_installed_from_the_lock(tmp_path):
    """Into an empty environment, every file checked against its hash."""
    first = (ROOT / "requirements.lock").read_text("utf-8").splitlines()[0]
    if f"Python {sys.version_info.major}.{sys.version_info.minor}." not in first:
        pytest.skip(f"the lock is for {first.lstrip('# ')}")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv/bin/python")
    pip = [python, "-m", "pip", "install", "--quiet", "--no-deps"]
    locked = [*pip, "--require-hashes", "-r", str(ROOT / "requirements.lock")]
    done = subprocess.run(locked, capture_output=True, text=True)
    if "hash" not in done.stderr.lower() and "No matching distribution" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    subprocess.run([*pip, str(ROOT)], check=True)
    said = subprocess.run(
        [str(tmp_path / "venv/bin/pxsgmcmc"), "--version"], capture_output=True, text=True
    )
    assert said.returncode == 0 and said.stdout.startswith("pxsgmcmc ")
