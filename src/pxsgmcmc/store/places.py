"""The runs under a folder."""

from pathlib import Path

from pxsgmcmc.store.chains import CHAINS
from pxsgmcmc.store.layout import MANIFEST, chain_folders


def run_folders(root: Path) -> list[Path]:
    """Folders of runs under `root`, itself included; of several chains, the one above them."""
    places = {manifest.parent for manifest in root.rglob(CHAINS)}
    for manifest in root.rglob(MANIFEST):
        place, above = manifest.parent, manifest.parent.parent
        belongs = place != root and place in chain_folders(above)
        places.add(above if belongs else place)
    return sorted(places)
