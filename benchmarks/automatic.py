"""`px.fit` without settings beside scikit-learn's defaults, on eight small tasks, as a table.

    python benchmarks/automatic.py                       # all tasks, seed 0
    python benchmarks/automatic.py --tasks wine diabetes --seeds 5
    python benchmarks/automatic.py --clock cpu           # for a machine that has other work

Every line is printed as soon as it is known, with the seconds on the wall and those of processors.
With `--clock cpu` the time that `fit` keeps to is that of processors as well, so that what else a
machine does changes nothing: sixty of these are at most sixty on the wall of an idle machine. All
learn from the same rows; the validation rows give the regressions of scikit-learn their scale:
negative log-likelihoods of these are those of a normal around the prediction, with the standard
deviation of its errors on the validation rows. The test rows are used for the table alone.
"""

import argparse
import math
import resource
import time
import warnings

import jax
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier, MLPRegressor

import pxsgmcmc as px
from pxsgmcmc.config import parse_config
from pxsgmcmc.config.build import build
from pxsgmcmc.run.health import evidence_on

MLP = 'name = "mlp"\nwidths = [32, 32]'
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
HEAD = "| task | seed | wall s | CPU s | verdict | method | steps | NLL | MLP | linear |"


def problem_of(task: str) -> px.Problem:
    """Network, likelihood and data of a task; the rest of the configuration is not used."""
    data, model = TASKS[task]
    return build(parse_config(CONFIG.format(data=data, model=model))).problem


def inputs(problem: px.Problem, x: np.ndarray) -> np.ndarray:
    """As the network sees them, a row each."""
    assert problem.transform is not None
    return np.asarray(problem.transform(jax.numpy.asarray(x))).reshape(len(x), -1)


def losses_of_others(problem: px.Problem, seed: int) -> list[float]:
    """Test NLL of scikit-learn's network and of its linear model, with their defaults."""
    x, x_valid, x_test = (
        inputs(problem, part.x) for part in (problem.train, problem.validation, problem.test)
    )
    y, y_valid, y_test = (part.y for part in (problem.train, problem.validation, problem.test))
    if problem.likelihood.task == "classification":
        models = (MLPClassifier(random_state=seed), LogisticRegression(max_iter=1000))
        return [
            log_loss(y_test, model.fit(x, y).predict_proba(x_test), labels=range(problem.targets))
            for model in models
        ]
    mean, std = y.mean(), y.std()
    losses = []
    for model in (MLPRegressor(random_state=seed), Ridge()):
        model.fit(x, (y[:, 0] - mean) / std)
        errors = [
            mean + std * model.predict(part) - target[:, 0]
            for part, target in ((x_valid, y_valid), (x_test, y_test))
        ]
        scale = float(np.sqrt(np.mean(errors[0] ** 2)))
        square = float(np.mean((errors[1] / scale) ** 2))
        losses.append(0.5 * square + math.log(scale) + 0.5 * math.log(2.0 * math.pi))
    return losses


def processor_seconds() -> float:
    """That this process and its children have used."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def line(task: str, seed: int, max_seconds: float) -> str:
    """A row of the table."""
    problem = problem_of(task)
    others = [f"{loss:.3f}" for loss in losses_of_others(problem, seed)]
    began, used = time.time(), processor_seconds()
    try:
        run = px.fit(problem, seed=seed, max_seconds=max_seconds, progress=False)
    except (px.UserError, px.Diverged) as error:
        run, outcome = None, [str(error), "-", "-", "-"]
    cost = [f"{time.time() - began:.0f}", f"{processor_seconds() - used:.0f}"]
    if run is not None:
        outcome = outcome_of(run)
    return f"| {' | '.join(map(str, [task, seed, *cost, *outcome, *others]))} |"


def outcome_of(run: px.Run) -> list[str]:
    """Verdict, method, steps and test NLL of a run."""
    evidence = evidence_on(run)
    heat = "/".join(f"{one.value / one.expected:.2f}" for one in evidence.kinetic.values())
    word = {True: "healthy", False: "not healthy", None: "not known"}[run.verdict.healthy]
    setbacks = f", set back {evidence.setbacks} x" if evidence.setbacks else ""
    verdict = f"{word}: T {heat}, R-hat {evidence.energy_r_hat or math.nan:.2f}{setbacks}"
    results = run.evaluate()
    assert results.test is not None
    lengths = run.origin["collection"]
    steps = f"{lengths['burn_in']:,} + {lengths['draws']} x {lengths['cycle_length']:,}"
    return [verdict, run.origin["method"], steps, f"{float(results.test.metrics['nll']):.3f}"]


def main() -> None:
    """Print the table."""
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
    print(HEAD, "|" + "---|" * (HEAD.count("|") - 1), sep="\n", flush=True)
    for task in arguments.tasks:
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            print(line(task, seed, arguments.max_seconds), flush=True)


if __name__ == "__main__":
    main()
