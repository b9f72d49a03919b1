"""A disk that remembers what was flushed, and the states in which a power cut may leave it.

`Disk` records what a program does below a folder. What was flushed is there after a power cut. Of
the rest, anything may be:

- any change of names in a folder since the folder was flushed is there or is not. A rename is there
  as a whole, and changes of one and the same name keep their order;
- each sector of a file that was written since the file was flushed is there or is not: then it is
  as it was before, or zeros where the file had been shorter. The file may have its new length or
  its old one, or end in the middle of what was written.
"""

import itertools
import math
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pxsgmcmc.store import files
from pxsgmcmc.store.files import SECTOR

MOST_AT_ONCE = 40  # states for one moment; where there are more, a random choice of them

NAMES = ("name", "unname", "rename")  # events that change names

Tree = dict[str, bytes | None]  # relative name -> contents of a file, None for a folder


class Event(NamedTuple):
    """One thing that was done.

    Attributes:
      kind: "name", "unname", "rename", "write", "cut", "flush" or "promise".
      node: number of the folder or file.
      facts: the rest, by kind.
    """

    kind: str
    node: int
    facts: tuple


class Contents(NamedTuple):
    """What is on a disk: the names in each folder and the bytes of each file, by number."""

    names: dict[int, dict[str, int]]
    data: dict[int, bytes]

    def copy(self) -> "Contents":
        return Contents({node: dict(names) for node, names in self.names.items()}, dict(self.data))

    def tree(self, node: int = 0, above: str = "") -> Tree:
        found: Tree = {}
        for name, child in sorted(self.names[node].items()):
            found[above + name] = self.data.get(child)
            if child in self.names:
                found |= self.tree(child, f"{above}{name}/")
        return found

    def apply(self, event: Event) -> None:
        """Do what was done, but for a change of a name that cannot be without an earlier one."""
        kind, node, facts = event
        names = self.names.setdefault(node, {}) if kind in NAMES else {}
        if kind == "name" and facts[0] not in names:
            name, child, is_folder = facts
            names[name] = child
            (self.names if is_folder else self.data).setdefault(child, {} if is_folder else b"")
        elif kind == "unname" and names.get(facts[0]) == facts[1]:
            del names[facts[0]]
        elif kind == "rename" and names.get(facts[0]) == facts[2]:
            names[facts[1]] = names.pop(facts[0])
        elif kind == "write":
            offset, piece = facts
            old = self.data.get(node, b"").ljust(offset, b"\0")
            self.data[node] = old[:offset] + piece + old[offset + len(piece) :]
        elif kind == "cut":
            self.data[node] = self.data.get(node, b"")[: facts[0]]


class Disk:
    """Records what is done below `root`; what is there at the beginning counts as flushed.

    Attributes:
      start: what is there at the beginning.
      events: what was done since, in order.
      words: the same, to be read: "flush draws".
    """

    def __init__(self, root: Path):
        self.start, self.events, self.words = Contents({0: {}}, {}), list[Event](), list[str]()
        self._root, self._now = root, self.start
        self._numbers, self._descriptors = itertools.count(1), dict[int, int]()
        for path in sorted(root.rglob("*")):
            self._name(path, path.is_dir())
            if path.is_file():
                self._do("write", self._find(path), 0, path.read_bytes())
        self._now, self.events, self.words = self.start.copy(), [], []

    def promise(self, **facts: Any) -> None:
        """Note what the program has been told is safe."""
        self.events.append(Event("promise", 0, (facts,)))
        self.words.append("promise " + " ".join(facts))

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the calls of the system that change what is below the root."""
        notes: dict[str, Callable] = {
            "mkdir": lambda path, *_: self._name(path, True),
            "rmdir": self._unname,
            "unlink": lambda path, *_: self._unname(path),
            "replace": self._rename,
            "pwrite": lambda file, data, offset: self._change("write", file, offset, bytes(data)),
            "ftruncate": lambda file, size: self._change("cut", file, size),
            "fsync": lambda file: self._change("flush", file, _who()),
        }
        real = {name: getattr(os, name) for name in ("open", *notes)}

        def noting(name: str) -> Callable:
            def call(*arguments: Any, **options: Any) -> Any:
                outcome = real[name](*arguments, **options)
                notes[name](*arguments)
                return outcome

            return call

        def opening(path: Any, flags: int, *rest: Any, **options: Any) -> int:
            new = bool(flags & os.O_CREAT) and not os.path.lexists(path)
            descriptor = real["open"](path, flags, *rest, **options)
            if new:
                self._name(path, False)
            self._descriptors[descriptor] = self._find(path)
            return descriptor

        try:
            os.open = opening
            for name in notes:
                setattr(os, name, noting(name))
            yield
        finally:
            for name in real:
                setattr(os, name, real[name])

    def _do(self, kind: str, node: int, *facts: Any) -> None:
        if node >= 0:
            self.events.append(Event(kind, node, facts))
            self.words.append(f"{kind} {facts[0] if kind in NAMES else self._called(node)}")
            self._now.apply(self.events[-1])

    def _called(self, node: int) -> str:
        """The name of a file or folder, without those above it."""
        every = (names for names in self._now.names.values())
        return next((name for names in every for name, one in names.items() if one == node), "/")

    def _find(self, path: Any) -> int:
        """The number of a file or folder; -1 if it is not ours."""
        node = 0
        if not Path(path).is_relative_to(self._root):
            return -1
        for part in Path(path).relative_to(self._root).parts:
            node = self._now.names.get(node, {}).get(part, -1)
        return node

    def _name(self, path: Any, is_folder: bool) -> None:
        path = Path(path)
        self._do("name", self._find(path.parent), path.name, next(self._numbers), is_folder)

    def _unname(self, path: Any) -> None:
        self._do("unname", self._find(Path(path).parent), Path(path).name, self._find(path))

    def _rename(self, old: Any, new: Any) -> None:
        old, new = Path(old), Path(new)
        assert old.parent == new.parent
        self._do("rename", self._find(old.parent), old.name, new.name, self._find(old))

    def _change(self, kind: str, descriptor: int, *facts: Any) -> None:
        self._do(kind, self._descriptors.get(descriptor, -1), *facts)


def _who() -> str:
    """The line of the store that asks for a flush."""
    frame, home = sys._getframe(1), str(Path(files.__file__).parent)
    while not frame.f_code.co_filename.startswith(home) or frame.f_code.co_name == "sync_folder":
        frame = frame.f_back
        assert frame
    code = frame.f_code
    return f"{Path(code.co_filename).name}, {code.co_name}, line {frame.f_lineno}"


class PowerCut(NamedTuple):
    """A state in which a power cut leaves the disk.

    Attributes:
      tree: what is there.
      promised: what the program had been told is safe.
      after: how many events had happened.
    """

    tree: Tree
    promised: dict[str, Any]
    after: int


def power_cuts(
    start: Contents, events: list[Event], *, promised: dict[str, Any], but: set[int] | None = None
) -> Iterator[PowerCut]:
    """The states after a power cut at any moment, each once.

    Args:
      start: what was there, all of it flushed.
      events: what was done then.
      promised: what had been promised before that.
      but: states to leave out; those that are given are added.
    """
    choices, seen = random.Random(0), set() if but is None else but
    flushed, waiting = start.copy(), list[Event]()
    for after in range(len(events) + 1):
        for kept in _subsets(waiting, choices):
            left = flushed.copy()
            for event in kept:
                left.apply(event)
            tree = left.tree()
            state = hash((tuple(tree.items()), tuple(promised.items())))
            if state not in seen:
                seen.add(state)
                yield PowerCut(tree, promised, after)
        if after < len(events):
            event = events[after]
            if event.kind == "promise":
                promised = {**promised, **event.facts[0]}
            elif event.kind == "flush":
                for done in waiting:
                    if done.node == event.node:
                        flushed.apply(done)
                waiting = [done for done in waiting if done.node != event.node]
            else:
                waiting.append(event)


def _subsets(waiting: list[Event], choices: random.Random) -> Iterator[list[Event]]:
    """What may be on the disk of events that were not flushed: nothing and all of it first."""
    variants = [_variants(event) for event in waiting]
    yield []
    yield waiting
    chosen: Any = itertools.product(*variants)
    if math.prod(map(len, variants)) > MOST_AT_ONCE:
        chosen = [[choices.choice(one) for one in variants] for _ in range(MOST_AT_ONCE)]
        for place in range(len(waiting)):
            yield [waiting[place]]
            yield [*waiting[:place], *waiting[place + 1 :]]
    for parts in chosen:
        yield [event for part in parts for event in part]


def _variants(event: Event) -> list[list[Event]]:
    """What may be left of one event, from nothing to all."""
    if event.kind != "write":
        return [[], [event]]
    offset, data = event.facts

    def written(begin: int, end: int) -> Event:
        return Event("write", event.node, (offset + begin, data[begin:end]))

    edges = sorted({0, *range(-offset % SECTOR, len(data), SECTOR), len(data)})
    sectors = [written(*edge) for edge in itertools.pairwise(edges)]
    shorter = [[written(0, end)] for end in {edges[1], len(data) // 2, len(data) - 1}]
    there = itertools.product([False, True], repeat=len(sectors))
    if len(sectors) > 3:  # each alone, and all but one
        one = [[i == j for j in range(len(sectors))] for i in range(len(sectors))]
        there = one + [[not kept for kept in which] for which in one]
    length_alone = written(len(data), len(data))
    some = [[length_alone, *itertools.compress(sectors, which)] for which in there]
    return [[], *shorter, *some, [event]]


def write_tree(tree: Tree, folder: Path) -> None:
    """Make `folder` hold what `tree` says."""
    folder.mkdir(exist_ok=True)
    for name, data in tree.items():
        if data is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(data)
