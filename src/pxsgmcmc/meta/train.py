"""The outer loop: steps, looks at held-out tasks, states, signals."""

import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.chain.graceful_stop import GracefulStop
from pxsgmcmc.errors import Diverged, Interrupted, UserError
from pxsgmcmc.meta import folder as kept
from pxsgmcmc.meta.evolution import MetaState, OuterMeasurement, initial_state, outer_step
from pxsgmcmc.meta.held_out import held_out_losses, mean_over_tasks
from pxsgmcmc.meta.settings import MetaSettings, checked
from pxsgmcmc.meta.tasks import (
    HELD_OUT,
    Family,
    FamilyData,
    Task,
    families,
    family_data,
    grid,
    load_rows,
)
from pxsgmcmc.progress import Progress, Show, progress_for
from pxsgmcmc.store import files, lock

CHECKPOINT_SECONDS = 30.0
MOST_FRUITLESS = 20  # outer steps in a row of which no pair was finite


class MetaTrained(NamedTuple):
    """What a meta-training came to.

    Attributes:
      state: the last one.
      skipped: pairs that diverged and were left out, in all.
    """

    state: MetaState
    skipped: int


def meta_train(
    settings: MetaSettings,
    out: str | Path,
    *,
    held_out: tuple[Task, ...] | None = None,
    data_root: str | None = None,
    progress: Show | Progress = True,
) -> MetaTrained:
    """Meta-train a sampler's network, or go on with it: what is done is not done again.

    All randomness is a function of (seed, outer step), so going on equals never having stopped, bit
    for bit, on one processor with one number of threads.

    Args:
      settings: what to train on, and how.
      out: its folder.
      held_out: tasks to look at now and then, never trained on; `HELD_OUT` if not given.
      data_root: folder of official data sets.
      progress: False for silence.

    Raises:
      Interrupted: after a signal; everything was saved.
    """
    checked(settings)
    held_out = HELD_OUT if held_out is None else held_out
    tasks = grid(settings.data_sets, settings.kinds, settings.widths, settings.depths)
    if both := set(tasks) & set(held_out):
        raise UserError(f"A held-out task must not be trained on, got {both.pop().label}.")
    trained = families(tasks, data_root)
    hashes = {name: load_rows(name, data_root).sha256 for name in sorted(settings.data_sets)}
    folder = Path(out)
    kept.check_folder(folder)
    files.make_folders(folder)
    with closing(progress_for("meta-train", progress)) as shown:
        with lock.acquire(folder, say=shown.say), GracefulStop() as stop:
            kept.begin(folder, settings, hashes)
            return _Loop(settings, folder, trained, held_out, data_root, shown, stop).run()


class _Loop:
    """A meta-training at work."""

    def __init__(
        self,
        settings: MetaSettings,
        folder: Path,
        trained: tuple[Family, ...],
        held_out: tuple[Task, ...],
        data_root: str | None,
        shown: Progress,
        stop: GracefulStop,
    ):
        self.settings, self.folder, self.shown, self.stop = settings, folder, shown, stop
        self.trained, self.held_out, self.data_root = trained, held_out, data_root
        self.state, log_bytes = initial_state(settings), 0
        if saved := kept.load(folder, self.state):
            self.state, log_bytes = saved.state, saved.log_bytes
            if saved.note:
                shown.say(saved.note)
        self.log = kept.Log(folder, log_bytes)
        looks = [line["step"] for line in kept.read_log(folder) if "held_out" in line]
        self._looked_at = looks[-1] if looks else None
        self._rows: dict[Family, tuple[FamilyData, tuple[str, ...]]] = {}
        self._saved_at, self._fruitless = time.monotonic(), 0

    def run(self) -> MetaTrained:
        while (done := int(self.state.step)) < self.settings.outer_steps:
            # Also where it was stopped in the middle of a look.
            if done % self.settings.evaluate_every == 0 and self._looked_at != done:
                self._look()
            self._end_if_asked()
            self._step(done)
            if time.monotonic() - self._saved_at > CHECKPOINT_SECONDS:
                self._save()
        if self._looked_at != int(self.state.step):  # also where it was stopped just at its end
            self._look()
        return MetaTrained(self.state, int(self.state.skipped))

    def _end_if_asked(self) -> None:
        if self.stop.signal is not None:
            self._save()
            done = int(self.state.step)
            raise Interrupted(f"Stopped after {done} outer steps; all is saved.", self.stop.signal)

    def _step(self, number: int) -> None:
        settings, began = self.settings, time.monotonic()
        family, tasks = chosen_tasks(settings, self.trained, number)
        if family not in self._rows:
            self._rows[family] = family_data(family, self.data_root)
        rows, names = self._rows[family]
        root = jax.random.fold_in(jax.random.key(settings.seed), 1)
        self.state, measured = outer_step(
            settings,
            family,
            self.state,
            jax.random.fold_in(root, number),
            rows,
            jnp.asarray([names.index(task.data) for task in tasks], jnp.int32),
            jnp.asarray([float(task.residual) for task in tasks]),
        )
        jax.block_until_ready(measured)  # or its seconds would be those of asking for it
        self._note(measured, number, tasks, time.monotonic() - began)
        loss = float(jnp.nanmean(jnp.concatenate([measured.plus, measured.minus])))
        self._tell(number + 1, f"meta-loss {loss:.3f} on {tasks[0].label}")

    def _note(
        self, measured: OuterMeasurement, number: int, tasks: list[Task], seconds: float
    ) -> None:
        """Into the log; pairs that diverged are also said, and no end of them is an end."""
        self.log.add(
            {
                "step": number + 1,
                "tasks": [task.label for task in tasks],
                "plus": np.asarray(measured.plus),
                "minus": np.asarray(measured.minus),
                "skipped": int(measured.skipped),
                "gradient_norm": float(measured.gradient_norm),
                "seconds": round(seconds, 3),
            }
        )
        finite = np.isfinite(measured.plus) & np.isfinite(measured.minus)
        for task in [task for task, fine in zip(tasks, finite, strict=True) if not fine]:
            self.shown.say(
                f"outer step {number + 1}: a pair on {task.label} diverged and is left out, "
                f"{int(self.state.skipped)} so far."
            )
        self._fruitless = 0 if finite.any() else self._fruitless + 1
        if self._fruitless >= MOST_FRUITLESS:
            self._save()
            raise Diverged(
                f"No pair of the last {MOST_FRUITLESS} outer steps was finite: lower "
                "`step_multiplier` or `sigma`."
            )

    def _look(self) -> None:
        """Measure the held-out tasks, then save."""
        step = int(self.state.step)

        def tell(label: str) -> None:
            self._end_if_asked()
            self._tell(step, f"held-out {label}")

        losses = held_out_losses(self.settings, self.state.weights, self.held_out, tell)
        self.log.add({"step": step, "held_out": losses})
        self._looked_at = step
        mean = mean_over_tasks(losses)
        lost = sum(not np.isfinite(x) for own in losses.values() for x in own)
        self.shown.say(
            f"outer step {step}: meta-loss {mean.value:.3f} ± {mean.error:.3f} on {mean.tasks} "
            "held-out tasks" + (f", {lost} unrolls diverged" if lost else "")
        )
        self._save()

    def _tell(self, step: int, words: str) -> None:
        planned = self.settings.outer_steps
        self.shown.tell(step / planned, f"outer step {step} of {planned}, {words}")

    def _save(self) -> None:
        self.log.flush()
        kept.save(self.folder, self.state, self.log.bytes)
        self._saved_at = time.monotonic()


def chosen_tasks(
    settings: MetaSettings, trained: tuple[Family, ...], number: int
) -> tuple[Family, list[Task]]:
    """The family of an outer step, likely as it has tasks, and a task of it for each pair."""
    random = np.random.default_rng([settings.seed, number])
    counts = np.array([len(family.tasks) for family in trained])
    family = trained[random.choice(len(trained), p=counts / counts.sum())]
    picks = random.integers(len(family.tasks), size=settings.pairs)
    return family, [family.tasks[pick] for pick in picks]
