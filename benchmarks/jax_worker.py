"""One candidate of the benchmark in a process of its own: it is told how many steps to take.

    python benchmarks/jax_worker.py CANDIDATE [key=value ...]

Prints a JSON line when its first step is done, then answers each number on its input with the
seconds that so many steps took and the most memory it held while stepping. `race.py` starts and
interleaves such processes.
"""

import time

STARTED = time.perf_counter()

import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

from memory import forget_peak, peak_mb  # noqa: E402
from problem import Setting, problem, read_setting, use_plain_layers  # noqa: E402


def chain(name: str, setting: Setting) -> Callable[[int], None]:
    """One of our samplers as a chain runs it: batches gathered from uint8, noise, sums."""
    import jax
    import jax.numpy as jnp

    import pxsgmcmc as px
    from pxsgmcmc.chain.batches import Batches
    from pxsgmcmc.chain.executors import Advance, faster_executor
    from pxsgmcmc.rng import streams

    parts = problem(setting)
    friction = parts.plan.groups(base=100.0, factors=1.0) if parts.plan else 100.0
    settings = {} if name in ("sgld", "psgld") else {"friction": friction}
    sampler = getattr(px, name)(parts.energy, 1e-6, **settings)
    keys = streams(0)
    batches = Batches(keys.batches, data_size=setting.rows, batch_size=setting.batch)
    state = jax.jit(sampler.init)(jax.tree.map(jnp.copy, parts.position))
    example = jax.tree.map(lambda x: x[: setting.batch], parts.data)
    executor: Any = setting.executor
    if executor == "auto":
        traced = jax.make_jaxpr(sampler.step)(jax.random.key(0), state, example)
        executor = faster_executor(traced, jax.default_backend())
    advance = Advance(sampler, parts.data, [keys], executor, None, setting.batch)
    taken = 0

    def steps(count: int) -> None:
        nonlocal state, taken
        state, sums = advance(state, taken, batches.rows(taken, count))
        taken += count
        batches.shuffle_ahead(taken, count)
        jax.block_until_ready((state, sums))

    return steps


def floor(setting: Setting) -> Callable[[int], None]:
    """A plain training step, SGD with momentum by optax, jitted, on one batch that stays."""
    import jax
    import optax

    parts = problem(setting)
    optimiser = optax.sgd(1e-6, momentum=0.9)
    batch = jax.tree.map(lambda x: x[: setting.batch], parts.data)

    @jax.jit
    def step(params, memory, batch):
        loss, gradient = jax.value_and_grad(parts.energy)(params, batch)
        updates, memory = optimiser.update(gradient, memory, params)
        return optax.apply_updates(params, updates), memory, loss

    params, memory, loss = parts.params, optimiser.init(parts.params), None

    def steps(count: int) -> None:
        nonlocal params, memory, loss
        for _ in range(count):
            params, memory, loss = step(params, memory, batch)
        jax.block_until_ready((params, loss))

    return steps


def gradient(setting: Setting) -> Callable[[int], None]:
    """The jitted gradient of the same energy, called bare in a loop."""
    import jax

    parts = problem(setting)
    batch = jax.tree.map(lambda x: x[: setting.batch], parts.data)
    take = jax.jit(jax.value_and_grad(parts.energy))

    def steps(count: int) -> None:
        for _ in range(count):
            found = take(parts.position, batch)
        jax.block_until_ready(found)

    return steps


def dispatch(setting: Setting) -> Callable[[int], None]:
    """A jitted call with the arguments and results of a step that does next to nothing."""
    import jax

    parts = problem(setting)
    batch = jax.tree.map(lambda x: x[: setting.batch], parts.data)
    take = jax.jit(lambda params, batch: jax.tree.map(lambda x: x + 1.0, params))
    params = parts.position

    def steps(count: int) -> None:
        nonlocal params
        for _ in range(count):
            params = take(params, batch)
        jax.block_until_ready(params)

    return steps


def bare_scan(setting: Setting, told: bool = False) -> Callable[[int], None]:
    """SGHMC steps in one `lax.scan` over the rows of each step; their energies if told."""
    import jax
    import jax.numpy as jnp

    import pxsgmcmc as px

    parts = problem(setting)
    sampler = px.sghmc(parts.energy, 1e-6, friction=100.0)
    state = sampler.init(parts.position)

    @jax.jit
    def many(state, rows, data, key):
        def body(state, row):
            batch = jax.tree.map(lambda x: x[row], data)
            state, info = sampler.step(jax.random.fold_in(key, state.step), state, batch)
            return state, info.energy if told else None

        return jax.lax.scan(body, state, rows)

    def steps(count: int) -> None:
        nonlocal state
        rows = (jnp.arange(count * setting.batch, dtype=jnp.int32) * 7) % setting.rows
        rows = rows.reshape(count, setting.batch)
        state, energies = many(state, rows, parts.data, jax.random.key(1))
        jax.block_until_ready((state, energies))

    return steps


def blackjax_step(name: str, setting: Setting) -> Callable[[int], None]:
    """BlackJAX's sampler on the same log density, jitted; SGHMC takes two gradients a step.

    Its SGHMC draws a new momentum for every step and moves before it looks at the gradient, so one
    gradient a step would never be used, and XLA would leave the network out altogether. Its
    gradients are taken inside a loop on the device, where XLA on a CPU convolves slowly; a step of
    R20 takes minutes, so it is measured on R8.
    """
    import blackjax
    import jax

    parts = problem(setting)
    batch = jax.tree.map(lambda x: x[: setting.batch], parts.data)

    def log_density_gradient(params, batch):
        return jax.grad(lambda params: -parts.energy(params, batch))(params)

    if name == "sghmc":
        kernel = blackjax.sghmc(log_density_gradient, num_integration_steps=2)
    else:
        kernel = blackjax.sgld(log_density_gradient)
    position = kernel.init(parts.params)
    step = jax.jit(kernel.step)
    key = jax.random.key(0)

    def steps(count: int) -> None:
        nonlocal position, key
        for _ in range(count):
            key, now = jax.random.split(key)
            position = step(now, position, batch, 1e-6)
        jax.block_until_ready(position)

    return steps


def one_layer(name: str, setting: Setting) -> Callable[[int], None]:
    """A convolution, or a norm and swish, with its gradients, alone."""
    import jax
    import jax.numpy as jnp

    from pxsgmcmc.models import _layers as layers

    if setting.layers == "xla":
        use_plain_layers()
    x = jax.random.normal(
        jax.random.key(0), (setting.batch, setting.size, setting.size, setting.width)
    )
    if name == "convolution":
        function = layers.convolve
        weights = [jax.random.normal(jax.random.key(1), (3, 3, setting.width, setting.width))]
    else:
        function = lambda x, *vectors: layers.swish(layers.filter_response_norm(x, *vectors))  # noqa: E731
        weights = [jnp.full(setting.width, value) for value in (1.1, 0.1, -0.5)]

    @jax.jit
    def pass_through(x, weights):
        y, pull_back = jax.vjp(function, x, *weights)
        return y, pull_back(y)

    def steps(count: int) -> None:
        for _ in range(count):
            jax.block_until_ready(pass_through(x, weights))

    return steps


CANDIDATES: dict[str, Callable[[Setting], Callable[[int], None]]] = {
    "floor": floor,
    "gradient": gradient,
    "dispatch": dispatch,
    "bare_scan": bare_scan,
    "bare_scan_energies": lambda setting: bare_scan(setting, told=True),
    "convolution": lambda setting: one_layer("convolution", setting),
    "norm": lambda setting: one_layer("norm", setting),
    "blackjax_sgld": lambda setting: blackjax_step("sgld", setting),
    "blackjax_sghmc": lambda setting: blackjax_step("sghmc", setting),
    **{
        name: (lambda setting, name=name: chain(name, setting))
        for name in ("sgld", "psgld", "sghmc", "sgnht")
    },
}


def main() -> None:
    """Serve steps until the input ends."""
    name, setting = sys.argv[1], read_setting(sys.argv[2:])
    os.environ["PJRT_NPROC"] = str(setting.threads)
    if setting.core >= 0:
        os.sched_setaffinity(0, {setting.core})
    steps = CANDIDATES[name](setting)
    steps(1)
    first = time.perf_counter() - STARTED
    ready = {"ready": name, "first_step_seconds": first, "idle_mb": forget_peak()}
    print(json.dumps(ready), flush=True)
    for line in sys.stdin:
        began = time.perf_counter()
        steps(int(line))
        seconds = time.perf_counter() - began
        print(json.dumps({"seconds": seconds, "peak_mb": peak_mb()}), flush=True)


if __name__ == "__main__":
    main()
