"""The loop that looks after jobs in a queue of others: hand in, watch, hand in again.

Nothing that a queue says is taken for the end of a job: the job's own process leaves its exit code
in the sheet, which all hosts see. A job that the queue no longer has and that left no exit code was
killed, or its host was; it is handed in again for as long as it gets further between its deaths.
Exit codes are answers but for two: 5, another process writes there (most likely the job itself, on
a host that was given up too early), is a reason to wait; 128 + n, stopped and saved without our
asking, as by a queue that needs the place for others, is a reason to go on.
"""

import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack

from pxsgmcmc.errors import Locked, UserError
from pxsgmcmc.jobs.engine import MOST_DEATHS, Ended, Watch
from pxsgmcmc.jobs.job import Job
from pxsgmcmc.jobs.queue import BLOCK, Queue, QueuePace, Seen
from pxsgmcmc.jobs.queued_job import QueuedJob
from pxsgmcmc.jobs.sheet import Sheet, new_sheet, place_of, placed, progress_mark, sheets_in
from pxsgmcmc.store import lock

LOCKED = 5


def run_queued(
    queue: Queue, jobs: Sequence[Job], watch: Watch, pace: QueuePace, python: str
) -> int | None:
    """Run all jobs to their end by way of a queue; see `Engine.run`.

    Args:
      queue: that has the machines.
      jobs: in the order in which they are to start.
      watch: told of everything.
      pace: how often to look.
      python: the interpreter that the jobs run, to be named if it cannot be found there.
    """
    from pxsgmcmc.chain.graceful_stop import GracefulStop

    if not jobs:
        return None
    with ExitStack() as stack, GracefulStop() as stop:
        keeper = _Keeper(queue, watch, pace, stack)
        keeper.enter(jobs, python)
        try:
            while keeper.open and stop.signal is None:
                keeper.look()
                watch.look()
                time.sleep(0.05)
            left = bool(keeper.open)
            keeper.stop()
        finally:
            keeper.kill()
        keeper.tidy()
    return stop.signal if left else None


def is_answer(code: int) -> bool:
    """Whether a job with this exit code is over: done, failed, or given up."""
    return code != LOCKED and code < 128


class _Keeper:
    """All jobs of one call."""

    def __init__(self, queue: Queue, watch: Watch, pace: QueuePace, stack: ExitStack):
        self.open: list[QueuedJob] = []
        self._queue, self._watch, self._pace, self._stack = queue, watch, pace, stack
        self._all: list[QueuedJob] = []
        self._failed: set[Sheet] = set()
        self._handed_in = False
        self._next_look = self._next_glance = 0.0

    def enter(self, jobs: Sequence[Job], python: str) -> None:
        """Take over what an earlier call left in the queue, and write a sheet for the others."""
        taken = self._left_behind({placed(job): job for job in jobs})
        new = [job for job in jobs if job not in taken]
        self._all, self._handed_in = list(taken.values()), bool(taken)
        if new:
            sheet = new_sheet(self._queue.engine, [placed(job) for job in new], python)
            self._stack.enter_context(lock.acquire(sheet.folder))
            self._all += [QueuedJob(job, sheet, number) for number, job in enumerate(new)]
        for entry in self._all:
            entry.mark = progress_mark(entry.job)
        self.open = list(self._all)

    def _left_behind(self, jobs: dict[Job, Job]) -> dict[Job, QueuedJob]:
        """Jobs of ours that somebody handed in who is gone; sheets of use to nobody are removed.

        Args:
          jobs: as they stand on sheets -> as we know them.
        """
        taken: dict[Job, QueuedJob] = {}
        there: dict[str, Seen] | None = None
        for sheet in sheets_in(place_of(list(jobs))):
            names = sheet.names()
            its = {number: sheet.job(number) for number in sheet.numbers()}
            mine = {number: jobs[job] for number, job in its.items() if job in jobs}
            if sheet.facts.engine != self._queue.engine or not mine:
                continue
            try:
                lease = self._stack.enter_context(lock.acquire(sheet.folder))
            except Locked:  # somebody looks after them: the lock of each run decides
                continue
            there = self._queue.look() if there is None else there
            alive = {n: job for n, job in mine.items() if names.get(n, "") in (there or {})}
            for number, job in alive.items():
                taken[job] = QueuedJob(job, sheet, number, name=names[number])
                self._watch.say(job, "is in the queue already; looking after it")
            if not alive and len(mine) == len(its) and there is not None:
                lease.release()
                sheet.remove()
        return taken

    def look(self) -> None:
        """Pass on what jobs say, notice their ends, hand in what is to be handed in."""
        now = time.monotonic()
        self._submit(now)
        if now >= self._next_glance:
            self._next_glance = now + min(1.0, self._pace.queue)
            ended = {sheet: sheet.ended_numbers() for sheet in {e.sheet for e in self.open}}
            for entry in [e for e in self.open if e.name]:
                entry.pass_on(self._watch)
                if entry.number in ended[entry.sheet]:
                    self._answer(entry)
        if now >= self._next_look:
            self._next_look = now + self._pace.queue
            self._ask()

    def _submit(self, now: float) -> None:
        due = [e for e in self.open if not e.name and e.not_before <= now]
        if self._pace.most is not None:
            due = due[: max(0, self._pace.most - sum(bool(e.name) for e in self.open))]
        for sheet, block in {(entry.sheet, entry.number // BLOCK): None for entry in due}:
            entries = [e for e in due if e.sheet == sheet and e.number // BLOCK == block]
            for entry in entries:
                sheet.forget_end(entry.number)
                entry.errors_from = sheet.size(entry.number, "err")
            try:
                names = self._queue.submit(sheet, [entry.number for entry in entries])
            except UserError as error:
                if not self._handed_in:
                    self._leave_nothing()
                    raise
                for entry in entries:  # it took others, so it may take these later
                    entry.not_before = now + self._pace.refused
                self._watch.say(entries[0].job, f"{error} Trying again.")
                continue
            self._handed_in = True
            sheet.add_names(names)
            for entry in entries:
                entry.name, entry.gone = names[entry.number], None
                entry.began, entry.running = time.monotonic(), False
            self._next_look = now + self._pace.queue  # what it said before is no longer true

    def _ask(self) -> None:
        seen = self._queue.look()
        if seen is None:  # it is busy: the next answer may pass
            return
        for entry in [e for e in self.open if e.name]:
            known = seen.get(entry.name)
            if known is None:
                self._let_go(entry)
            elif "held" in known.why.lower() and known.why != entry.held_because:
                entry.held_because = known.why
                self._watch.say(entry.job, f"is held in the queue ({known.why}); somebody must act")
            elif entry.running and not known.running:
                entry.running = False
                self._watch.say(entry.job, "is in the queue again, and goes on from its last state")

    def _answer(self, entry: QueuedJob) -> bool:
        """Whether a job came to its end with an exit code that is an answer."""
        end = entry.sheet.end(entry.number)
        if end is None or end.code < 0 or not is_answer(end.code):
            return False
        self._finish(entry, end.code, entry.sheet.errors(entry.number, entry.errors_from))
        return True

    def _finish(self, entry: QueuedJob, code: int, errors: str) -> None:
        entry.pass_on(self._watch)
        entry.name = ""
        self.open.remove(entry)
        if code:
            self._failed.add(entry.sheet)
        self._watch.ended(entry.job, Ended(code, errors, time.monotonic() - entry.began))

    def _let_go(self, entry: QueuedJob) -> None:
        """The queue no longer has it."""
        now = time.monotonic()
        entry.gone = now if entry.gone is None else entry.gone
        end = entry.sheet.end(entry.number)
        if self._answer(entry) or (end is None and now < entry.gone + self._pace.settle):
            return
        name, entry.name = entry.name, ""
        if end is not None and end.code == LOCKED:
            sentence = Ended(5, entry.sheet.errors(entry.number, entry.errors_from)).sentence
            self._watch.say(entry.job, f"waits: {sentence or 'its run is locked'}")
            entry.not_before = now + self._pace.locked
            return
        mark = progress_mark(entry.job)
        entry.deaths = 1 if mark != entry.mark else entry.deaths + 1
        entry.mark = mark
        words = self._queue.last_words(name)
        how = (
            "was killed, or its host was"
            if end is None
            else f"was stopped by signal {end.code - 128}"
        )
        how += f" ({words})" if words else ""
        if entry.deaths <= MOST_DEATHS:
            self._watch.say(entry.job, f"{how}; resuming it")
            return
        code, why = self._given_up(entry, how)
        entry.sheet.write_end(entry.number, code, why)
        self._finish(entry, code, f"pxsgmcmc: {why}")

    def _given_up(self, entry: QueuedJob, how: str) -> tuple[int, str]:
        if not entry.sheet.path(entry.number, "out").exists():
            return 2, (
                f"It left nothing in `{entry.sheet.folder}`: the machines of the queue must see "
                f"that folder and `{entry.sheet.facts.python}` under these names."
            )
        return -signal.SIGKILL, f"It {how}, {entry.deaths} times without getting any further."

    def stop(self) -> None:
        """Let jobs save and end, if any are left."""
        entries = [entry for entry in self.open if entry.name]
        if not self.open:
            return
        for sheet in {entry.sheet for entry in self.open}:
            sheet.stop()
        self._queue.stop([entry.name for entry in entries])
        last = time.monotonic() + self._pace.patience
        while entries and time.monotonic() < last:
            seen = self._queue.look()
            for entry in list(entries):
                end = entry.sheet.end(entry.number)
                if end is not None:
                    entries.remove(entry)
                    errors = entry.sheet.errors(entry.number, entry.errors_from)
                    entry.pass_on(self._watch)
                    self._watch.ended(entry.job, Ended(end.code, errors))
                elif seen is not None and entry.name not in seen:
                    entries.remove(entry)  # it never began, or was stopped before it listened
            self._watch.look()
            time.sleep(min(0.2, self._pace.queue))

    def kill(self) -> None:
        """End what is left."""
        for sheet in {entry.sheet for entry in self.open}:
            sheet.stop()
        if names := [entry.name for entry in self.open if entry.name]:
            self._queue.kill(names)

    def _leave_nothing(self) -> None:
        """None of it was handed in: a sheet of jobs that nobody has would be taken for work."""
        self._stack.close()  # the locks first
        for sheet in {entry.sheet for entry in self.open}:
            sheet.remove()
        self.open = []

    def tidy(self) -> None:
        """Remove the sheets whose jobs are all done."""
        kept = self._failed | {entry.sheet for entry in self.open}
        for sheet in {entry.sheet for entry in self._all} - kept:
            self._stack.close()  # the locks in them first
            sheet.remove()
