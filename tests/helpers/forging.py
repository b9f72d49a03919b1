"""Run directories that somebody wrote by hand: any content, with seals and hashes that fit."""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pxsgmcmc.store import sealed

LINES = {"index": "index.jsonl", "log": "log.jsonl"}


class Bodies(NamedTuple):
    """All that is sealed in a run directory, as plain values to change."""

    manifest: dict[str, Any]
    index: list[dict[str, Any]]
    log: list[dict[str, Any]]
    states: dict[str, dict[str, Any]]  # name of the file -> its header
    results: Any


def bodies_of(folder: Path) -> Bodies:
    """Read a healthy run."""
    manifest = _body((folder / "manifest.json").read_bytes())
    lines = {
        part: [_body(line) for line in (folder / name).read_bytes().splitlines()]
        for part, name in LINES.items()
    }
    states = {
        name: _body((folder / "state" / name).read_bytes().partition(b"\n")[0])
        for name in ("last", "prev")
        if (folder / "state" / name).exists()
    }
    kept = folder / "results.json"
    results = msgspec.json.decode(kept.read_bytes()) if kept.exists() else None
    return Bodies(manifest, lines["index"], lines["log"], states, results)


def _body(data: bytes) -> dict[str, Any]:
    body = msgspec.json.decode(data)
    del body["seal"]
    return body


def forge(folder: Path, forged: Bodies) -> None:
    """Write the bodies back with seals, chains and hashes that fit them."""
    manifest = forged.manifest
    if forged.results is not None and isinstance(manifest.get("artifacts"), dict):
        data = msgspec.json.encode(forged.results)
        (folder / "results.json").write_bytes(data)
        entry = manifest["artifacts"].get("results.json")
        if isinstance(entry, dict) and {"bytes", "sha256"} <= entry.keys():
            entry |= {"bytes": len(data), "sha256": sealed.digest(data)}
    (folder / "manifest.json").write_bytes(sealed.seal_document(manifest))
    identity = _identity(manifest)
    seals = {
        part: _chain(folder / name, getattr(forged, part), identity) for part, name in LINES.items()
    }
    for name, header in forged.states.items():
        payload = (folder / "state" / name).read_bytes().partition(b"\n")[2]
        fitting = dict(header)
        for part, field in (("index", "draws"), ("log", "log")):
            count = header.get(field)
            if (
                f"{field}_seal" in header
                and isinstance(count, int)
                and 0 <= count < len(seals[part])
            ):
                fitting[f"{field}_seal"] = seals[part][count]
        (folder / "state" / name).write_bytes(sealed.seal_line(fitting, identity)[0] + payload)


def _identity(manifest: dict[str, Any]) -> str:
    """As a reader computes it, from what it reads."""
    read = sealed.from_json(sealed.to_json(manifest))
    fixed = [read.get(key) for key in ("format", "version", "config_sha256", "origin")]
    return sealed.digest(sealed.to_json(fixed))


def _chain(path: Path, bodies: list[dict[str, Any]], identity: str) -> list[str]:
    lines, seals = [], [identity]
    for body in bodies:
        line, seal = sealed.seal_line(body, seals[-1])
        lines.append(line)
        seals.append(seal)
    path.write_bytes(b"".join(lines))
    return seals
