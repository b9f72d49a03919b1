"""Files made by somebody who means harm, seals and hashes forged, are refused in one line."""

import json
import os
import pickle
import struct
from pathlib import Path

import msgspec
import numpy as np
import pytest
from store_samples import make_run, record_proof

from pxsgmcmc.errors import CorruptRun
from pxsgmcmc.store import (
    contents,
    create_run,
    journal,
    layout,
    manifest,
    open_run,
    sealed,
    tensors,
    verify,
)


class Bomb:
    """A pickle of this creates a file when it is loaded."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def safetensors_file(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(shape, offsets, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


ONE = tensor([1], [0, 4])
FORGED_TENSORS = {
    "a header of 2^62 bytes": struct.pack("<Q", 2**62) + b"{}",
    "a header of a gigabyte": struct.pack("<Q", 2**30) + b"{}",
    "a header that is not JSON": safetensors_file(b"\x80\x04K\x01."),
    "a header that is not UTF-8": safetensors_file(b'{"\xff\xfe":1}'),
    "a header nested 100,000 deep": safetensors_file(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "a header that is a list": safetensors_file([1, 2]),
    "arrays that overlap": safetensors_file({"a": ONE, "b": ONE}, b"1234"),
    "an array out of range": safetensors_file({"a": tensor([9], [0, 36])}, b"1234"),
    "an array before the data": safetensors_file({"a": tensor([1], [-4, 0])}, b"1234"),
    "offsets in reverse": safetensors_file({"a": tensor([1], [4, 0])}, b"1234"),
    "a shape too large to count": safetensors_file({"a": tensor([2**62, 2**62], [0, 4])}, b"1234"),
    "a shape larger than its data": safetensors_file({"a": tensor([2**40], [0, 4])}, b"1234"),
    "a negative shape": safetensors_file({"a": tensor([-1], [0, 4])}, b"1234"),
    "an empty shape of 2^100": safetensors_file({"a": tensor([0, 2**50, 2**50], [0, 0])}),
    "a name that occurs twice": safetensors_file(
        f'{{"a":{json.dumps(ONE)},"a":{json.dumps(ONE)}}}'.encode(), b"1234"
    ),
    "an unknown dtype": safetensors_file({"a": tensor([1], [0, 4], "O")}, b"1234"),
    "half-byte numbers": safetensors_file({"a": tensor([8], [0, 4], "F4")}, b"1234"),
    "data that nobody owns": safetensors_file({"a": ONE}, b"12345678"),
    "no bytes at all": b"",
    "a zip file": b"PK\x03\x04" + bytes(100),
}


@pytest.mark.parametrize("data", FORGED_TENSORS.values(), ids=FORGED_TENSORS.keys())
def test_a_forged_safetensors_file_is_refused(data):
    with pytest.raises(ValueError, match="not a safetensors file") as refusal:
        tensors.decode(data)
    assert "\n" not in str(refusal.value)


def forge_draw(folder: Path, data: bytes) -> None:
    """Put `data` in the place of the last draw, and make index and states agree."""
    forge_index(folder, sha256=sealed.digest(data), bytes=len(data))
    (folder / "draws/000003.safetensors").write_bytes(data)


def forge_index(folder: Path, **changes: object) -> None:
    identity = manifest.read(folder).identity
    draws, marks = contents.read_index(folder, identity)
    journal.append(folder / "index.jsonl", marks[-2], {**draws[-1].line(), **changes})
    forget_states(folder)


def forget_states(folder: Path) -> None:
    (folder / "state/last").unlink()
    (folder / "state/prev").unlink()
    facts = manifest.read(folder)
    manifest.write(folder, msgspec.structs.replace(facts, resumable=False))


def forge_index_bytes(folder: Path, head: bytes) -> None:
    _, marks = contents.read_index(folder, manifest.read(folder).identity)
    seal = sealed.digest(marks[-2].seal.encode(), head)[:32]
    line = head + f',"seal":"{seal}"}}\n'.encode()
    data = (folder / "index.jsonl").read_bytes()[: marks[-2].end]
    (folder / "index.jsonl").write_bytes(data + line)
    forget_states(folder)


def forge_state(folder: Path, payload: bytes, **changes: object) -> None:
    identity = manifest.read(folder).identity
    body, _ = sealed.unseal_line(
        (folder / "state/last").read_bytes().partition(b"\n")[0] + b"\n", identity
    )
    body |= {"bytes": len(payload), "sha256": sealed.digest(payload), "serial": 1, **changes}
    (folder / "state/last").write_bytes(sealed.seal_line(body, identity)[0] + payload)
    (folder / "state/prev").unlink()


def forge_artifact(folder: Path, name: str) -> None:
    facts = manifest.read(folder)
    entry = manifest.Artifact(8, sealed.digest(b"precious"))
    manifest.write(folder, msgspec.structs.replace(facts, artifacts={name: entry}))


def forge_manifest(folder: Path, **changes: object) -> None:
    body = msgspec.structs.asdict(manifest.read(folder)) | changes
    (folder / "manifest.json").write_bytes(sealed.seal_document(body))


def replace_by_link(folder: Path, name: str) -> None:
    """The right bytes, but behind a symbolic link."""
    target = folder.parent / f"moved-{Path(name).name}"
    (folder / name).rename(target)
    (folder / name).symlink_to(target)


def replace_by_pipe(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)


def replace_by_folder(folder: Path, name: str) -> None:
    (folder / name).unlink()
    (folder / name).mkdir()


def append_to(folder: Path, name: str, data: bytes) -> None:
    with (folder / name).open("ab") as file:
        file.write(data)


DRAW, DEEP = "draws/000003.safetensors", b"[" * 100_000 + b"]" * 100_000
FORGED_RUNS = {
    "a pickle for a draw": lambda f: forge_draw(f, pickle.dumps(Bomb(f.parent / "bang"))),
    "a pickle for a state": lambda f: forge_state(f, pickle.dumps(Bomb(f.parent / "bang"))),
    "a pickle for the state file": lambda f: (f / "state/last").write_bytes(
        pickle.dumps(Bomb(f.parent / "bang"))
    ),
    "a pickle for the manifest": lambda f: (f / "manifest.json").write_bytes(
        pickle.dumps(Bomb(f.parent / "bang"))
    ),
    "a pickle for the index": lambda f: (f / "index.jsonl").write_bytes(
        pickle.dumps(Bomb(f.parent / "bang")) + b"\n"
    ),
    **{
        f"a draw with {name}": lambda f, data=data: forge_draw(f, data)
        for name, data in FORGED_TENSORS.items()
    },
    "a state with a huge header": lambda f: forge_state(f, struct.pack("<Q", 2**62) + b"{}"),
    "a state of 10^18 draws": lambda f: forge_state(f, tensors.encode({}), draws=10**18),
    "a state of -1 draws": lambda f: forge_state(f, tensors.encode({}), draws=-1),
    "a state of -5 log lines": lambda f: forge_state(f, tensors.encode({}), log=-5),
    "a state of 2^62 bytes": lambda f: forge_state(f, tensors.encode({}), bytes=2**62),
    "a draw named ../x": lambda f: forge_index(f, name="../000003.safetensors"),
    "a draw named /etc/passwd": lambda f: forge_index(f, name="/etc/passwd"),
    "a draw with another's name": lambda f: forge_index(f, name="000001.safetensors"),
    "a draw of 2^62 bytes": lambda f: forge_index(f, bytes=2**62),
    "a draw of -1 bytes": lambda f: forge_index(f, bytes=-1),
    "an index line with a surplus entry": lambda f: forge_index(f, run="rm -rf"),
    "an index line nested deep": lambda f: forge_index_bytes(f, b'{"line":3,"facts":' + DEEP),
    "an index line that is not UTF-8": lambda f: forge_index_bytes(f, b'{"line":3,"name":"\xff"'),
    "an index line that is no JSON": lambda f: forge_index_bytes(f, b'{"line":3,"energy":NaN'),
    "an index line of 2 MB": lambda f: append_to(f, "index.jsonl", b"x" * 2**21),
    "a log line of 2 MB": lambda f: append_to(f, "log.jsonl", b'{"line":4,' + b" " * 2**21),
    "a result named ../secret": lambda f: forge_artifact(f, "../secret"),
    "a result with an absolute name": lambda f: forge_artifact(f, str(f.parent / "secret")),
    "a result named eval/../../secret": lambda f: forge_artifact(f, "eval/../../secret"),
    "a manifest with a surplus entry": lambda f: forge_manifest(f, command="rm -rf"),
    "a manifest of 17 MB": lambda f: forge_manifest(f, origin={"x": "x" * (17 << 20)}),
    "a link for a draw": lambda f: replace_by_link(f, DRAW),
    "a link for a state": lambda f: replace_by_link(f, "state/last"),
    "a link for the manifest": lambda f: replace_by_link(f, "manifest.json"),
    "a link for the config": lambda f: replace_by_link(f, "config.toml"),
    "a link for the index": lambda f: replace_by_link(f, "index.jsonl"),
    "a link for the log": lambda f: replace_by_link(f, "log.jsonl"),
    "a link for a result": lambda f: replace_by_link(f, "results.json"),
    "a link for the lock": lambda f: (f / "lock").symlink_to(f.parent / "secret"),
    "a link for the draws": lambda f: replace_by_link(f, "draws"),
    "a link for the states": lambda f: replace_by_link(f, "state"),
    "a pipe for a draw": lambda f: replace_by_pipe(f, DRAW),
    "a pipe for the index": lambda f: replace_by_pipe(f, "index.jsonl"),
    "a pipe for the manifest": lambda f: replace_by_pipe(f, "manifest.json"),
    "a pipe for a state": lambda f: replace_by_pipe(f, "state/last"),
    "a pipe for the lock": lambda f: os.mkfifo(f / "lock"),
    "a folder for a draw": lambda f: replace_by_folder(f, DRAW),
    "a folder for a state": lambda f: replace_by_folder(f, "state/last"),
    "a config that is not UTF-8": lambda f: (
        (f / "config.toml").write_bytes(b"\xff"),
        forge_manifest(f, config_sha256=sealed.digest(b"\xff")),
    ),
}


def tree(folder: Path) -> dict[str, tuple]:
    """Everything below a folder, with what it is and what it holds."""
    facts = {name: os.lstat(folder / name) for name in map(str, sorted(folder.rglob("*")))}
    return {name: (f.st_mode, f.st_size, f.st_mtime_ns) for name, f in facts.items()}


def read_all(folder: Path) -> None:
    """Use the run for all it is good for; what is damaged must not be silently left out."""
    run = open_run(folder)
    list(run.iter_draws())
    list(run.read_log())
    saved = run.load_state()
    if saved and saved.notes:
        raise CorruptRun(saved.notes[0])
    for name in run.manifest["artifacts"]:
        run.read_artifact(name)
    open_run(folder, writable=True).close()


@pytest.mark.parametrize("forge", FORGED_RUNS.values(), ids=FORGED_RUNS.keys())
def test_a_forged_run_is_refused_in_one_line_without_side_effects(tmp_path, forge):
    folder = make_run(tmp_path / "run", draws=3)
    (tmp_path / "secret").write_bytes(b"precious")
    forge(folder)
    before = tree(tmp_path)
    problems = verify(folder).problems
    assert problems and all("\n" not in problem for problem in problems)
    with pytest.raises(CorruptRun) as refusal:
        read_all(folder)
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 500
    assert tree(tmp_path) == before
    assert (tmp_path / "secret").read_bytes() == b"precious"


def test_there_are_at_least_twenty_kinds_of_malice():
    record_proof("malicious_files", kinds=len(FORGED_RUNS))
    assert len(FORGED_RUNS) >= 20


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can make a device")
def test_a_device_for_a_draw_is_refused(tmp_path):
    folder = make_run(tmp_path / "run", draws=3)
    (folder / DRAW).unlink()
    os.mknod(folder / DRAW, 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero
    assert any("device" in problem for problem in verify(folder).problems)
    with pytest.raises(CorruptRun, match="not a regular file"):
        open_run(folder).load_draw(3)


def test_a_writer_does_not_write_through_a_link_that_waits_for_it(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"precious")
    with create_run(tmp_path / "run", "", {}) as run:
        for name in ("draws/000001.safetensors", "state/last", "manifest.json", "results.json"):
            (tmp_path / "run" / f"{name}.part").symlink_to(secret)
        run.commit_draw({"w": np.zeros(3)}, step=1)
        run.commit_state({"w": np.zeros(3)}, {})
        run.update(status="done")
        run.write_artifact("results.json", b"{}")
        (tmp_path / "run" / layout.LOG).unlink()
        (tmp_path / "run" / layout.LOG).symlink_to(secret)
        with pytest.raises(Exception, match=r"log\.jsonl"):
            run.append_log({"x": 1})
    assert secret.read_bytes() == b"precious"
