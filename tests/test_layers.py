"""Imports point one way: each room may use those before it, and no room reaches sideways."""

import ast
from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "pxsgmcmc"

# Each room and the rooms it may import (besides itself), as in the design.
WORDS = {"types", "errors", "tree", "rng"}
MAY_IMPORT = {
    "errors": set(),
    "memory": set(),
    "types": set(),
    "tree": {"types", "errors"},
    "rng": {"types", "errors"},
    "schedules": WORDS,
    "expansion": WORDS | {"schedules"},
    "potential": WORDS | {"schedules", "expansion"},
    "samplers": {"types", "tree", "schedules", "errors"},
    "store": {"types", "errors", "tree"},
    "predict": WORDS | {"store", "expansion"},
    "chain": WORDS
    | {"memory", "schedules", "expansion", "potential", "samplers", "store", "predict"},
    "data": {"types", "errors"},
    "models": {"types", "errors"},
    "metrics": {"types", "errors", "tree"},
    "diagnostics": {"types", "errors", "tree", "metrics"},
    "config": {"errors"},
    "results": set(),
    "report": {"errors", "metrics", "results"},
}
ANYTHING = {"experiment", "evaluation", "cli", "__init__", "__main__"}  # they connect the rooms


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
            for other in sorted(imported_rooms(path) - {room} - MAY_IMPORT.get(room, set())):
                found.append(f"{path.relative_to(SRC)} imports {other}")
    return found


def test_imports_point_downwards():
    assert violations() == []


def test_every_room_is_in_the_table():
    rooms = {room_of(path) for path in SRC.rglob("*.py")} - ANYTHING
    assert rooms <= set(MAY_IMPORT), rooms - set(MAY_IMPORT)


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


def test_the_report_metrics_and_config_never_import_jax():
    for room in ("report", "metrics", "config", "store"):
        for path in [*SRC.glob(f"{room}.py"), *SRC.glob(f"{room}/*.py")]:
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.Import):
                    assert not any(a.name.split(".")[0] == "jax" for a in node.names), path
