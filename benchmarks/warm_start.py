"""What a warm start buys: steps of SGHMC to a given validation NLL, with and without one.

    python benchmarks/warm_start.py
    python benchmarks/warm_start.py --tasks "digits MLP" --steps 2000 --seeds 3

Both chains have the same energy, batches, step size and friction: those that `px.pilot` finds after
`px.warm_start` and 200 cautious steps. One begins at the warm start, the other at the parameters
from which that began. The NLL is that of single positions on the validation rows, looked at after
steps 0, 25, 50, 100, 200 and so on; the given NLL is the mean over the last three looks of both
chains. Steps of Adam are counted beside, since they are not free.
"""

import argparse
import warnings

import jax
import numpy as np
from automatic import TASKS, problem_of

import pxsgmcmc as px
from pxsgmcmc.tuning.default_prior import LAST, default_prior
from pxsgmcmc.tuning.engine.programs import executor_for
from pxsgmcmc.tuning.flat_energy import FlatEnergy
from pxsgmcmc.tuning.host_chain import HostChain
from pxsgmcmc.tuning.warm_start import Descent

CHOSEN = ("digits R8", "digits MLP", "mnist5k CNN", "breast_cancer MLP")
HEAD = "| task | seed | steps of Adam at most | given NLL | cold | warm | NLL of the warm start |"
CAUTIOUS = 200  # steps before the settings are measured
BATCH_SIZE, SMALL_BATCH_SIZE = 250, 50  # of dense networks and of those with convolutions


def looks(steps: int) -> list[int]:
    """Steps after which the NLL is looked at: 0, then doubling from 25."""
    found = [0]
    while found[-1] < steps:
        found.append(min(steps, max(25, 2 * found[-1])))
    return found


def line(task: str, seed: int, steps: int, adam_steps: int) -> str:
    """A row of the table."""
    problem = problem_of(task)
    cold = jax.jit(problem.initial)(jax.random.key(seed))
    size = SMALL_BATCH_SIZE if executor_for(cold) == "loop" else BATCH_SIZE
    size = min(size, len(problem.train.x))
    potential = px.potential(problem, prior=default_prior(problem, LAST[problem.likelihood.task]))
    energy = FlatEnergy(potential, cold)
    warm = Descent(problem, energy, batch_size=size)(cold, seed=seed, steps=adam_steps)
    there = px.pilot(potential, warm, batch_size=size, settle=CAUTIOUS, rows=size, seed=seed)
    found = there.recommend("sghmc")
    log_likelihood = jax.jit(problem.log_likelihood)

    def nll(chain: HostChain) -> float:
        return -float(np.mean(log_likelihood(chain.tree, tuple(problem.validation))))

    seen = {"cold": [], "warm": []}
    for name, start in (("cold", cold), ("warm", warm)):
        chain = HostChain(energy.at(start), tuple(problem.train), batch_size=size, seed=seed)
        for taken in looks(steps):
            if taken > chain.taken:
                many = taken - chain.taken
                chain.advance(many, step_size=found.step_size, friction=found.friction)
            seen[name].append(nll(chain))
    given = float(np.mean(seen["cold"][-3:] + seen["warm"][-3:]))
    reached = [first_below(seen[name], given, looks(steps)) for name in ("cold", "warm")]
    cells = [task, seed, adam_steps, f"{given:.3f}", *reached, f"{seen['warm'][0]:.3f}"]
    return f"| {' | '.join(map(str, cells))} |"


def first_below(values: list[float], given: float, steps: list[int]) -> str:
    """Steps to the first look at or below a given value."""
    found = [step for step, value in zip(steps, values, strict=True) if value <= given]
    return f"{found[0]:,}" if found else f"over {steps[-1]:,}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="*", choices=TASKS, default=list(CHOSEN))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1600)
    parser.add_argument("--adam-steps", type=int, default=500)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", px.ChainWarning)
    print(HEAD, "|" + "---|" * (HEAD.count("|") - 1), sep="\n", flush=True)
    for task in arguments.tasks:
        for seed in range(arguments.seeds):
            try:
                print(line(task, seed, arguments.steps, arguments.adam_steps), flush=True)
            except px.Diverged as error:
                print(f"| {task} | {seed} | {error} |", flush=True)


if __name__ == "__main__":
    main()
