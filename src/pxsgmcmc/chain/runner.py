"""The loop of one chain: chunk, look, keep, save; and what happens when something goes wrong."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.chain.collect import Collection
from pxsgmcmc.chain.executors import Advance, Tally
from pxsgmcmc.chain.health import Health, vitals
from pxsgmcmc.chain.progress import Report, Reporter
from pxsgmcmc.chain.record import Memory, from_arrays, to_arrays
from pxsgmcmc.chain.stop import StopWish
from pxsgmcmc.chain.tensorboard import EventWriter
from pxsgmcmc.errors import Diverged
from pxsgmcmc.expansion.position import collapse
from pxsgmcmc.memory import give_back_freed_memory
from pxsgmcmc.store import Run


@jax.jit
def _copy(tree: Any) -> Any:
    return jax.tree.map(jnp.copy, tree)


class Pace(NamedTuple):
    """How often the host looks at the device."""

    chunk_seconds: float
    checkpoint_seconds: float
    retries: int


class Runner:
    """One chain under way.

    Args:
      advance_with: from a factor on the step size to what takes the steps.
      state: of the sampler, where the chain starts.
      batches: which rows each step sees.
      collection: which steps are kept.
      record: where.
      health: when to give up.
      pace: how often to look.
      reporter: who is told.
      events: who is also told.
    """

    def __init__(
        self,
        advance_with: Callable[[float], Advance],
        state: Any,
        batches: Batches,
        collection: Collection,
        record: Run | Memory,
        health: Health,
        pace: Pace,
        reporter: Reporter,
        events: EventWriter | None,
    ):
        self.advance_with, self.batches, self.collection = advance_with, batches, collection
        self.record, self.health, self.pace = record, health, pace
        self.reporter, self.events = reporter, events
        self.state = _copy(state)  # the first chunk donates it
        self.step, self.drawn = int(state.step), 0
        self.retried: list[dict[str, Any]] = []  # where the chain diverged and was set back
        self.stopped_by: int | None = None
        self._collapse = jax.jit(collapse)
        self._chunk_steps, self._speed, self._compiled = 1, 0.0, False
        self._reported = self._saved = time.monotonic()
        self._untold: tuple[Report, dict[str, float]] | None = None  # with norms by group

    @property
    def scale(self) -> float:
        """The factor on the step size: halved each time the chain was set back."""
        return 0.5 ** len(self.retried)

    def resume(self) -> bool:
        """Go back to the record's saved state, if it has one; says whether it had."""
        saved = self.record.rewind()
        if saved is None:
            return False
        self.state = from_arrays(saved.arrays, self.state, "The saved state")
        self.step, self.drawn = int(self.state.step), saved.draws
        self.retried = saved.meta["retried"]
        self.health.recall(saved.meta["health"])
        return True

    def run(self) -> None:
        """Take all the steps that are left; ends early on a signal, raises `Diverged`."""
        advance = self.advance_with(self.scale)
        with StopWish() as wish:
            while self.drawn < self.collection.draws and wish.signal is None:
                try:
                    self._to_next_draw(advance, wish)
                except Diverged as error:
                    self._retry(error)
                    advance = self.advance_with(self.scale)
            self.stopped_by = wish.signal if self.drawn < self.collection.draws else None
            self.save()
            self.record.update("done" if self.stopped_by is None else "interrupted")

    def save(self) -> None:
        """Save all that is needed to go on from here."""
        self._tell()
        meta = {"retried": self.retried, "health": self.health.memory()}
        self.record.commit_state(to_arrays(self.state), meta)
        self._saved = time.monotonic()

    def _to_next_draw(self, advance: Advance, wish: StopWish) -> None:
        target = self.collection.step_of(self.drawn + 1)
        while self.step < target:
            energy = self._chunk(advance, target)
            if self.step == target:
                weights = to_arrays(self._collapse(self.state.position))
                self.record.commit_draw(weights, step=target, energy=energy)
                self.drawn += 1
            # After the draw: a state between a step and its draw would have lost the energy.
            if time.monotonic() - self._saved >= self.pace.checkpoint_seconds:
                self.save()
            if wish.signal is not None:
                return

    def _chunk(self, advance: Advance, target: int) -> float:
        """Take steps towards `target`, look at the result; returns the last energy."""
        first, count = self.step, min(self._chunk_steps, target - self.step, advance.most)
        began = time.monotonic()
        self.state, tally = advance(self.state, first, self.batches.rows(first, count))
        looked_at = tally, vitals(self.state)
        self._tell()  # while the device is busy
        self.batches.prepare(first + count, count)
        tally, seen = jax.device_get(looked_at)
        if not self._compiled:
            give_back_freed_memory()  # what compiling left behind
        self._set_pace(count, time.monotonic() - began)
        self.step = first + count
        energy = float(tally.energy) / count  # the mean: one bad energy makes it bad
        self.health.check(first, self.step - 1, energy, float(tally.step_size), seen)
        since = time.monotonic() - self._reported  # chunks that a draw cuts short are not all told
        due = self._speed and since > 0.5 * self.pace.chunk_seconds
        if due or self._at_end(target):
            self._untold = self._report(tally, energy, seen)
        return float(tally.last_energy)

    def _at_end(self, target: int) -> bool:
        return self.step == target and self.drawn + 1 == self.collection.draws

    def _set_pace(self, count: int, seconds: float) -> None:
        """Aim at chunks of the wished length; the first call also compiles, so it says nothing."""
        if not self._compiled:
            self._chunk_steps, self._compiled = 4, True
            return
        self._speed = count / max(seconds, 1e-9)
        wished = max(1, round(self._speed * self.pace.chunk_seconds))
        self._chunk_steps = min(wished, 8 * self._chunk_steps)

    def _report(
        self, tally: Tally, energy: float, seen: dict[str, Any]
    ) -> tuple[Report, dict[str, float]]:
        self._reported = time.monotonic()
        report = Report(
            step=self.step,
            steps=self.collection.step_of(self.collection.draws),
            draws=self.drawn + (self.step == self.collection.step_of(self.drawn + 1)),
            all_draws=self.collection.draws,
            steps_per_second=self._speed,
            energy=energy,
            step_size=float(tally.step_size),
            temperature={k: float(v) for k, v in seen.get("temperature", {}).items()},
            acceptance=float(tally.acceptance / tally.tests) if tally.tests else None,
        )
        return report, {group: float(value) for group, value in seen["norm"].items()}

    def _tell(self) -> None:
        """Show, log and send the last report, unless that was done."""
        if self._untold is None:
            return
        (report, norms), self._untold = self._untold, None
        self.reporter.report(report)
        self.record.append_log({**report.facts(), "norm": norms})
        if self.events is not None:
            named = {f"temperature/{k}": v for k, v in report.temperature.items()}
            named |= {f"norm/{k}": v for k, v in norms.items()}
            named |= {"energy": report.energy, "step_size": report.step_size}
            self.events.scalars(report.step, named)

    def _retry(self, error: Diverged) -> None:
        """Go back to the last saved state with half the step size, or give up."""
        if len(self.retried) >= self.pace.retries:
            self.record.update("diverged", divergence=str(error))
            raise error
        noticed = self.step
        self.resume()
        setback = {"noticed": noticed, "back_to": self.step, "step_size_factor": self.scale / 2}
        self.retried = [*self.retried, setback]
        self.record.update(retried=self.retried, divergence=str(error))
        self.save()  # so that a resumed chain goes on with the smaller steps too
        self.reporter.say(
            f"{error} Trying again from step {self.step} with {self.scale:g} of the step size."
        )
