"""One chain on several devices: its state on all of them, its batches split among them."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from pxsgmcmc.chain.process_group import Together
from pxsgmcmc.devices import mesh_of, split_over
from pxsgmcmc.errors import UserError
from pxsgmcmc.posterior import PosteriorPotential
from pxsgmcmc.types import Sampler, Tree


class DeviceLayout(NamedTuple):
    """Which devices a chain uses.

    Attributes:
      mesh: the devices among which batches are split; None for the one that holds the position.
      platform: of the devices, as JAX calls it: "cpu", "gpu", "tpu".
    """

    mesh: Mesh | None
    platform: str = "cpu"

    @property
    def devices(self) -> int:
        """How many."""
        return 1 if self.mesh is None else self.mesh.size

    def place(self, tree: Any) -> Any:
        """The arrays on all devices; as they are for one, or where they are there already."""
        if self.mesh is None:
            return tree
        whole = NamedSharding(self.mesh, PartitionSpec())
        if self.together is None:
            return jax.device_put(tree, whole)
        return jax.tree.map(lambda x: _on_all(x, whole), tree)

    @property
    def together(self) -> Together | None:
        """The processes whose devices these are; None if it is this one alone."""
        if self.mesh is None or jax.process_count() == 1:
            return None
        return Together(self.mesh)

    def split(self, sampler: Sampler) -> Sampler:
        """The same sampler, whose steps split their batches."""
        mesh = self.mesh
        if mesh is None:
            return sampler
        if not isinstance(getattr(sampler.facts, "potential", None), PosteriorPotential):
            raise UserError(
                "`devices` must be 1 for a potential that `px.potential` did not make: only the "
                f"mean over data in one can be split, got {mesh.size}."
            )

        def step(key: Any, state: Any, batch: Any) -> tuple[Any, Any]:
            with split_over(mesh):
                return sampler.step(key, state, batch)

        return sampler._replace(step=step)


def _on_all(x: Any, whole: NamedSharding) -> Any:
    """An array that this process has, as one that all processes have: each brings its own."""
    if isinstance(x, jax.Array):
        if x.sharding.is_equivalent_to(whole, x.ndim):
            return x
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            words = _on_all(np.asarray(jax.random.key_data(x)), whole)
            return jax.random.wrap_key_data(words, impl=jax.random.key_impl(x))
    host = np.asarray(x)
    return jax.make_array_from_callback(host.shape, whole, lambda index: host[index])


def layout_of(devices: int, batch_size: int, position: Tree = None) -> DeviceLayout:
    """The layout on so many devices, or on the one where a position is."""
    mesh = mesh_of(devices, batch_size)
    if mesh is not None:
        return DeviceLayout(mesh, mesh.devices.flat[0].platform)
    # Arrays that are put nowhere go where JAX puts what is new.
    placed = [leaf for leaf in jax.tree.leaves(position) if isinstance(leaf, jax.Array)]
    array = placed[0] if placed else jnp.zeros(())
    return DeviceLayout(None, next(iter(array.devices())).platform)
