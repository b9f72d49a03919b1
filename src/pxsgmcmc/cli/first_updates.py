"""The command `pxsgmcmc reproduce first-updates`, to hold other implementations against."""

from pxsgmcmc.cli.reproduce import (
    RESULTS,
    RUNS,
    Folder,
    Switch,
    check_places,
    planner_for,
    say_stopped,
)
from pxsgmcmc.cli.saying import say
from pxsgmcmc.errors import check_count
from pxsgmcmc.jobs.engines import engine_named
from pxsgmcmc.reproduce.estimate import spelt
from pxsgmcmc.reproduce.outcome import made_lines
from pxsgmcmc.reproduce.plan import is_done
from pxsgmcmc.reproduce.running import check_sets, make
from pxsgmcmc.reproduce.scale import scale_named
from pxsgmcmc.reproduce.tables import gather


def first_updates(
    seeds: int = 4,
    updates: int = 1000,
    results: Folder = RESULTS,
    dry_run: Switch = False,
) -> int:
    """The first updates of SGHMC and PX-SGHMC at the paper's size, to hold against other code.

    pxsgmcmc reproduce first-updates
    pxsgmcmc reproduce first-updates --seeds 1 --updates 10

    Means over the updates of minus log likelihood, minus log prior of the base and half the squared
    norm of the factors; at the end the norm of the merged weights, kinetic temperatures, and error
    and NLL on training and validation rows. Needs CIFAR-10; --dry-run estimates the time.

    Args:
      seeds: of either method.
      updates: how many.
      results: folder of what is kept.
      dry_run: list what would be run, and what it would cost.
    """
    from pxsgmcmc.reproduce.experiments.first_updates import experiment

    check_places(results=results)
    check_count("seeds", seeds, at_least=1)
    check_count("updates", updates, at_least=1)
    size = scale_named("paper")
    planner = planner_for(size, results, RUNS, look_for_sets=False)
    chosen = experiment(updates)
    planner.know(chosen)
    tasks = planner.tasks([chosen], range(seeds))
    todo = sum(not is_done(task) for task in tasks)
    seconds = todo * (60.0 + updates * size.cost.step)
    estimate = (
        f"{todo} of {len(tasks)} to make, one by one, about {spelt(seconds)} on two cores, "
        f"{size.cost.gigabytes:.1f} GB of memory"
        if todo
        else f"All {len(tasks)} are made."
    )
    if dry_run:
        for task in tasks:
            say(f"{'done ' if is_done(task) else 'to do'}  {task.label}")
        say(estimate)
        return 0
    if todo:
        check_sets([size.config({"sampler.name": "sgd", "sampler.step_size": 1.0})])
        say(estimate, to_errors=True)
    command = f"pxsgmcmc reproduce first-updates --seeds {seeds} --updates {updates}"
    machine = engine_named("local", 1)
    stopped_by = make(tasks, machine, title="first-updates", scale="paper", command=command)
    if stopped_by is not None:
        return say_stopped(stopped_by, command, results=results)
    say("\n".join(made_lines(gather(chosen, planner))))
    return 0
