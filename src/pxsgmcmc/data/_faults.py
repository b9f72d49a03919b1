"""One wording for files that are not what they should be: file, fault, remedy, in one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pxsgmcmc.errors import UserError, printable


def damaged(where: str | Path, fault: str, remedy: str = "download it again") -> UserError:
    """The error for a file, to be raised.

    Example:
      >>> str(damaged("train.bin", "has 3 bytes where 10 belong"))
      '`train.bin` has 3 bytes where 10 belong; download it again.'
    """
    end = "" if remedy.endswith(("?", ".")) else "."
    return UserError(f"`{printable(where)}` {printable(fault)}; {printable(remedy)}{end}")


@contextmanager
def parsing(where: str | Path, kind: str, remedy: str = "download it again") -> Iterator[None]:
    """Give every failure of a parser that is not ours the wording of `damaged`.

    tarfile, zipfile, gzip, zlib, pickletools and Pillow raise a dozen unrelated exceptions on
    damaged bytes, and the set changes between their versions; hence the wide net.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        fault = f"is not a readable {kind} ({printable(reason, 90)})"
        raise damaged(where, fault, remedy) from error
