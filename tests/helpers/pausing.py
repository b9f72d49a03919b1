"""Chains that wait for the test, so that no test has to be faster than a chain.

A process started with `environment` waits when it has put the line of a certain draw into its index
and is about to put the file in place, until the test lets it go on. A killed or signalled process
is then always in the middle of its run, on a fast disk and on a busy machine.
"""

import os
from pathlib import Path

# Python imports a module of this name, if there is one, before anything else.
SITE = """
import os, time
put_in_place = os.replace

def replace(source, target, **options):
    if os.fspath(target).endswith(os.environ["PAUSE_AT"]):
        while not os.path.exists(os.environ["PAUSE_UNTIL"]):
            time.sleep(0.01)
    return put_in_place(source, target, **options)

os.replace = replace
"""


class Pause:
    """A place in a run at which processes wait.

    Args:
      folder: for files of this class.
      draw: number of the draw at which to wait.
      chain: name of the run directory, if others than this one are not to wait.

    Attributes:
      environment: for the processes.
    """

    def __init__(self, folder: Path, draw: int, chain: str = ""):
        site = folder / "pausing"
        site.mkdir()
        (site / "sitecustomize.py").write_text(SITE)
        self._until = site / "go on"
        paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(paths),
            "PAUSE_AT": f"{chain}/draws/{draw:06}.safetensors",
            "PAUSE_UNTIL": str(self._until),
        }

    def end(self) -> None:
        """Let every process go on."""
        self._until.touch()
