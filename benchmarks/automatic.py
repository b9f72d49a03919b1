"""`px.fit` without settings beside scikit-learn's defaults, on eight small tasks, as a table.

    python benchmarks/automatic.py                       # all tasks, seed 0
    python benchmarks/automatic.py --tasks "wine MLP" "diabetes MLP" --seeds 5
    python benchmarks/automatic.py --clock cpu           # for a machine that has other work

Every line is printed as soon as it is known, with the seconds on the wall and those of processors;
a table of the tasks comes last. With `--clock cpu` the time that `fit` keeps to is that of
processors as well, so that what else a machine does changes nothing: sixty of these are at most
sixty on the wall of an idle machine. All learn from the same rows; the validation rows give the
regressions of scikit-learn their scale: negative log-likelihoods of these are those of a normal
around the prediction, with the standard deviation of its errors on the validation rows. The test
rows are used for the table alone. Differences are means over seeds; their standard error is that
over test rows, of each row's mean over seeds.
"""

import argparse
import math
import resource
import time
import warnings
from typing import NamedTuple

import jax
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor

import pxsgmcmc as px
from pxsgmcmc.config import parse_config
from pxsgmcmc.config.build import build
from pxsgmcmc.run.health import evidence_on

MLP = 'name = "mlp"\nwidths = [100]\nactivation = "relu"'  # the network of scikit-learn's MLP
TASKS = {
    "wine MLP": ("wine", MLP),
    "breast_cancer MLP": ("breast_cancer", MLP),
    "two moons MLP": ("two-moons", MLP),
    "digits MLP": ("digits", MLP),
    "diabetes MLP": ("diabetes", MLP),
    "sinusoid MLP": ("sinusoid", MLP),
    "digits R8": ("digits", 'name = "resnet_frn"\ndepth = 8\nwidth = 8'),
    "mnist5k CNN": ("mnist5k", 'name = "cnn"\nwidths = [8, 16, 32]'),
}
CONFIG = """
[data]
name = "{data}"
[model]
{model}
[sampler]
name = "sgld"
step_size = 1.0
[chain]
draws = 1
cycle_length = 1
batch_size = 1
"""
HEAD = "| task | seed | wall s | CPU s | verdict | steps | NLL | MLP | linear |"
TASK_HEAD = (
    "| task | healthy | largest R-hat | temperatures | CPU s | NLL | MLP (difference) "
    "| linear (difference) | no worse than both |"
)
TINY = 1e-300


def problem_of(task: str) -> px.Problem:
    """Network, likelihood and data of a task; the rest of the configuration is not used."""
    data, model = TASKS[task]
    return build(parse_config(CONFIG.format(data=data, model=model))).problem


def inputs(problem: px.Problem, x: np.ndarray) -> np.ndarray:
    """As the network sees them, a row each."""
    assert problem.transform is not None
    return np.asarray(problem.transform(jax.numpy.asarray(x))).reshape(len(x), -1)


def losses_of_others(problem: px.Problem, seed: int) -> list[np.ndarray]:
    """NLL of each test row by scikit-learn's network and by its linear model, with defaults."""
    x, x_valid, x_test = (
        inputs(problem, part.x) for part in (problem.train, problem.validation, problem.test)
    )
    y, y_valid, y_test = (part.y for part in (problem.train, problem.validation, problem.test))
    if problem.likelihood.task == "classification":
        models = (MLPClassifier(random_state=seed), LogisticRegression(max_iter=1000))
        probabilities = [model.fit(x, y).predict_proba(x_test) for model in models]
        places = np.arange(len(y_test)), y_test
        return [-np.log(np.maximum(p[places], TINY)) for p in probabilities]
    mean, std = y.mean(), y.std()
    losses = []
    for model in (MLPRegressor(random_state=seed), Ridge()):
        model.fit(x, (y[:, 0] - mean) / std)
        errors = [
            mean + std * model.predict(part) - target[:, 0]
            for part, target in ((x_valid, y_valid), (x_test, y_test))
        ]
        scale = float(np.sqrt(np.mean(errors[0] ** 2)))
        squares = 0.5 * (errors[1] / scale) ** 2
        losses.append(squares + math.log(scale) + 0.5 * math.log(2.0 * math.pi))
    return losses


def losses_of(run: px.Run, problem: px.Problem) -> np.ndarray:
    """NLL of each test row by the average of all draws."""
    log_likelihood = jax.jit(problem.log_likelihood)
    each = [np.asarray(log_likelihood(draw, tuple(problem.test)), np.float64) for draw in run]
    return math.log(len(each)) - np.logaddexp.reduce(each, axis=0)


def processor_seconds() -> float:
    """That this process and its children have used."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


class Outcome(NamedTuple):
    """What came of a task and a seed.

    Attributes:
      cells: of its line.
      losses: NLL of each test row: of `fit`, of scikit-learn's MLP, of its linear model.
      healthy: whether the verdict is so.
      r_hat: of the energy.
      heat: temperatures, relative to what they should be.
      cpu: seconds of processors.
    """

    cells: list[str]
    losses: list[np.ndarray]
    healthy: bool
    r_hat: float
    heat: list[float]
    cpu: float


def outcome(task: str, seed: int, max_seconds: float) -> Outcome:
    """Fit a task; print its line."""
    problem = problem_of(task)
    others = losses_of_others(problem, seed)
    began, used = time.time(), processor_seconds()
    try:
        run = px.fit(problem, seed=seed, max_seconds=max_seconds, progress=False)
    except (px.UserError, px.Diverged) as error:
        nothing = np.full(len(problem.test.x), math.inf)
        print(f"| {task} | {seed} | {error} |", flush=True)
        return Outcome([], [nothing, *others], False, math.inf, [], 0.0)
    cpu = processor_seconds() - used
    wall = time.time() - began
    evidence = evidence_on(run)
    heat = [one.value / one.expected for one in evidence.kinetic.values()]
    word = {True: "healthy", False: "not healthy", None: "not known"}[run.verdict.healthy]
    setbacks = f", set back {evidence.setbacks} x" if evidence.setbacks else ""
    r_hat = math.nan if evidence.energy_r_hat is None else evidence.energy_r_hat
    verdict = f"{word}: T {'/'.join(f'{one:.2f}' for one in heat)}, R-hat {r_hat:.2f}{setbacks}"
    lengths = run.origin["collection"]
    steps = f"{lengths['burn_in']:,} + {lengths['draws']} x {lengths['cycle_length']:,}"
    losses = [losses_of(run, problem), *others]
    cells = [task, seed, f"{wall:.0f}", f"{cpu:.0f}", verdict, steps]
    cells += [f"{np.mean(one):.3f}" for one in losses]
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
    return Outcome(cells, losses, run.verdict.healthy is True, r_hat, heat, cpu)


def summary(task: str, found: list[Outcome]) -> str:
    """A line of the table of tasks."""
    rows = np.array([one.losses for one in found])  # (seeds, methods, rows)
    cells = [task, f"{sum(one.healthy for one in found)} of {len(found)}"]
    cells.append(f"{max(one.r_hat for one in found):.2f}")
    heats = [heat for one in found for heat in one.heat] or [math.nan]
    cells.append(f"{min(heats):.2f} to {max(heats):.2f}")
    cells.append(f"{np.mean([one.cpu for one in found]):.0f}")
    means = rows.mean(axis=2)
    cells.append(f"{means[:, 0].mean():.3f} ± {means[:, 0].std():.3f}")
    for other in (1, 2):
        difference = (rows[:, 0] - rows[:, other]).mean(axis=0)
        error = difference.std() / math.sqrt(len(difference))
        cells.append(f"{means[:, other].mean():.3f} ({difference.mean():+.3f} ± {error:.3f})")
    worse = means[:, 0].mean() > means[:, 1:].mean(axis=0).min()
    return f"| {' | '.join([*cells, 'no' if worse else 'yes'])} |"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="*", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--max-seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    if arguments.clock == "cpu":
        time.monotonic = time.process_time  # what `fit` and the chains look at
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", px.ChainWarning)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    print(HEAD, "|" + "---|" * (HEAD.count("|") - 1), sep="\n", flush=True)
    found = {
        task: [outcome(task, seed, arguments.max_seconds) for seed in seeds]
        for task in arguments.tasks
    }
    print("", TASK_HEAD, "|" + "---|" * (TASK_HEAD.count("|") - 1), sep="\n")
    for task, outcomes in found.items():
        print(summary(task, outcomes))


if __name__ == "__main__":
    main()
