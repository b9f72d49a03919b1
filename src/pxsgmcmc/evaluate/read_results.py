"""What was found out about a run directory, read without JAX."""

import shlex
from pathlib import Path

import msgspec

from pxsgmcmc.errors import UserError
from pxsgmcmc.results import Results
from pxsgmcmc.run.artifacts import RESULTS, Artifacts
from pxsgmcmc.run.kept_results import decoded
from pxsgmcmc.store import open_run
from pxsgmcmc.store.chains import is_several, open_folders


def read_results(directory: str | Path) -> Results:
    """What `pxsgmcmc evaluate` found out about a run, checked against its hash."""
    folder = Path(directory)
    # Say so if it is not a run at all, or if a chain is missing.
    _ = open_folders(folder) if is_several(folder) else open_run(folder)
    again = f"`pxsgmcmc evaluate {shlex.quote(str(folder))}`"
    data = Artifacts(folder).read(RESULTS)
    if data is None:
        raise UserError(f"`{folder}` has not been evaluated: run {again} first.")
    try:
        return decoded(data, Results)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(
            f"`{folder / RESULTS}` cannot be read, as if another version had written it "
            f"({error}): run {again} again."
        ) from None
