"""How long a plan will take here, before it starts."""

from collections.abc import Sequence
from functools import cache

from pxsgmcmc.config import Config
from pxsgmcmc.config.model_sections import MLPSettings
from pxsgmcmc.config.sampler_sections import HMC
from pxsgmcmc.errors import UserError
from pxsgmcmc.reproduce.outcome import in_columns
from pxsgmcmc.reproduce.plan import DIAGNOSE, STRESS, PlannedTask, is_done
from pxsgmcmc.reproduce.scale import Scale

COMPUTED = 15.0  # processor seconds of one computation
UNSTRESSED = 0.2  # share of an evaluation that test, validation and training rows are
DENSE = 0.015  # share of a step of a residual network that one of a small dense network takes
DENSE_JUDGED = 0.3  # of an evaluation and a diagnosis likewise
LONG = 48 * 3600.0  # seconds from which on it has to be asked for twice
_UNITS = (("years", 365.25 * 86400.0), ("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0))


def processor_seconds(task: PlannedTask, scale: Scale) -> float:
    """Of one task, on one core of a CPU."""
    config, cost = task.config, scale.cost
    if config is None:
        return COMPUTED
    judged = cost.evaluation * (1.0 if STRESS in task.parts else UNSTRESSED)
    judged += cost.diagnosis if DIAGNOSE in task.parts else 0.0
    judged *= DENSE_JUDGED if isinstance(config.model, MLPSettings) else 1.0
    return config.chains * chain_seconds(config, scale) + judged


def chain_seconds(config: Config, scale: Scale) -> float:
    """Of one chain, from the start of its process to its last draw."""
    chain, expansion, cost = config.chain, config.expansion, scale.cost
    steps = chain.burn_in + chain.draws * chain.cycle_length
    dense = isinstance(config.model, MLPSettings)
    steps *= chain.batch_size / _usual_batch(scale) * (DENSE if dense else 1.0)
    steps *= config.sampler.leapfrog_steps if isinstance(config.sampler, HMC) else 1
    depth = expansion.out + expansion.into
    step = cost.step * (1.0 + (cost.expanded - 1.0) * depth / 2.0)
    return cost.start + steps * step


@cache
def _usual_batch(scale: Scale) -> int:
    return scale.config({"sampler.name": "sgd", "sampler.step_size": 1.0}).chain.batch_size


def wall_seconds(tasks: Sequence[PlannedTask], scale: Scale, at_once: int) -> float:
    """Of all that is not done yet, with so many cores at work."""
    todo = [task for task in tasks if not is_done(task)]
    chains = sum(processor_seconds(task, scale) for task in todo if task.config is not None)
    computed = sum(processor_seconds(task, scale) for task in todo if task.config is None)
    return chains / at_once + computed


def cost_lines(
    tasks: Sequence[PlannedTask], scale: Scale, seconds: float, at_once: int
) -> list[str]:
    """Every task with its minutes, and all of them together, for people."""
    rows = [["", "run", "settings", "on one core"]]
    for task in tasks:
        done = is_done(task)
        length = "" if done else spelt(processor_seconds(task, scale))
        rows.append(["done" if done else "to do", task.label, task.digest, length])
    todo = sum(row[0] == "to do" for row in rows)
    if not todo:
        return [*in_columns(rows), f"All {len(tasks)} are made."]
    total = (
        f"{todo} of {len(tasks)} to make, about {spelt(seconds)} on "
        f"{at_once} core{'s' * (at_once > 1)}, {scale.cost.gigabytes:.1f} GB of memory each"
    )
    return [*in_columns(rows), total]


def spelt(seconds: float) -> str:
    """A length of time.

    Example:
      >>> spelt(90), spelt(5400), spelt(1e8)
      ('2 minutes', '1.5 hours', '3.2 years')
    """
    for unit, length in _UNITS:
        if seconds >= length:
            amount = seconds / length
            return f"{amount:.0f} {unit}" if unit == "minutes" else f"{amount:.1f} {unit}"
    return "less than a minute"


def check_patience(seconds: float, what: str, *, yes: bool) -> None:
    """Raise `UserError` if it would take days and nobody said that this is meant."""
    if seconds >= LONG and not yes:
        raise UserError(
            f"`{what}` would take about {spelt(seconds)} on the processors of this machine; "
            "`--yes` starts it all the same, `--dry-run` lists what it would do."
        )
