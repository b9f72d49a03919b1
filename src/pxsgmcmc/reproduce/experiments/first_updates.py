"""The first updates at the paper's size, as numbers that other implementations can be held to."""

from pxsgmcmc.reproduce.experiment import Arm, Experiment, TableSpec

_MEANS = ("minus_log_likelihood", "minus_log_prior", "half_squared_factors")
_END = ("merged_norm", "kinetic_base", "kinetic_factors")
_JUDGED = [f"{name}_{metric}" for name in ("train", "validation") for metric in ("err", "nll")]


def experiment(updates: int) -> Experiment:
    """SGHMC and PX-SGHMC (c = d = 1) with the published settings.

    Args:
      updates: how many of the first cycle, from its peak on.
    """
    return Experiment(
        name="first-updates",
        title=f"The first {updates:,} updates at the paper's size",
        about="R20-FRN-Swish on CIFAR-10, batches of 256, the published settings, the first "
        "updates of a cycle of 5,000.",
        arms=lambda scale: [
            Arm(method, compute="updates:follow", over={"method": method, "updates": updates})
            for method in ("SGHMC", "PX-SGHMC")
        ],
        tables=lambda scale: [
            TableSpec("Means over the updates", [f"first/{name}" for name in _MEANS]),
            TableSpec("After the last of them", [f"first/{name}" for name in _END]),
            TableSpec("After the last of them, judged", [f"first/{name}" for name in _JUDGED]),
        ],
    )
