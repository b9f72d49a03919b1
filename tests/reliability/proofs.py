"""Counts of the long proofs, left where `benchmarks/reliability.py` makes its table from."""

import json
import os
from pathlib import Path


def record(name: str, **counts: object) -> None:
    """Write the counts to the folder that the environment names; nothing without one."""
    folder = os.environ.get("PXSGMCMC_PROOF_DIR")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{name}.json").write_text(json.dumps(counts, indent=2) + "\n")
