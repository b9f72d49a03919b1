"""Chains of a small network, each in a process of its own that can be killed.

As a program, `python -m tests.reliability.small_chains` reads one request a line, forks a process
that runs it, and prints the process's id and then how it ended. Forking after the imports, and
before JAX has started anything, spares each process the seconds that the imports take.
"""

import json
import os
import signal
import sys
import time
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import pxsgmcmc as px
from pxsgmcmc.chain import runner, sample
from pxsgmcmc.store import StoredRun
from tests.helpers.energies import classification

NAMES = ("sgld", "psgld", "sghmc", "sgnht", "px_sghmc")
ROWS = np.random.default_rng(0)
INPUTS = ROWS.normal(size=(60, 6)).astype(np.float32)
LABELS = ROWS.integers(0, 3, size=60).astype(np.int32)


def apply(params, x):
    hidden = jnp.tanh(x @ params["dense"]["kernel"] + params["dense"]["bias"][None])
    return hidden @ params["head"]["kernel"] + params["head"]["bias"][None]


def problem(name):
    """A function from a factor to a sampler, and where it starts."""
    rng = np.random.default_rng(1)
    sizes = {"dense": (6, 8), "head": (8, 3)}
    params = {
        layer: {
            "kernel": jnp.asarray(0.3 * rng.normal(size=shape), jnp.float32),
            "bias": jnp.zeros(shape[1], jnp.float32),
        }
        for layer, shape in sizes.items()
    }
    energy = classification(apply, data_size=len(INPUTS))
    cycle = px.cyclical(2e-3, 20)
    if name in ("sgld", "psgld"):
        return lambda s: getattr(px, name)(energy, lambda t: s * cycle(t)), params
    if name == "sghmc":
        return lambda s: px.sghmc(energy, lambda t: s * cycle(t), friction=10.0), params
    plan = px.plan(params)
    friction = plan.groups(base=10.0, factors=1.0)
    build = px.sgnht if name == "sgnht" else px.sghmc
    return lambda s: build(energy, lambda t: s * cycle(t), friction=friction), px.expand(
        params, plan
    )


def run(name, folder, **settings):
    """The chain of that name, in this process."""
    sampler, position = problem(name)
    settings = {"draws": 30, "cycle_length": 4, "batch_size": 7, "progress": False} | settings
    names = set(settings) & set(px.Execution._fields)
    execution = {"on_signal": "return"} | {name: settings.pop(name) for name in names}
    settings["execution"] = px.Execution(**execution)
    with warnings.catch_warnings():  # whether these chains are healthy is not the question
        warnings.simplefilter("ignore", px.ChainWarning)
        return sample(sampler, position, (INPUTS, LABELS), out=folder, resume=True, **settings)


def note_commits(path):
    """Write to `path` the number of each draw once its commit has returned."""
    commit = StoredRun.commit_draw
    notes = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def commit_draw(self, *args, **facts):
        draw = commit(self, *args, **facts)
        os.write(notes, f"{draw.number}\n".encode())
        return draw

    StoredRun.commit_draw = commit_draw


def note_chunks(path):
    """Write to `path` when each chunk begins and ends, and the steps taken by then."""
    chunk = runner.Runner._chunk
    notes = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def timed(self, *args):
        began = time.monotonic()
        energy = chunk(self, *args)
        os.write(notes, f"{began} {time.monotonic()} {self.chains[0].step}\n".encode())
        return energy

    runner.Runner._chunk = timed


def answer(request):
    """Run a request in this process; the exit code says whether a signal stopped it."""
    cache = request.pop("cache")
    jax.config.update("jax_compilation_cache_dir", cache)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    if commits := request.pop("commits", None):
        note_commits(commits)
    if chunks := request.pop("chunks", None):
        note_chunks(chunks)
    done = run(request.pop("name"), Path(request.pop("folder")), **request)
    return 0 if done.stopped_by is None else 128 + done.stopped_by


def serve():
    for line in sys.stdin:
        request = json.loads(line)
        kill_after = request.pop("kill_after", None)
        process = os.fork()
        if process == 0:
            code = 1
            try:
                code = answer(request)
            finally:
                os._exit(code)
        print("process", process, flush=True)
        if kill_after is not None:
            time.sleep(kill_after)
            os.kill(process, signal.SIGKILL)  # if it has ended, this does nothing
        print("ended", os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
