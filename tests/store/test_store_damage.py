"""Whatever happens to the files of a run is noticed: by `verify`, and by whoever reads the file."""

import os
import random
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from store_samples import (
    contents_of,
    copy_run,
    files_of,
    make_run,
    notices,
    read_everything,
    read_the_part_in,
    record_proof,
    verify_notices,
)

from pxsgmcmc.errors import CorruptRun
from pxsgmcmc.store import create_run, journal, open_run, sealed, verify


def flip(path: Path, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(bit // 8)
        (byte,) = file.read(1)
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))


def count_noticed_flips(folder: Path, flips: int) -> Counter:
    """Flip single bits, each in a file drawn at random so that small files have their share."""
    rng, noticed = random.Random(flips), Counter()
    names = files_of(folder)
    for _ in range(flips):
        name = rng.choice(names)
        bit = rng.randrange(8 * os.path.getsize(folder / name))
        flip(folder / name, bit)
        noticed["by verify"] += verify_notices(folder)
        noticed["by loading"] += notices(read_the_part_in, folder, name)
        flip(folder / name, bit)
    assert verify(folder).problems == []
    return noticed


def test_a_flipped_bit_anywhere_is_noticed(tmp_path):
    noticed = count_noticed_flips(make_run(tmp_path / "run"), 200)
    assert noticed == {"by verify": 200, "by loading": 200}


@pytest.mark.slow
def test_every_one_of_a_thousand_flipped_bits_is_noticed(tmp_path):
    noticed = count_noticed_flips(make_run(tmp_path / "run", draws=20, size=2000), 1000)
    record_proof("bit_flips", flips=1000, **{k.replace(" ", "_"): v for k, v in noticed.items()})
    assert noticed == {"by verify": 1000, "by loading": 1000}


def test_every_single_bit_of_a_journal_counts(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"")
    mark = journal.start("seed")
    for step in range(2):
        mark = journal.append(path, mark, {"step": step})
    for bit in range(8 * mark.end):
        flip(path, bit)
        assert notices(list, journal.scan(path, "seed")), bit
        flip(path, bit)
    assert len(list(journal.scan(path, "seed"))) == 2


def test_every_single_bit_of_a_document_counts():
    data = sealed.seal_document({"status": "done", "facts": {"seed": 1}})
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match="seal"):
            sealed.unseal_document(bytes(changed))


def test_a_flipped_bit_anywhere_in_a_state_is_noticed(tmp_path):
    with create_run(tmp_path, "", {}) as run:
        run.commit_state({"q": np.arange(3, dtype=np.int8)}, {"step": 1})
    for bit in range(0, 8 * os.path.getsize(tmp_path / "state/last"), 7):
        flip(tmp_path / "state/last", bit)
        assert notices(run.load_state), bit
        flip(tmp_path / "state/last", bit)


def truncate(folder, name, other, rng):
    os.truncate(folder / name, rng.randrange(1, os.path.getsize(folder / name)))


def empty(folder, name, other, rng):
    os.truncate(folder / name, 0)


def remove(folder, name, other, rng):
    (folder / name).unlink()


def swap(folder, name, other, rng):
    """Exchange two files of the run."""
    partner = rng.choice([n for n in files_of(folder) if n != name])
    one, two = (folder / name).read_bytes(), (folder / partner).read_bytes()
    (folder / name).write_bytes(two)
    (folder / partner).write_bytes(one)


def take_from_another_run(folder, name, other, rng):
    shutil.copy(other / name, folder / name)


def overwrite_with_noise(folder, name, other, rng):
    (folder / name).write_bytes(rng.randbytes(rng.randrange(1, 2000)))


def append_noise(folder, name, other, rng):
    with (folder / name).open("ab") as file:
        file.write(rng.randbytes(rng.randrange(1, 50)))


def repeat_a_line(folder, name, other, rng):
    """In a text, repeat a line; in any other file, repeat the whole."""
    data = (folder / name).read_bytes()
    lines = data.splitlines(keepends=True) if name.endswith("jsonl") else [data]
    at = rng.randrange(len(lines))
    (folder / name).write_bytes(b"".join(lines[:at] + lines[at : at + 1] + lines[at:]))


def lose_a_line(folder, name, other, rng):
    journal_name = rng.choice(["index.jsonl", "log.jsonl"])
    lines = (folder / journal_name).read_bytes().splitlines(keepends=True)
    del lines[rng.randrange(len(lines))]
    (folder / journal_name).write_bytes(b"".join(lines))


def swap_two_lines(folder, name, other, rng):
    journal_name = rng.choice(["index.jsonl", "log.jsonl"])
    lines = (folder / journal_name).read_bytes().splitlines(keepends=True)
    i, j = rng.sample(range(len(lines)), 2)
    lines[i], lines[j] = lines[j], lines[i]
    (folder / journal_name).write_bytes(b"".join(lines))


HARMS_TO_A_FILE = [
    truncate,
    empty,
    remove,
    swap,
    take_from_another_run,
    overwrite_with_noise,
    append_noise,
    repeat_a_line,
    lose_a_line,
    swap_two_lines,
]


def reading_notices(folder: Path, name: str) -> bool:
    """Whether reading that file, all files, or going on from them raises CorruptRun."""

    def read():
        read_the_part_in(folder, name)
        read_everything(folder)
        open_run(folder, writable=True).close()

    return notices(read)


def count_noticed_harm(tmp_path: Path, cases: int) -> Counter:
    rng, noticed = random.Random(cases), Counter()
    run, other = make_run(tmp_path / "run"), make_run(tmp_path / "other", seed=1)
    names = files_of(run)
    for case in range(cases):
        folder = copy_run(run, tmp_path / "copy")
        name, harm = rng.choice(names), HARMS_TO_A_FILE[case % len(HARMS_TO_A_FILE)]
        harm(folder, name, other, rng)
        assert verify_notices(folder), (harm.__name__, name)
        assert reading_notices(folder, name), (harm.__name__, name)
        noticed["harmed files"] += 1
    return noticed


def count_noticed_strangers(tmp_path: Path, cases: int) -> int:
    """Files that do not belong are named by `verify`, and neither read nor removed by anything."""
    rng, run = random.Random(cases), make_run(tmp_path / "run2")
    places = ["", "draws", "state", "eval", "new", "draws/new", "lock.d"]
    names = [
        "x",
        "000000.safetensors",
        "0000001.safetensors",
        "weird\nname",
        "last.part.part",
        "1.pkl",
    ]
    noticed = 0
    for _ in range(cases):
        folder = copy_run(run, tmp_path / "copy")
        stranger = folder / rng.choice(places) / rng.choice(names)
        stranger.parent.mkdir(exist_ok=True)
        stranger.write_bytes(b"?")
        assert verify_notices(folder), stranger
        open_run(folder, writable=True).close()
        assert stranger.read_bytes() == b"?"
        noticed += 1
    return noticed


def test_harmed_and_strange_files_are_noticed_in_one_line(tmp_path):
    assert count_noticed_harm(tmp_path, 60)["harmed files"] == 60
    assert count_noticed_strangers(tmp_path, 10) == 10


@pytest.mark.slow
def test_three_hundred_harmed_and_strange_files_are_noticed_in_one_line(tmp_path):
    harmed = count_noticed_harm(tmp_path, 300)["harmed files"]
    strange = count_noticed_strangers(tmp_path, 60)
    record_proof("harmed_files", cases=360, noticed=harmed + strange)
    assert harmed + strange == 360


def test_an_index_cut_at_any_byte_is_noticed_though_a_crash_leaves_torn_lines(tmp_path):
    folder = make_run(tmp_path / "run", draws=3)
    whole = (folder / "index.jsonl").read_bytes()
    for length in [*range(0, len(whole), 5), *range(len(whole) - 200, len(whole))]:
        (folder / "index.jsonl").write_bytes(whole[:length])
        assert notices(open_run, folder), length


def test_a_draw_taken_from_a_twin_run_together_with_its_index_line_is_noticed(tmp_path):
    for name, value in (("run", 0.0), ("twin", 1.0)):
        with create_run(tmp_path / name, "seed = 1\n", {"seed": 1}) as run:
            for step in range(3):
                run.commit_draw({"w": np.full(3, value)}, step=step)
    lines = (tmp_path / "run/index.jsonl").read_bytes().splitlines(keepends=True)
    lines[0] = (tmp_path / "twin/index.jsonl").read_bytes().splitlines(keepends=True)[0]
    (tmp_path / "run/index.jsonl").write_bytes(b"".join(lines))
    shutil.copy(tmp_path / "twin/draws/000001.safetensors", tmp_path / "run/draws")
    assert verify_notices(tmp_path / "run") and notices(open_run, tmp_path / "run")


def test_a_draw_that_is_gone_does_not_hide_the_others(tmp_path):
    folder = make_run(tmp_path / "run")
    (folder / "draws/000002.safetensors").unlink()
    run = open_run(folder)
    for number in (1, 3, 4, 5):
        run.load_draw(number)
    with pytest.raises(CorruptRun, match=r"000002\.safetensors` is missing"):
        run.load_draw(2)


def test_verify_changes_nothing(tmp_path):
    folder = make_run(tmp_path / "run")
    (folder / "draws/000006.safetensors.part").write_bytes(b"half a draw")
    before = contents_of(folder)
    findings = verify(folder)
    assert findings.problems == []
    assert findings.leftovers == ["draws/000006.safetensors.part"]
    assert (findings.files, findings.bytes) == (len(before), sum(map(len, before.values())))
    assert contents_of(folder) == before
