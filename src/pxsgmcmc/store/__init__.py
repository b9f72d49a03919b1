"""The run directory: nothing that was committed is lost or torn, whatever happens to its writer.

    config.toml, manifest.json       what the run is; the first is hashed in the second
    draws/000001.safetensors ...     one file a draw, its SHA-256 in the index
    index.jsonl, log.jsonl           sealed lines, each chained to the one above
    state/last, state/prev           where the chain goes on
    eval/ results.json report.html   results, their SHA-256 in the manifest
    lock                             who writes, for as long as it is renewed

A process may be killed between any two instructions, and the power may fail. Five rules make that
safe.

1. A file is written under another name (`NAME.part`), flushed, and renamed when it is whole.
2. A draw is written beside, *then* gets its index line, *then* its name. The line is the commit.
   Before it, the part is a leftover that is removed; after it, a missing name is made from it. So a
   draw that has its name and no line was never left by a crash: the index has been cut, and
   that is damage. The other order, name first, could not tell the two apart.
3. A result is written beside, then its hash goes into the manifest, then it gets its name; a state
   likewise becomes `last` only when it is whole. Both are finished from the part after a crash.
4. A state is saved after the draws and log lines it knows of, and says how many these are and with
   which seals: it is never ahead of them. A writer that opens the directory goes on from the state.
   Log lines after it are cut off, since the chain will write them again. Draws after it stay,
   readable; when the chain makes them again, the same bytes are left as they are, and other bytes
   replace them. So a chain ends each chunk with its log line, its draws, its state, in this order.
5. A run exists when its manifest does, which is written last; until then the folder is nobody's.

Several chains have a manifest above them (`store/chains.py`): how many are expected, and the hashes
of what they share. Seals and hashes tell accidents and changes made in passing. They are no
signatures: whoever can write to the folder can seal what they write, so every field that is read
back is checked as well.

A last line of a journal that stops before its newline, or of which a sector was never written, is
what a crash leaves, and is no damage. Everything else that differs by a single bit from what was
written is, and is noticed by `verify` and by whatever reads it. No pickle is written or read.
"""

from pxsgmcmc.store.chains import create_chains, verify_chains
from pxsgmcmc.store.contents import Draw
from pxsgmcmc.store.files import StorageFull
from pxsgmcmc.store.opening import create_run, open_run
from pxsgmcmc.store.run import SavedState, StoredRun
from pxsgmcmc.store.verify import Findings, verify

__all__ = [
    "Draw",
    "Findings",
    "SavedState",
    "StorageFull",
    "StoredRun",
    "create_chains",
    "create_run",
    "open_run",
    "verify",
    "verify_chains",
]
