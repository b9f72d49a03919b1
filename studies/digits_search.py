"""Search step size, friction and prior variance of SGHMC and PX-SGHMC on the validation digits.

    python studies/digits_search.py [--workers 2] [--minutes M]

Chains are as long as those of the bundled configurations; each is scored by the NLL of the average
of all its draws on the 297 validation rows. The test rows are not read. `best_first` says how
settings are tried: both methods get the same grid, the same rule and the same number of chains.
Every outcome is kept in digits_search.json at once, and a search that was stopped goes on from it.
"""

import argparse
import functools
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from best_first import Axis, Chain, Rules, neighbours, ranking, replay, settled

from pxsgmcmc import cli
from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.errors import UserError
from pxsgmcmc.store.files import write_file

HERE = Path(__file__).parent
OUTCOME = HERE / "digits_search.json"
COARSE = (-2, 0, 2)  # factors 1/4, 1 and 4

# Axes are named by the flag of `pxsgmcmc run`. The grids are centred on the published friction and
# between the first values that were seen to work for the one and the other method.
STEP_SIZE = Axis("sampler.step_size.peak", 1e-3, COARSE, stride=1)
VARIANCE = Axis("prior.variance", 0.2, COARSE, stride=1)


class Study(NamedTuple):
    """What is searched.

    Attributes:
      configs: bundled configuration of each method.
      rules: of the search.
      base: flags over the configurations, for all chains.
    """

    configs: dict[str, str]
    rules: Rules
    base: tuple[str, ...] = ()


DIGITS = Study(
    configs={"SGHMC": "digits/sghmc", "PX-SGHMC": "digits/px_sghmc"},
    rules=Rules(
        axes={
            "SGHMC": [STEP_SIZE, VARIANCE, Axis("sampler.friction", 100.0, COARSE, stride=2)],
            "PX-SGHMC": [
                STEP_SIZE,
                VARIANCE,
                Axis("sampler.friction.base", 100.0, COARSE, stride=2),
                Axis("sampler.friction.factors", 1.0, (0,), stride=2),
            ],
        },
        seeds=(1000, 1001, 1002),  # not those of the runs that are reported
        most=100,
    ),
)

Ask = Callable[[str, Sequence[str], Sequence[str]], dict[str, Any]]  # as `digits_trial.trial`


class Worker:
    """A process with one thread that runs chains; two of them beat one with two threads."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "digits_trial.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PJRT_NPROC": "1"},
        )

    def __call__(self, name: str, base: Sequence[str], flags: Sequence[str]) -> dict[str, Any]:
        """The outcome of one chain."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([name, base, flags]).encode() + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise UserError("A worker died; what it told is kept, so start the search again.")
        return json.loads(answer)

    def close(self) -> None:
        """Let the process end by itself."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def flags_of(rules: Rules, chain: Chain) -> list[str]:
    """The chain's settings as flags of `pxsgmcmc run`."""
    values = settings_of(rules, chain.method, chain.point) | {"seed": chain.seed}
    return [word for name, value in values.items() for word in (f"--{name}", repr(value))]


def settings_of(rules: Rules, method: str, point: Sequence[int]) -> dict[str, Any]:
    """The values at a point, by name."""
    axes = rules.axes[method]
    return {axis.name: axis.value(k) for axis, k in zip(axes, point, strict=True)}


class Book:
    """The outcomes, in memory and in a file that is whole at any time."""

    def __init__(self, study: Study, path: Path):
        self.study, self.path = study, path
        self.trials: dict[Chain, dict[str, Any]] = {}
        if path.exists():
            kept = json.loads(path.read_text("utf-8"))
            if kept["design"] != self.design:
                raise UserError(
                    f"`{path}` holds a search of another design: remove it, or choose another file "
                    "with --out."
                )
            for row in kept["trials"]:
                chain = Chain(row.pop("method"), tuple(row.pop("point")), row.pop("seed"))
                self.trials[chain] = {k: row[k] for k in ("nll", "err", "seconds")}

    @functools.cached_property
    def design(self) -> dict[str, Any]:
        """All that an outcome depends on, as JSON has it."""
        methods = {}
        for method, name in self.study.configs.items():
            config = load_config(name, list(self.study.base))
            chain = config.chain
            methods[method] = {
                "config": name,
                "data": config.data.name,
                "model": msgspec.to_builtins(config.model),
                "expansion": msgspec.to_builtins(config.expansion),
                "budget": [chain.draws, chain.steps, chain.batch_size],
                "axes": [axis._asdict() for axis in self.study.rules.axes[method]],
            }
        rules = {"seeds": self.study.rules.seeds, "most": self.study.rules.most}
        design = {"score": "validation NLL of all draws", "methods": methods, **rules}
        return json.loads(json.dumps(design))

    @property
    def losses(self) -> dict[Chain, float]:
        """The score of every chain; infinite where it diverged."""
        return {c: math.inf if t["nll"] is None else t["nll"] for c, t in self.trials.items()}

    def add(self, chain: Chain, outcome: dict[str, Any]) -> None:
        """Keep an outcome."""
        self.trials[chain] = outcome
        self.save()

    def save(self) -> None:
        """Write everything, a trial a line."""
        head = {"design": self.design, "chosen": chosen(self.study.rules, self.losses)}
        text = msgspec.json.format(msgspec.json.encode(head), indent=1).decode().removesuffix("\n}")
        rows = [
            {
                "method": chain.method,
                "point": chain.point,
                "seed": chain.seed,
                **outcome,
                "settings": settings_of(self.study.rules, chain.method, chain.point),
            }
            for chain, outcome in sorted(self.trials.items())
        ]
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        write_file(self.path, f'{text},\n "trials": [\n{lines}\n ]\n}}\n'.encode())


def chosen(rules: Rules, losses: dict[Chain, float]) -> dict[str, Any]:
    """The leading settings of each method, with what speaks for them."""
    used, wave = replay(rules, losses)
    found = {}
    for method, axes in rules.axes.items():
        if not (standings := ranking(used, method)):
            continue
        best = standings[0]
        tried = [s.point for s in standings]
        found[method] = {
            "settings": settings_of(rules, method, best.point),
            "validation_nll": [used[c] for c in used if c[:2] == (method, best.point)],
            "mean": best.loss,
            "settled": settled(rules, used, method),
            "over": not wave,
            "chains": sum(chain.method == method for chain in used),
            "points": len(tried),
            "inside": all(point in tried for point in neighbours(axes, best.point)),
            "tried": {
                axis.name: sorted({axis.value(point[i]) for point in tried})
                for i, axis in enumerate(axes)
            },
        }
    return json.loads(json.dumps(found).replace("Infinity", "null"))


def search(study: Study, book: Book, workers: Sequence[Ask], deadline: float = math.inf) -> bool:
    """Run what the rules ask for until they ask no more, or the deadline; says whether it is over.

    Args:
      study: what is searched.
      book: outcomes known already, and those to come.
      workers: each runs one chain at a time.
      deadline: of `time.monotonic`, after which no chain is begun.
    """
    turn = threading.Lock()
    while wave := replay(study.rules, book.losses)[1]:
        todo = iter(wave)

        def work(ask: Ask, todo=todo) -> None:
            while time.monotonic() < deadline:
                with turn:
                    chain = next(todo, None)
                if chain is None:
                    return
                flags = flags_of(study.rules, chain)
                outcome = ask(study.configs[chain.method], study.base, flags)
                with turn:
                    book.add(chain, outcome)
                    tell(book, chain)

        with ThreadPoolExecutor(len(workers)) as pool:
            list(pool.map(work, workers))
        if time.monotonic() >= deadline:
            return not replay(study.rules, book.losses)[1]
    return True


def tell(book: Book, chain: Chain) -> None:
    """Say on a line how a chain ended and who leads."""
    outcome, rules = book.trials[chain], book.study.rules
    score = "diverged" if outcome["nll"] is None else f"NLL {outcome['nll']:.4f}"
    values = " ".join(f"{v:g}" for v in settings_of(rules, chain.method, chain.point).values())
    number = sum(c.method == chain.method for c in book.trials)
    lead = ranking(book.losses, chain.method)[0]
    best = " ".join(f"{v:g}" for v in settings_of(rules, chain.method, lead.point).values())
    print(
        f"{time.strftime('%H:%M:%S')} {chain.method:9}{number:3}  {values} seed {chain.seed}: "
        f"{score} in {outcome['seconds']:.0f} s; leads {best} with {lead.loss:.4f} of {lead.seeds}",
        flush=True,
    )


def main() -> int:
    """Search, or go on with it."""
    parser = argparse.ArgumentParser(description="Search the settings of both methods.")
    parser.add_argument("--workers", type=int, default=2, help="processes, one thread each")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no chain after")
    parser.add_argument("--out", type=Path, default=OUTCOME, help="file of outcomes")
    asked = parser.parse_args()
    deadline = time.monotonic() + 60.0 * asked.minutes
    book = Book(DIGITS, asked.out)
    workers = [Worker() for _ in range(max(1, asked.workers))]
    try:
        over = search(DIGITS, book, workers, deadline)
    finally:
        for worker in workers:
            worker.close()
    book.save()
    print(json.dumps(chosen(DIGITS.rules, book.losses), indent=1))
    print("The search is over." if over else "The search is not over; the same command goes on.")
    return 0


if __name__ == "__main__":
    sys.exit(cli.guarded(main))
