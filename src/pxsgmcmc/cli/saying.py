"""The one way in which commands print: what others wrote cannot act on the terminal."""

import sys

from pxsgmcmc.errors import printable_lines


def say(text: object = "", *, end: str = "\n", to_errors: bool = False) -> None:
    """Print text of one or several lines, with a ? for every control character in it.

    Args:
      text: whose `str` is shown.
      end: what follows it.
      to_errors: whether it goes to standard error.
    """
    stream = sys.stderr if to_errors else sys.stdout
    print(printable_lines(text), end=end, file=stream, flush=True)
