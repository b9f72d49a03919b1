"""The commands `pxsgmcmc data list`, `data get` and `data check`."""

from rich.console import Console
from rich.table import Table

from pxsgmcmc.cli.opening import Folder
from pxsgmcmc.cli.saying import say
from pxsgmcmc.data import cache_folder
from pxsgmcmc.data._embedded import ABOUT
from pxsgmcmc.data._locate import check_official, fetch_official
from pxsgmcmc.data._official import OFFICIAL


def list_sets(root: Folder = None) -> None:
    """List the data sets: those inside the package first, then those to download.

    pxsgmcmc data list

    Official sets go to the folder named last; the variable PXSGMCMC_DATA or --root changes it.

    Args:
      root: the folder they are looked for in.
    """
    table = Table("name", "what", "licence", "download", box=None)
    for name, about in ABOUT.items():
        table.add_row(name, about, "", "none needed")
    for name, official in OFFICIAL.items():
        files = official.forms[0].files
        sizes = [file.size for file in files if file.size is not None]
        size = f"{sum(sizes) / 1e6:,.0f} MB" if len(sizes) == len(files) else "size not published"
        table.add_row(name, official.about, official.licence, size)
    Console().print(table)
    say(f"Official sets are kept in {cache_folder(root)}")


def get(name: str, root: Folder = None) -> None:
    """Download an official data set, checking size and hash before use.

    pxsgmcmc data get cifar10
    pxsgmcmc data get svhn --root /scratch/data

    A download that was cut off goes on where it stopped when the command is given again.

    Args:
      name: as in `pxsgmcmc data list`.
      root: the folder to put it in; it goes to ROOT/NAME.
    """
    paths, notes = fetch_official(name, root)
    for line in (*(f"{path} is ready" for path in paths), *notes):
        say(line)


def check(name: str, root: Folder = None) -> None:
    """Compare an official data set on disk with what was published, and read all of it.

    pxsgmcmc data check cifar10
    pxsgmcmc data check cifar10-c --root /scratch/data

    Args:
      name: as in `pxsgmcmc data list`.
      root: the folder to look in.
    """
    path, dataset, notes = check_official(name, root)
    lines = (f"{path} holds {dataset.summary()}", f"  sha256 of the content: {dataset.sha256}")
    for line in (*lines, *notes):
        say(line)
