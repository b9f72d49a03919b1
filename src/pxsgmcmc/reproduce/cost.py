"""What a step costs: processor time and the memory of a process, and the counts at full size."""

import resource
import sys
import time
from typing import Any

import numpy as np

from pxsgmcmc.reproduce.computing import Computed
from pxsgmcmc.reproduce.scale import scale_named


def measure(*, seed: int, scale: str, out: int, into: int, steps: int = 40) -> Computed:
    """Processor seconds of a cycle, peak memory of the process, and parameters.

    Args:
      seed: of the start.
      scale: whose network and batch size.
      out: factors on outputs.
      into: factors on inputs.
      steps: that are timed, in five blocks of which the median counts.
    """
    import os

    os.environ["PJRT_NPROC"] = "1"
    import jax

    from pxsgmcmc.config.build import build

    friction = {"base": 100.0, "factors": 1.0} if out or into else None
    settings = {"sampler.name": "sghmc", "sampler.step_size": 1e-5, "seed": seed, "threads": 1}
    settings |= {"expansion.out": out, "expansion.into": into, "evaluate.corruptions": False}
    if friction is None:
        settings["sampler.friction"] = 100.0
    else:
        settings |= {f"sampler.friction.{group}": value for group, value in friction.items()}
    config = scale_named(scale).config(settings)
    built = build(config)
    sampler = built.sampler(1.0)
    state = sampler.init(built.position(0))
    size = config.chain.batch_size
    batch = jax.tree.map(lambda rows: jax.numpy.asarray(rows[:size]), tuple(built.problem.train))
    step = jax.jit(sampler.step)
    key = jax.random.key(seed)
    state, _ = step(key, state, batch)  # compiled
    blocks = []
    for _ in range(5):
        began = time.process_time()
        for _ in range(max(1, steps // 5)):
            state, _ = step(jax.random.fold_in(key, state.step), state, batch)
        jax.block_until_ready(state)
        blocks.append((time.process_time() - began) / max(1, steps // 5))
    unit = 1.0 if sys.platform == "darwin" else 1024.0  # of ru_maxrss: bytes there, kB elsewhere
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    values = {
        "cost/cycle_seconds": float(np.median(blocks)) * config.chain.cycle_length,
        "cost/megabytes": peak / 1e6,
        "cost/parameters": float(_count(scale, out, into)),
        "cost/parameters_r20": float(_count("paper", out, into)),
    }
    return Computed(values)


def _count(scale: str, out: int, into: int) -> int:
    """Numbers the sampler moves, from shapes alone: no data set is read."""
    import jax

    from pxsgmcmc.expansion import plan
    from pxsgmcmc.models import build as build_model

    config = scale_named(scale).config({"sampler.name": "sgd", "sampler.step_size": 1.0})
    assert config.model is not None and config.data is not None
    side, channels = {"desk": (8, 1), "laptop": (16, 3), "paper": (32, 3)}[scale]
    network = {name: getattr(config.model, name) for name in ("depth", "width")}
    model = build_model("resnet_frn", classes=10, **network)
    example: Any = jax.ShapeDtypeStruct((1, side, side, channels), np.float32)
    shapes = jax.eval_shape(lambda key: model.init(key, example), jax.random.key(0))
    planned = plan(
        shapes,
        out=out,
        into=into,
        input_layer=model.input_layer,
        logits_layer=model.logits_layer,
    )
    return planned.parameters
