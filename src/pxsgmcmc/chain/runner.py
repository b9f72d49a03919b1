"""The loop of one or several chains: chunk, look, keep, save; and what happens when it fails."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np

from pxsgmcmc.chain.averages import Averages
from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.divergence import check_first_energy, norms
from pxsgmcmc.chain.executors import Advance
from pxsgmcmc.chain.graceful_stop import GracefulStop
from pxsgmcmc.chain.log_writer import LogWriter
from pxsgmcmc.chain.process_group import Together, Wishes, fingerprint_of
from pxsgmcmc.chain.saved_memory import check_place, read_memory
from pxsgmcmc.chain.under_way import ChainUnderWay, Chunk, Pace, next_steps
from pxsgmcmc.errors import Diverged
from pxsgmcmc.expansion.position import collapse
from pxsgmcmc.memory import give_back_freed_memory
from pxsgmcmc.progress import Progress
from pxsgmcmc.tree import from_arrays, to_arrays


@jax.jit
def _copy(tree: Any) -> Any:
    return jax.tree.map(jnp.copy, tree)


def _has_run(tree: Any) -> bool:
    """Whether arrays are there, not only promised."""
    return all(getattr(x, "is_ready", lambda: True)() for x in jax.tree.leaves(tree))


def _copy_of_params(position: Any) -> Any:
    return jax.tree.map(jnp.copy, collapse(position))


# Once for all runs: functions made for each would be compiled again for each.
_norms_of_several = jax.jit(jax.vmap(norms))
_params, _params_of_several = jax.jit(_copy_of_params), jax.jit(jax.vmap(_copy_of_params))


class Runner:
    """Chains under way, all in one program.

    The device is given the next chunk before the host looks at what the last one found, so that it
    has work while the host watches, writes draws and saves states. A chunk gives its state away to
    the next one, so whatever is kept of a state is copied when the chunk is launched.

    Args:
      advance_with: from a factor on the step size to what takes the steps.
      state: of the sampler where the chain starts; of several chains, stacked.
      chains: where each keeps its draws, which rows it sees, what watches it.
      collection: which steps are kept.
      pace: how often to look.
      progress: who is told.
      together: the processes that run the chains as one; None for this process alone.
    """

    def __init__(
        self,
        advance_with: Callable[[float], Advance],
        state: Any,
        chains: Sequence[ChainUnderWay],
        collection: Collection,
        pace: Pace,
        progress: Progress,
        together: Together | None = None,
    ):
        self.advance_with, self.collection = advance_with, collection
        self.chains, self.pace, self.progress = chains, pace, progress
        self.together = together
        self.several = len(chains) > 1
        self.state = _copy(state)  # the first chunk donates it
        self.retried: list[dict[str, Any]] = []  # where the chain diverged and was set back
        self.stopped_by: int | None = None
        self._params = _params_of_several if self.several else _params
        self._norms = _norms_of_several if self.several else norms
        self._chunk_steps, self._speed, self._compiled = 1, 0.0, False
        self._saved = self._looked = time.monotonic()
        self._telling = LogWriter(collection, pace.chunk_seconds, progress)
        self._agreed, self._seen = Wishes(steps=self._chunk_steps), 0

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
            chain.step = chain.launched = int(state.step)
            chain.draws_launched, chain.since_log = chain.drawn, Averages()
            states.append(state)
        if self.several:
            # On the host: on the device each leaf would be a program of its own.
            self.state = jax.device_put(jax.tree.map(lambda *leaves: np.stack(leaves), *states))
        else:
            self.state = states[0]
        return any(one is not None for one in saved)

    def run(self) -> None:
        """Take all the steps that are left; ends early on a signal, raises `Diverged`."""
        advance = self.advance_with(self.scale)
        with GracefulStop() as stop:
            ahead: Chunk | None = None
            while ahead is not None or (self._to_launch and not self._agreed.signal):
                try:
                    ahead = self._chunk(advance, ahead, stop.signal or 0)
                except Diverged as error:
                    self._retry(error)
                    advance, ahead = self.advance_with(self.scale), None
            self.stopped_by = self._agreed.signal if self.unfinished else None
            self.save()
            self.say_how_they_ended()

    def say_how_they_ended(self) -> None:
        """Write into each record whether its chain has all its draws, unless it says so."""
        for chain in self.chains:
            status = "done" if self._is_done(chain) else "interrupted"
            if chain.record.status != status:
                chain.record.update(status)

    def save(self, state: Any = None) -> None:
        """Save all that is needed to go on from here: where the chains are, or a copy of that."""
        for place, chain in enumerate(self.chains):
            meta = {
                "retried": self.retried,
                "watch": chain.watch.memory(),
                "since_draw": chain.since_draw.memory(),
            }
            arrays = to_arrays(self._of(place, self.state if state is None else state))
            chain.record.commit_state(arrays, meta)
        self._saved = time.monotonic()

    def states(self) -> list[Any]:
        """Of the sampler, of each chain."""
        return [self._of(place, self.state) for place in range(len(self.chains))]

    def _of(self, place: int, tree: Any) -> Any:
        """One chain's part of what is stacked, on the host: slices on a device cost a call each."""
        if not self.several:
            return tree
        return jax.tree.map(lambda x: np.array(np.asarray(x)[place]), tree)

    def _is_done(self, chain: ChainUnderWay) -> bool:
        return chain.drawn >= self.collection.draws

    @property
    def unfinished(self) -> bool:
        """Whether a chain has draws to make."""
        return not all(map(self._is_done, self.chains))

    @property
    def _to_launch(self) -> bool:
        """Whether there are steps that the device was not given yet."""
        return any(chain.draws_launched < self.collection.draws for chain in self.chains)

    def _chunk(self, advance: Advance, ahead: Chunk | None, signal: int) -> Chunk | None:
        """Launch the next chunk, if there is one, and look at the last; returns what runs now."""
        wishes = self._wishes(signal)
        if self.together is None:
            self._agreed = wishes
        go_on = self._to_launch and not self._agreed.signal
        launched = self._launch(advance, wishes) if go_on else None
        if ahead is not None:
            self._finish(ahead)
        return launched

    def _wishes(self, signal: int) -> Wishes:
        """What this process would do next."""
        now = time.monotonic()
        save = now - self._saved >= self.pace.checkpoint_seconds
        if save:
            self._saved = now
        return Wishes(signal, self._chunk_steps, int(save), self._seen)

    def _launch(self, advance: Advance, wishes: Wishes) -> Chunk:
        """Give the device steps towards the next draw."""
        most = min(self._agreed.steps, advance.most)
        first, count, moving = next_steps(self.chains, self.collection, most)
        active = np.isin(range(len(self.chains)), moving)
        rows = [chain.batches.rows(first, count) for chain in self.chains]
        began = time.monotonic()
        self.state, sums = advance(
            self.state, first, np.stack(rows) if self.several else rows[0], active
        )
        took = time.monotonic() - began if _has_run(self.state) else None
        # What was wished is agreed on when the chunk has been looked at, on all processes alike.
        agreed = None if self.together is None else self.together.agree(wishes)
        looked_at = sums, self._norms(self.state), agreed
        after = {place: self.chains[place].draws_launched + 1 for place in moving}
        draws = [p for p in moving if first + count == self.collection.step_of(after[p])]
        params = self._params(self.state.position) if draws else None
        copied = _copy(self.state) if self._agreed.save else None
        for place in moving:
            self.chains[place].launched = first + count
            self.chains[place].draws_launched += place in draws
        return Chunk(first, count, moving, began, took, looked_at, params, copied)

    def _finish(self, chunk: Chunk) -> None:
        """Look at what a chunk found, keep what is due; the device has the next one by now."""
        for chain in self.chains:
            chain.batches.shuffle_ahead(chain.launched, self._chunk_steps)
        sums, seen, agreed = jax.device_get(chunk.looked_at)
        if agreed is not None:
            self._agreed, self._seen = Wishes.of(agreed), fingerprint_of(sums, seen)
        if not self._compiled:
            give_back_freed_memory()  # what compiling left behind
        now = time.monotonic()
        took = now - max(chunk.began, self._looked) if chunk.took is None else chunk.took
        self._set_pace(chunk.steps, took)
        self._looked = now
        for place in chunk.moving:
            one = self._of(place, sums), self._of(place, seen)
            self._look(place, chunk.first, chunk.steps, *one)
        for place in chunk.moving:
            self._keep_draw(place, chunk.params)
        self._telling.tell(self.chains, chunk.moving, self._speed, done=not self.unfinished)
        # After the draws: a state between a step and its draw would have lost the energy.
        if chunk.state is not None:
            self.save(chunk.state)

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

    def _keep_draw(self, place: int, params: Any) -> None:
        chain = self.chains[place]
        if chain.step != self.collection.step_of(chain.drawn + 1):
            return
        since = chain.since_draw
        chain.record.commit_draw(
            to_arrays(self._of(place, params)),
            step=chain.step,
            energy=since.last_energy,
            **since.draw_facts(),
        )
        chain.drawn += 1
        chain.since_draw = Averages()

    def _set_pace(self, count: int, seconds: float) -> None:
        """Aim at half the wished time a chunk; the first call also compiles, so it says nothing."""
        if not self._compiled:
            self._chunk_steps, self._compiled = 4, True
            return
        self._speed = count / max(seconds, 1e-9)
        wished = max(1, round(self._speed * self.pace.chunk_seconds / 2))  # there are two of them
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
