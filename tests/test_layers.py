"""Imports point one way: each room may use those before it, and no room reaches sideways."""

import ast
import re
from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "pxsgmcmc"

# Each room and the rooms it may import (besides itself), as in the design.
WORDS = {"types", "errors", "tree", "rng", "schedules", "notebook", "progress"}
TARGET = WORDS | {"expansion", "likelihoods", "network_checks", "priors", "problem", "posterior"}
JUDGED = {"results", "health", "metrics", "diagnostics"}
RUNS = TARGET | JUDGED | {"data", "store", "predict", "run"}
CONFIG = RUNS | {"memory", "samplers", "chain", "report", "evaluate", "models"}
MAY_IMPORT = {
    "errors": set(),
    "memory": set(),
    "notebook": set(),
    "progress": {"errors", "notebook"},
    "results": set(),
    "types": set(),
    "health": {"results"},
    "tree": {"types", "errors"},
    "rng": {"types", "errors"},
    "schedules": {"types", "errors", "tree"},
    "density": {"types", "errors", "tree"},
    "network_checks": {"types", "errors", "tree"},
    "devices": {"types", "errors"},
    "expansion": WORDS,
    "metrics": {"types", "errors", "tree"},
    "diagnostics": {"types", "errors", "tree", "metrics"},
    "data": {"types", "errors"},
    "models": {"types", "errors"},
    "likelihoods": WORDS | {"data", "metrics"},
    "priors": WORDS | {"expansion"},
    "problem": WORDS | {"data", "likelihoods", "network_checks"},
    "posterior": WORDS | {"devices", "expansion", "likelihoods", "priors", "problem"},
    "samplers": {"types", "tree", "schedules", "errors"},
    "store": {"types", "errors", "tree"},
    "pretrained": {"types", "errors", "tree", "store", "data"},
    "moving": {"errors", "notebook", "progress", "store"},
    "predict": WORDS | {"data", "likelihoods", "problem"},
    "run": RUNS - {"run"},
    "chain": RUNS | {"devices", "memory", "samplers"},
    "report": {"errors", "health", "metrics", "results"},
    "export": RUNS,
    "evaluate": RUNS | {"chain", "report"},
    "config": CONFIG,
    "jobs": CONFIG | {"config"},
    "tuning": CONFIG | {"config", "jobs"},
    "reproduce": CONFIG | {"config", "jobs", "tuning"},
    "sklearn": CONFIG | {"config", "jobs", "tuning"},
    "meta": WORDS | {"chain", "data", "report", "samplers", "store"},
}
ANYTHING = {"cli", "__init__", "__main__"}  # they connect the rooms
# The methods of `Run` hand it to the room above, a configuration or a sampler that says "auto" asks
# the room above for numbers, a configuration that says "map" for a start, and a sampler that is
# given the name of learned weights asks for them; it is imported when that happens.
DOORS = {
    "run": {"evaluate", "export"},
    "config": {"tuning"},
    "chain": {"tuning"},
    "samplers": {"pretrained"},
}


def room_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """Rooms of this package that a file imports, at its top or inside a function."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            module = node.module or ""
            names |= {f"{module}.{alias.name}" for alias in node.names} | {module}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    rooms = {p[1] for name in names if (p := name.split("."))[0] == "pxsgmcmc" and len(p) > 1}
    return {room for room in rooms if (SRC / room).is_dir() or (SRC / f"{room}.py").is_file()}


def violations(src: Path = SRC) -> list[str]:
    found = []
    for path in sorted(src.rglob("*.py")):
        room = room_of(path)
        if room not in ANYTHING:
            allowed = {room} | MAY_IMPORT.get(room, set()) | DOORS.get(room, set())
            for other in sorted(imported_rooms(path) - allowed):
                found.append(f"{path.relative_to(SRC)} imports {other}")
    return found


def test_imports_point_downwards():
    assert violations() == []


def test_every_room_is_in_the_table():
    rooms = {room_of(path) for path in SRC.rglob("*.py")} - ANYTHING
    assert rooms <= set(MAY_IMPORT), rooms - set(MAY_IMPORT)


def test_every_room_is_explained_to_contributors():
    page = (SRC.parents[1] / "CONTRIBUTING.md").read_text("utf-8")
    table = " ".join(line for line in page.splitlines() if line.startswith("| `"))
    rooms = {path.name for path in SRC.iterdir() if not path.name.startswith("__")} - {"py.typed"}
    assert not {room for room in rooms if not re.search(rf"[` ]{room}[/` ]", table)}


def test_the_table_has_no_cycle():
    seen: set[str] = set()
    while remaining := set(MAY_IMPORT) - seen:
        free = {room for room in remaining if MAY_IMPORT[room] <= seen}
        assert free, f"rooms import each other: {remaining}"
        seen |= free


def test_a_wrong_import_would_be_seen(tmp_path):
    file = tmp_path / "x.py"
    file.write_text("def f():\n    from pxsgmcmc.chain import sample\n")
    assert "chain" in imported_rooms(file)


def imports_at_the_top(path: Path) -> set[str]:
    """Rooms and packages that are imported with a file, wherever it is used."""
    names = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def test_doors_are_opened_only_when_they_are_used():
    for room, others in DOORS.items():
        for path in SRC.glob(f"{room}/*.py"):
            for name in imports_at_the_top(path):
                assert not any(name.startswith(f"pxsgmcmc.{other}") for other in others), path


def test_what_only_reads_never_imports_jax():
    rooms = ("report", "metrics", "store", "results", "health")
    files = [
        path for room in rooms for path in [*SRC.glob(f"{room}.py"), *SRC.glob(f"{room}/*.py")]
    ]
    for path in [*files, SRC / "config" / "schema.py", SRC / "config" / "toml.py"]:
        names = imports_at_the_top(path)
        assert not any(name.split(".")[0] == "jax" for name in names), path


def test_no_class_name_stands_in_two_rooms():
    homes: dict[str, list[str]] = {}
    for path in SRC.rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(str(path.relative_to(SRC)))
    assert not {name: files for name, files in homes.items() if len(files) > 1}
