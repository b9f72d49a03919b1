"""The command `pxsgmcmc watch`: a run's log as it grows, from another terminal."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import tyro

from pxsgmcmc.cli.opening import Directory
from pxsgmcmc.cli.run_facts import status
from pxsgmcmc.cli.saying import say
from pxsgmcmc.cli.sparklines import sparkline
from pxsgmcmc.errors import check_number, printable
from pxsgmcmc.progress import clock
from pxsgmcmc.store import open_run
from pxsgmcmc.store.chains import is_several, not_begun, read_chains
from pxsgmcmc.store.known_facts import LogLine
from pxsgmcmc.store.layout import chain_folder

_KEPT = 4000  # lines of a log that are drawn
_RECENT = 10  # lines whose mean speed says what is left; that of one jumps on a busy machine


class Glimpse(NamedTuple):
    """One chain, as its log has it now."""

    name: str
    state: str  # in a few words
    ended: bool
    log: list[dict[str, Any]]


def watch(
    directory: Directory,
    once: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    seconds: float = 2.0,
) -> None:
    """Follow a run while another process makes it: energy, temperatures and speed of every chain.

    pxsgmcmc watch runs/mine
    pxsgmcmc watch runs/mine --once

    It reads the log alone and changes nothing; Ctrl-C ends the watching, not the run. It ends by
    itself when every chain has ended, and says how.

    Args:
      directory: of the run, or of the folder of several chains.
      once: look once and end.
      seconds: between two looks.
    """
    check_number("seconds", seconds, at_least=0.1)
    folder = Path(directory)
    if once or not sys.stdout.isatty():
        for glimpses in _looks(folder, seconds, once=once):
            say("\n".join(line for glimpse in glimpses for line in described(glimpse)))
        return
    from rich.live import Live
    from rich.text import Text

    try:
        with Live(auto_refresh=False) as screen:
            for glimpses in _looks(folder, seconds):
                screen.update(Text("\n".join(_lines(glimpses))), refresh=True)
    except KeyboardInterrupt:
        return


def _looks(folder: Path, seconds: float, *, once: bool = False) -> Iterator[list[Glimpse]]:
    while True:
        glimpses = look(folder)
        yield glimpses
        if once or all(glimpse.ended for glimpse in glimpses):
            return
        time.sleep(seconds)


def look(folder: Path) -> list[Glimpse]:
    """Every chain of a run, one that has not begun included."""
    if not is_several(folder):
        return [_glimpse(folder)]
    places = [chain_folder(folder, chain) for chain in range(read_chains(folder).chains)]
    return [
        Glimpse(str(place), "not begun", False, []) if not_begun(place) else _glimpse(place)
        for place in places
    ]


def _glimpse(place: Path) -> Glimpse:
    run = open_run(place)
    state = status([run])
    return Glimpse(str(place), state, state != "running", list(run.read_log())[-_KEPT:])


def _lines(glimpses: list[Glimpse]) -> list[str]:
    return [line for glimpse in glimpses for line in described(glimpse)]


def described(glimpse: Glimpse) -> list[str]:
    """A chain in a few lines."""
    head = f"{printable(glimpse.name)}  {printable(glimpse.state)}"
    if not glimpse.log:
        return [head, "  nothing is logged yet"] if not glimpse.ended else [head]
    last = msgspec.convert(glimpse.log[-1], LogLine)  # which gives a value to what is not there
    recent = [line.get("steps_per_second") or 0.0 for line in glimpse.log[-_RECENT:]]
    speed = sum(recent) / len(recent)
    head += (
        f"  {last.step / max(last.total_steps, 1):.0%}, draw {last.draws}/{last.all_draws}, step "
        f"{last.step}/{last.total_steps}"
    )
    if not glimpse.ended and speed > 0.0:
        head += f", {clock((last.total_steps - last.step) / speed)} left"
    series = {"energy": [line.get("energy") for line in glimpse.log]}
    for group in last.temperature:
        series[f"T[{group}]"] = [line.get("temperature", {}).get(group) for line in glimpse.log]
    series["steps/s"] = [line.get("steps_per_second") for line in glimpse.log]
    width = max(map(len, series))
    rows = [
        f"  {printable(name).ljust(width)}  {_short(values[-1]):>9}  {sparkline(values)}"
        for name, values in series.items()
    ]
    return [head, *rows]


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}"
