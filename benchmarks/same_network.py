"""Whether PyTorch's R20 is our R20: the same logits and gradients from the same weights.

python benchmarks/same_network.py PYTHON       with the interpreter that has PyTorch
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

BATCH = 32


def check(python: str) -> dict[str, float]:
    """The largest difference in logits, and the relative length of that in the gradient.

    By rounding, a unit at its threshold may fall to either side; that alone moves the gradient by
    some 1e-3, so anything well below 1e-2 is the same network.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.npz"
        save(path)
        worker = str(Path(__file__).parent / "torch_worker.py")
        done = subprocess.run(
            [python, worker, "check", str(path)], capture_output=True, text=True, check=True
        )
    found = json.loads(done.stdout)
    if found["logits"] > 1e-3 or found["gradients"] > 1e-2:
        raise RuntimeError(f"PyTorch's network is another one: {found}")
    return found


def save(path: Path) -> None:
    """Images, labels, weights at random, logits and gradients of our network."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from pxsgmcmc.models import build

    model = build("resnet_frn", depth=20, width=16, classes=10)
    x = jax.random.normal(jax.random.key(0), (BATCH, 32, 32, 3))
    y = jnp.arange(BATCH) % 10
    params = model.init(jax.random.key(1), x)
    leaves, structure = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(2), len(leaves))
    noise = [
        0.1 * jax.random.normal(key, leaf.shape) for key, leaf in zip(keys, leaves, strict=True)
    ]
    params = jax.tree.map(jnp.add, params, jax.tree.unflatten(structure, noise))

    def loss(params, x, y):
        logits = model.apply(params, x)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1)
        return -jnp.mean(chosen), logits

    (_, logits), gradients = jax.jit(jax.value_and_grad(loss, has_aux=True))(params, x, y)
    arrays = {"x": x, "y": y, "logits": logits}
    for kind, tree in (("params", params), ("gradients", gradients)):
        for names, leaf in jax.tree.leaves_with_path(tree):
            arrays["/".join([kind, *(str(name.key) for name in names)])] = leaf
    np.savez(path, **{name: np.asarray(array) for name, array in arrays.items()})


if __name__ == "__main__":
    print(json.dumps(check(sys.argv[1])))
