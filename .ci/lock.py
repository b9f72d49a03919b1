"""Write requirements.lock: every package of constraints.txt with the SHA-256 of its file.

    make lock

The hashes are those of the files that pip chooses on this machine, so the lock is for one system
and one version of Python, which its first line names; `make` itself installs from constraints.txt,
which is for all. No address of an index is written.
"""

import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def chosen() -> list[dict]:
    """What pip would install: name, version and hash of each file."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps"]
        command += ["--ignore-installed", "--report", str(report)]
        subprocess.run([*command, "-r", str(ROOT / "constraints.txt")], check=True)
        return json.loads(report.read_text())["install"]


def line(package: dict) -> str:
    """One requirement with its hash."""
    facts = package["metadata"]
    digest = package["download_info"]["archive_info"]["hashes"]["sha256"]
    return f"{facts['name']}=={facts['version']} --hash=sha256:{digest}"


def main() -> None:
    """Write the file."""
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    head = [f"# {system}", "# pip install --require-hashes --no-deps -r requirements.lock"]
    lines = sorted(map(line, chosen()), key=str.lower)
    (ROOT / "requirements.lock").write_text("\n".join([*head, *lines]) + "\n")


if __name__ == "__main__":
    main()
