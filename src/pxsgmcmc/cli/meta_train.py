"""The command `pxsgmcmc meta-train`: learn the network of the sampler L2E."""

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import tyro

from pxsgmcmc.cli.saying import say
from pxsgmcmc.cli.startup_checks import check_devices, check_single_precision
from pxsgmcmc.errors import Interrupted, check_count

OUT = "runs/l2e"


def meta_train_l2e(
    out: Annotated[str, tyro.conf.arg(metavar="DIR")] = OUT,
    outer_steps: int = 500,
    seed: int = 0,
    data_sets: tuple[str, ...] = ("digits", "mnist5k-14", "mnist5k"),
    kinds: tuple[str, ...] = ("dense", "conv"),
    widths: tuple[int, ...] = (4, 8),
    depths: tuple[int, ...] = (1, 2),
    inner_steps: int = 200,
    averaged_steps: int = 50,
    thinning: int = 5,
    batch_size: int = 32,
    held_out_rows: int = 250,
    pairs: int = 4,
    sigma: float = 0.03,
    learning_rate: float = 0.03,
    clip: float = 1.0,
    step_multiplier: float = 50.0,
    noise_multiplier: float = 1e-3,
    weight_decay: float = 5e-4,
    evaluate_every: int = 100,
    repeats: int = 4,
    data_root: Annotated[str | None, tyro.conf.arg(metavar="DIR")] = None,
    threads: int = 1,
) -> int:
    """Learn the network of the sampler L2E by evolution strategies over small tasks.

    pxsgmcmc meta-train
    pxsgmcmc meta-train --outer-steps 2000 --data-sets digits mnist5k-14 --out runs/mine
    pxsgmcmc meta-train --data-sets digits fashion-mnist

    An outer step tries a few perturbed networks, in pairs, on tasks drawn at random, and moves the
    weights to where predictions came out better: a second or two on one core. The learning rate
    falls to zero over --outer-steps, so their number is part of what is learned. However it was
    stopped, it goes on when called again with the same settings. Writes weights.safetensors, for
    `weights` of [sampler] with name = "l2e", a log, and a page.

    Args:
      out: folder for the weights, states, log.jsonl and page.html.
      outer_steps: in all, with which the learning rate falls.
      seed: of everything random.
      data_sets: of the tasks; embedded ones, or official ones that you have, as fashion-mnist.
      kinds: of networks, dense and conv.
      widths: of their hidden layers.
      depths: hidden layers; those of two or more are also made with shortcuts.
      inner_steps: steps of the sampler in one unroll.
      averaged_steps: at its end, from which predictions are averaged.
      thinning: steps between averaged predictions.
      batch_size: rows an inner step sees.
      held_out_rows: validation rows on which the predictions are judged, at most.
      pairs: of perturbations in an outer step.
      sigma: standard deviation of a perturbation of a weight.
      learning_rate: of Adam at the first outer step; zero after the last.
      clip: largest norm of a meta-gradient.
      step_multiplier: the sampler's step size is sqrt(step_multiplier / rows).
      noise_multiplier: of the sampler's noise.
      weight_decay: a normal prior of variance 1 / (rows * weight_decay).
      evaluate_every: outer steps between looks at the held-out tasks.
      repeats: unrolls of each held-out task.
      data_root: folder of official data sets; the cache folder if not given.
      threads: of XLA; the last bits of the weights depend on it.
    """
    check_count("threads", threads, at_least=1)
    if "jax" not in sys.modules:
        os.environ["PJRT_NPROC"] = str(threads)  # JAX reads this when it starts

    check_devices()
    check_single_precision()
    from pxsgmcmc.meta.folder import WEIGHTS
    from pxsgmcmc.meta.outcome import describe, write_page
    from pxsgmcmc.meta.settings import MetaSettings
    from pxsgmcmc.meta.train import meta_train

    settings = MetaSettings(
        outer_steps=outer_steps,
        seed=seed,
        data_sets=data_sets,
        kinds=kinds,
        widths=widths,
        depths=depths,
        inner_steps=inner_steps,
        averaged_steps=averaged_steps,
        thinning=thinning,
        batch_size=batch_size,
        held_out_rows=held_out_rows,
        pairs=pairs,
        sigma=sigma,
        learning_rate=learning_rate,
        clip=clip,
        step_multiplier=step_multiplier,
        noise_multiplier=noise_multiplier,
        weight_decay=weight_decay,
        evaluate_every=evaluate_every,
        repeats=repeats,
    )
    try:
        meta_train(settings, out, data_root=data_root)
    except Interrupted as stopped:
        say(f"{stopped} Go on with:")
        say(f"  pxsgmcmc {shlex.join(sys.argv[1:])}")
        return 128 + stopped.signal
    say(describe(out))
    say(f"weights: {Path(out) / WEIGHTS}")
    say(f"page: {write_page(out)}")
    return 0
