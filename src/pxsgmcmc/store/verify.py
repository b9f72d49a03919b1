"""Check every byte of a run directory."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pxsgmcmc.errors import CorruptRun
from pxsgmcmc.store import contents, files, journal, layout, lock, manifest, state
from pxsgmcmc.store.repair import check_log


class Findings(NamedTuple):
    """What `verify` found.

    Attributes:
      problems: a sentence for each thing that is not as it was written; empty for a healthy run.
      leftovers: files of an interrupted write, finished or removed when the run is resumed.
      files: how many there are.
      bytes: how many they hold.
    """

    problems: list[str]
    leftovers: list[str]
    files: int
    bytes: int


def verify(path: str | Path) -> Findings:
    """Compare every file of a run directory with its hash or seal, and name the strangers.

    Raises:
      UserError: if `path` is not a run directory.

    Example:
      >>> import tempfile
      >>> from pxsgmcmc.store import create_run
      >>> create_run(folder := tempfile.mkdtemp(), "", {}).close()
      >>> verify(folder).problems
      []
    """
    folder = Path(path)
    findings = None
    for _ in contents.attempts(folder):
        before, findings = findings, _verify_once(folder)
        if before is not None and before.files and findings.files:  # both saw the whole run
            # While a process writes, each look may be overtaken by it, but not twice in the same
            # place: what a look found ahead of the index has its line when the next one begins.
            stayed = [problem for problem in findings.problems if problem in before.problems]
            findings = findings._replace(problems=stayed)
        if not findings.problems:
            break
    assert findings is not None
    return findings


def _verify_once(folder: Path) -> Findings:
    problems: list[str] = []

    @contextmanager
    def collecting() -> Iterator[None]:
        try:
            yield
        except CorruptRun as error:
            problems.append(str(error))

    try:
        facts = manifest.read(folder)
        committed = contents.Contents(facts, "", *contents.read_index(folder, facts.identity))
    except CorruptRun as error:
        # Without these two nothing else can be judged.
        return Findings([str(error)], [], 0, 0)
    with collecting():
        manifest.read_config(folder, facts.config_sha256)
    with collecting():
        lock.writer(folder)
    for draw in committed.draws:
        with collecting():
            contents.read_draw(folder, draw)
    for name in facts.artifacts:
        with collecting():
            manifest.read_artifact(folder, facts, name)
    with collecting():
        problems += _check_states_and_log(folder, committed)
    with files.reading(folder):
        listing = list(layout.walk(folder))
    problems += _name_strangers(folder, listing, committed)
    leftovers = [name for name, _ in listing if contents.is_leftover(name, committed)]
    sizes = [entry.st_size for _, entry in listing if stat.S_ISREG(entry.st_mode)]
    return Findings(list(dict.fromkeys(problems)), leftovers, len(sizes), sum(sizes))


def _check_states_and_log(folder: Path, committed: contents.Contents) -> list[str]:
    facts = committed.manifest
    states = state.find(folder, committed)
    log = [journal.start(facts.identity)]
    log += [mark for mark, _ in contents.read_log(folder, facts.identity)]
    for stored in states.all:
        state.arrays_of(folder, stored)
        check_log(folder / layout.LOG, log[min(stored.header.log, len(log) - 1)], stored)
    return states.problems


def _name_strangers(
    folder: Path, listing: list[tuple[str, os.stat_result]], committed: contents.Contents
) -> list[str]:
    """A sentence for each name, or kind of file, that has no place in a run directory."""
    states = {f"{layout.STATE}/{layout.LAST}", f"{layout.STATE}/{layout.PREV}"}
    draws = {f"{layout.DRAWS}/{draw.name}" for draw in committed.draws}
    ours = {layout.CONFIG, layout.MANIFEST, layout.INDEX, layout.LOG, lock.LOCK}
    ours |= states | draws | committed.manifest.artifacts.keys()
    # A committed draw that was not renamed yet.
    ours |= {name + files.PART for name in draws if not os.path.lexists(folder / name)}
    problems = []
    for name, entry in listing:
        if stat.S_ISDIR(entry.st_mode):
            known = layout.is_folder(name)
        elif stat.S_ISREG(entry.st_mode):
            known = name in ours or contents.is_leftover(name, committed)
        else:
            problems.append(f"`{folder}` has {name!r}, which is a link, a pipe or a device.")
            continue
        if not known:
            problems.append(f"`{folder}` has {name!r}, which is not part of the run.")
    return problems
