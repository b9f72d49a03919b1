"""One chain under many layouts: chunk sizes, cores, chains in a process, virtual devices.

As a program it gets cores and devices, which must be set before JAX starts, and the layouts to run;
it prints a digest of the draws of each.
"""

import json
import os
import sys


def digests(asked):
    """Layout -> digest of the draws of chain 0."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: asked["cores"]])
    devices = f"--xla_force_host_platform_device_count={asked['devices']}"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {devices}"
    os.environ["PJRT_NPROC"] = "2"  # as the command line does for its own chains
    import jax

    assert len(jax.devices()) == asked["devices"]
    found = {}
    for executor, chunk, chains in asked["layouts"]:
        name = f"{executor}, chunks of {chunk}, {chains} in a process"
        found[f"{name}, {asked['cores']} cores, {asked['devices']} devices"] = digest(
            executor, chunk, chains
        )
    return found


def digest(executor, chunk, chains):
    """The draws of chain 0, while so many chains run in threads of this process."""
    import hashlib
    from concurrent.futures import ThreadPoolExecutor

    import pxsgmcmc as px
    from pxsgmcmc.chain.runner import Runner
    from pxsgmcmc.tree import to_arrays

    def fixed_pace(self, count, seconds):
        self._chunk_steps, self._speed = chunk, count / seconds

    Runner._set_pace = fixed_pace
    sampler, position, data = network(executor)

    def run(seed):
        settings = {"draws": 3, "cycle_length": 9, "batch_size": 64, "seed": seed}
        execution = px.Execution(executor=executor)
        draws = px.sample(sampler, position, data, **settings, execution=execution, progress=False)
        pieces = [a.tobytes() for draw in draws for a in to_arrays(draw).values()]
        return hashlib.sha256(b"".join(pieces)).hexdigest()

    with ThreadPoolExecutor(chains) as pool:
        first, *_ = pool.map(run, range(chains))
    return first


def network(executor):
    """PX-SGHMC: on convolutions, which the loop is for, or on dense layers."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import pxsgmcmc as px
    from tests.helpers.energies import classification

    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 8, 8, 3)).astype(np.float32)
    y = rng.integers(0, 10, size=200).astype(np.int32)
    shapes = {"head": (128, 10)}
    shapes |= {"conv": (3, 3, 3, 128)} if executor == "loop" else {"dense": (192, 128)}
    params = {
        name: {"kernel": jnp.asarray(0.05 * rng.normal(size=shape), jnp.float32)}
        for name, shape in shapes.items()
    }

    def apply(params, x):
        if executor == "loop":
            axes = ("NHWC", "HWIO", "NHWC")
            x = jax.lax.conv_general_dilated(
                x, params["conv"]["kernel"], (1, 1), "SAME", dimension_numbers=axes
            ).mean(axis=(1, 2))
        else:
            x = x.reshape(len(x), -1) @ params["dense"]["kernel"]
        return jnp.tanh(x) @ params["head"]["kernel"]

    plan = px.plan(params)
    friction = plan.groups(base=10.0, factors=1.0)
    sampler = px.sghmc(classification(apply, data_size=200), 1e-3, friction=friction)
    return sampler, px.expand(params, plan), (x, y)


if __name__ == "__main__":
    print(json.dumps(digests(json.loads(sys.argv[1]))))
