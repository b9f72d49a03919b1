"""The loop of one or several chains: chunk, look, keep, save; and what happens when it fails."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import msgspec
import numpy as np

from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.divergence import DivergenceWatch, check_first_energy, norms
from pxsgmcmc.chain.executors import Advance
from pxsgmcmc.chain.graceful_stop import GracefulStop
from pxsgmcmc.chain.log_line import in_words
from pxsgmcmc.chain.record import MemoryRecord
from pxsgmcmc.chain.saved_memory import check_place, read_memory
from pxsgmcmc.chain.since import Averages
from pxsgmcmc.errors import Diverged
from pxsgmcmc.expansion.position import collapse
from pxsgmcmc.memory import give_back_freed_memory
from pxsgmcmc.progress import Progress
from pxsgmcmc.store import Run as StoredRun
from pxsgmcmc.tree import from_arrays, to_arrays

Record = StoredRun | MemoryRecord


@jax.jit
def _copy(tree: Any) -> Any:
    return jax.tree.map(jnp.copy, tree)


SHARE_OF_A_LINE = 0.01  # of all steps, after which the log gets a line however fast the chain is
# Once for all runs: a function made for each would be compiled again for each.
_norms_of_several = jax.jit(jax.vmap(norms))


class Pace(NamedTuple):
    """How often the host looks at the device."""

    chunk_seconds: float
    checkpoint_seconds: float
    retries: int


@dataclass
class Chain:
    """One chain under way, as the host knows it."""

    record: Record
    batches: Batches
    watch: DivergenceWatch
    step: int = 0
    drawn: int = 0
    since_draw: Averages = field(default_factory=Averages)
    since_log: Averages = field(default_factory=Averages)
    untold: dict[str, Any] | None = None  # a line of the log that is to be written


class Runner:
    """Chains under way, all in one program.

    Args:
      advance_with: from a factor on the step size to what takes the steps.
      state: of the sampler where the chain starts; of several chains, stacked.
      chains: where each keeps its draws, which rows it sees, what watches it.
      collection: which steps are kept.
      pace: how often to look.
      progress: who is told.
    """

    def __init__(
        self,
        advance_with: Callable[[float], Advance],
        state: Any,
        chains: Sequence[Chain],
        collection: Collection,
        pace: Pace,
        progress: Progress,
    ):
        self.advance_with, self.collection = advance_with, collection
        self.chains, self.pace, self.progress = chains, pace, progress
        self.several = len(chains) > 1
        self.state = _copy(state)  # the first chunk donates it
        self.retried: list[dict[str, Any]] = []  # where the chain diverged and was set back
        self.stopped_by: int | None = None
        self._collapse = jax.jit(collapse)
        self._norms = _norms_of_several if self.several else norms
        self._chunk_steps, self._speed, self._compiled = 1, 0.0, False
        self._told = self._saved = time.monotonic()
        self._told_step = 0

    @property
    def scale(self) -> float:
        """The factor on the step size: halved each time the chain was set back."""
        return 0.5 ** len(self.retried)

    def resume(self) -> bool:
        """Go back to the saved states, if there are any; says whether there were."""
        saved = [chain.record.rewind() for chain in self.chains]
        states = []
        for place, (chain, one) in enumerate(zip(self.chains, saved, strict=True)):
            state = self._of(place, self.state)
            if one is not None:
                state = from_arrays(one.arrays, state, "The saved state")
                memory = read_memory(one.meta)
                chain.drawn, self.retried = one.draws, memory.retried
                chain.watch.recall(msgspec.structs.asdict(memory.watch))
                chain.since_draw = memory.since_draw
                check_place(int(state.step), chain.drawn, self.collection)
            chain.step, chain.since_log, chain.untold = int(state.step), Averages(), None
            states.append(state)
        if self.several:
            self.state = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
        else:
            self.state = states[0]
        return any(one is not None for one in saved)

    def run(self) -> None:
        """Take all the steps that are left; ends early on a signal, raises `Diverged`."""
        advance = self.advance_with(self.scale)
        with GracefulStop() as stop:
            while self.unfinished and stop.signal is None:
                try:
                    self._chunk(advance)
                except Diverged as error:
                    self._retry(error)
                    advance = self.advance_with(self.scale)
            self.stopped_by = stop.signal if self.unfinished else None
            self.save()
            for chain in self.chains:
                chain.record.update("done" if self._is_done(chain) else "interrupted")

    def save(self) -> None:
        """Save all that is needed to go on from here."""
        self._tell()
        for place, chain in enumerate(self.chains):
            meta = {
                "retried": self.retried,
                "watch": chain.watch.memory(),
                "since_draw": chain.since_draw.memory(),
            }
            chain.record.commit_state(to_arrays(self._of(place, self.state)), meta)
        self._saved = time.monotonic()

    def states(self) -> list[Any]:
        """Of the sampler, of each chain."""
        return [self._of(place, self.state) for place in range(len(self.chains))]

    def _of(self, place: int, tree: Any) -> Any:
        """One chain's part of what is stacked, on the host: slices on a device cost a call each."""
        if not self.several:
            return tree
        return jax.tree.map(lambda x: np.array(np.asarray(x)[place]), tree)

    def _is_done(self, chain: Chain) -> bool:
        return chain.drawn >= self.collection.draws

    @property
    def unfinished(self) -> bool:
        """Whether a chain has draws to make."""
        return not all(map(self._is_done, self.chains))

    def _chunk(self, advance: Advance) -> None:
        """Take steps towards the next draw, look at the result, keep what is due."""
        first = min(chain.step for chain in self.chains if not self._is_done(chain))
        active = [chain.step == first and not self._is_done(chain) for chain in self.chains]
        moving = [place for place, moves in enumerate(active) if moves]
        target = self.collection.step_of(self.chains[moving[0]].drawn + 1)
        # After a crash in the middle of saving, some chains may be ahead of others: these wait.
        target = min([target, *(c.step for c in self.chains if c.step > first)])
        count = min(self._chunk_steps, target - first, advance.most)
        rows = [chain.batches.rows(first, count) for chain in self.chains]
        began = time.monotonic()
        self.state, sums = advance(
            self.state, first, np.stack(rows) if self.several else rows[0], np.array(active)
        )
        looked_at = sums, self._norms(self.state)
        self._tell()  # while the device is busy
        for chain in self.chains:
            chain.batches.shuffle_ahead(first + count, count)
        sums, seen = jax.device_get(looked_at)
        if not self._compiled:
            give_back_freed_memory()  # what compiling left behind
        self._set_pace(count, time.monotonic() - began)
        for place in moving:
            self._look(place, first, count, self._of(place, sums), self._of(place, seen))
        for place in moving:
            self._keep_draw(place)
        self._prepare_to_tell(moving)
        # After the draws: a state between a step and its draw would have lost the energy.
        if time.monotonic() - self._saved >= self.pace.checkpoint_seconds:
            self.save()

    def _look(self, place: int, first: int, count: int, sums: Any, seen: dict[str, Any]) -> None:
        chain = self.chains[place]
        chain.step = first + count
        energy = float(sums.energy) / count  # the mean: one bad energy makes it bad
        if first == 0:
            check_first_energy(float(sums.first_energy))
        try:
            chain.watch.check(
                first,
                chain.step - 1,
                energy,
                float(sums.largest_step_size),
                {name: float(norm) for name, norm in seen.items()},
            )
        except Diverged as error:
            if not self.several:
                raise
            raise Diverged(f"Chain {place}: {error}") from error
        for since in (chain.since_draw, chain.since_log):
            since.add(count, sums, seen)

    def _keep_draw(self, place: int) -> None:
        chain = self.chains[place]
        if chain.step != self.collection.step_of(chain.drawn + 1):
            return
        weights = to_arrays(self._collapse(self._of(place, self.state.position)))
        since = chain.since_draw
        chain.record.commit_draw(
            weights, step=chain.step, energy=since.last_energy, **since.draw_facts()
        )
        chain.drawn += 1
        chain.since_draw = Averages()

    def _prepare_to_tell(self, moving: Sequence[int]) -> None:
        """Chunks that a draw cuts short are not all told: a line covers all since the last."""
        now, done = time.monotonic(), not self.unfinished
        step = max(self.chains[place].step for place in moving)
        due = self._speed and now - self._told > 0.5 * self.pace.chunk_seconds
        due = due or step - self._told_step >= self.collection.total_steps * SHARE_OF_A_LINE
        if not (due or done):
            return
        self._told, self._told_step = now, step
        for place in moving:
            chain = self.chains[place]
            chain.untold = {
                "step": chain.step,
                "total_steps": self.collection.total_steps,
                "draws": chain.drawn,
                "all_draws": self.collection.draws,
                "steps_per_second": self._speed,
                **chain.since_log.log_facts(),
                "time": time.time(),
            }
            chain.since_log = Averages()

    def _tell(self) -> None:
        """Show and log what was prepared, unless that was done."""
        lines = [chain.untold for chain in self.chains if chain.untold is not None]
        for chain in self.chains:
            if chain.untold is not None:
                chain.record.append_log(chain.untold)
                chain.untold = None
        if lines:
            left = (self.collection.total_steps - lines[0]["step"]) / max(self._speed, 1e-9)
            several = f" of {len(self.chains)} chains" if self.several else ""
            share = lines[0]["step"] / self.collection.total_steps
            self.progress.tell(share, in_words(lines[0]) + several, left)

    def _set_pace(self, count: int, seconds: float) -> None:
        """Aim at chunks of the wished length; the first call also compiles, so it says nothing."""
        if not self._compiled:
            self._chunk_steps, self._compiled = 4, True
            return
        self._speed = count / max(seconds, 1e-9)
        wished = max(1, round(self._speed * self.pace.chunk_seconds))
        self._chunk_steps = min(wished, 8 * self._chunk_steps)

    def _retry(self, error: Diverged) -> None:
        """Go back to the last saved state with half the step size, or give up."""
        if len(self.retried) >= self.pace.retries:
            for chain in self.chains:
                chain.record.update("diverged", divergence=str(error))
            raise error
        noticed = max(chain.step for chain in self.chains)
        retried = self.retried
        self.resume()
        back_to = min(chain.step for chain in self.chains)
        setback = {"noticed": noticed, "back_to": back_to, "step_size_factor": self.scale / 2}
        self.retried = [*retried, setback]
        for chain in self.chains:
            chain.record.update(retried=self.retried, divergence=str(error))
        self.save()  # so that a resumed chain goes on with the smaller steps too
        self.progress.say(
            f"{error} Trying again from step {back_to} with {self.scale:g} of the step size."
        )
