"""Configurations that run in a moment."""

from pathlib import Path

SMALL = """
[data]
name = "digits"
limit = 60

[model]
name = "mlp"
widths = [4]

[expansion]
out = 1
into = 1

[sampler]
name = "sghmc"
step_size = 1e-4
friction = { base = 100.0, factors = 1.0 }

[chain]
draws = 3
cycle_length = 5
batch_size = 20
"""

# A process that runs it imports neither Flax nor a data set.
OWN_MODULE = """
import jax.numpy as jnp, numpy as np, pxsgmcmc as px

def make_problem():
    x = np.linspace(-1, 1, 40, dtype=np.float32)[:, None]
    y = (x[:, 0] > 0).astype(np.int32)
    def init(key):
        return {"kernel": jnp.zeros((1, 2)), "bias": jnp.zeros((2,))}
    def apply(params, x):
        return x @ params["kernel"] + params["bias"]
    return px.Problem(apply, px.likelihoods.categorical(), train=(x, y), init=init)
"""


def write_own_problem(folder: Path) -> Path:
    """Write a configuration, and beside it the module with its problem; returns the former."""
    (folder / "my_module.py").write_text(OWN_MODULE)
    text = 'problem = "my_module:make_problem"\n' + SMALL[SMALL.index("[sampler]") :]
    (folder / "own.toml").write_text(text.replace("{ base = 100.0, factors = 1.0 }", "10.0"))
    return folder / "own.toml"
