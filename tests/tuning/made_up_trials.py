"""Searches whose trials run nothing: what a trial scores is a formula of its settings."""

import math

from pxsgmcmc.config import parse_config
from pxsgmcmc.jobs import Ended
from pxsgmcmc.results import SearchRange, Subject, Tuning, Validation, Verdict
from pxsgmcmc.tuning.trial_book import TrialBook
from pxsgmcmc.tuning.trial_loop import Limits, TrialLoop

CONFIG = """
[data]
name = "two-moons"
[model]
name = "mlp"
widths = [4]
[sampler]
name = "sghmc"
step_size = 1e-2
friction = 10.0
[chain]
draws = 18
cycle_length = 5
batch_size = 20
"""
STEP, VARIANCE = "sampler.step_size", "prior.variance"


def range_of(name, low, high, start, whole=False):
    first = (float(low), float(high))
    return SearchRange(name=name, low=low, high=high, start=start, whole=whole, first=first)


def tuning(search="tpe", lengths=(2, 6, 18), **changes):
    known = {
        "config": CONFIG,
        "asked": "{}",
        "search": search,
        "lengths": list(lengths),
        "ranges": [range_of(STEP, 1e-3, 1e-1, 1e-2), range_of(VARIANCE, 0.1, 10.0, 1.0)],
        "start_config": CONFIG,
        "start": "nowhere",
        "stable_to": 0.2,
        "seconds_per_step": 0.01,
    }
    return Tuning(**(known | changes))


def nll_at(step, variance, draws):
    """Lowest at a step of 4e-2 and a variance of 2, and lower with more draws."""
    return math.log(step / 4e-2) ** 2 + math.log(variance / 2.0) ** 2 + 1.0 / draws


class MadeUp:
    """An engine and its results: chains with a step above `stable` diverge, above `cool` are hot.

    Args:
      most: jobs after which a signal stops it.
    """

    def __init__(self, most=math.inf, stable=0.3, cool=0.2, unsettled=0.0, seconds=1.0):
        self.most, self.stable, self.cool = most, stable, cool
        self.unsettled, self.seconds, self.jobs, self.now = unsettled, seconds, {}, 0.0
        self.order = []

    def run(self, jobs, watch):
        for job in jobs:
            if len(self.order) >= self.most:
                return 15
            self.order.append((job.folder, job.draws))
            self.jobs[job.folder] = job
            self.now += self.seconds
            diverged = parse_config(job.config).sampler.step_size > self.stable
            watch.ended(job, Ended(3 if diverged else 0, seconds=self.seconds))
        return None

    def read(self, folder):
        job = self.jobs[folder]
        config = parse_config(job.config)
        step = config.sampler.step_size
        return Validation(
            subject=subject(job.draws),
            rows=10,
            metrics={"nll": nll_at(step, config.prior.variance, job.draws)},
            verdict=Verdict(healthy=step <= self.cool, headline="made up"),
            too_hot=step / self.cool - 1.0,
            unsettled=self.unsettled if job.draws == 18 else None,
        )


def subject(draws):
    words = dict.fromkeys(("method", "settings", "data", "model", "version"), "")
    numbers = dict.fromkeys(("seed", "chains", "steps", "parameters", "sampled"), 0)
    return Subject(**words, **numbers, draws=draws)


def searched(folder, proposer, engine, trials=12, seconds=math.inf, begun=None, said=None):
    """Go on with the search in the folder, or begin one; returns the book."""
    folder.mkdir(exist_ok=True)
    book = TrialBook.read(folder) or TrialBook(folder, begun or tuning())
    book.save()
    TrialLoop(
        book,
        proposer,
        engine,
        Limits(trials, seconds),
        at_once=1,
        say=(said if said is not None else []).append,
        read=engine.read,
        clock=lambda: engine.now,
    ).run()
    return book
