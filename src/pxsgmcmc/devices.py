"""The mean over a batch with a part of it on each device: the one sum that devices share.

A chain on N devices has its whole state on each of them. A step needs the mean over its batch of
one number a datum, and the gradient of that: each device takes them over its N-th of the rows,
network and backward pass included, and what they found is averaged. All else in a step (priors,
noise, the move) every device does for itself, with the same numbers.

The split is written by hand (`shard_map`), and not left to XLA, which would gather the batch again
in front of every convolution that works on blocks of images.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh
from jax.sharding import PartitionSpec as Spec

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.types import Array, Batch, Tree

AXIS = "batch"
_MESH: ContextVar[Mesh | None] = ContextVar("mesh", default=None)

OfEach = Callable[[Tree, Batch], Array]  # (params, batch) -> one number a datum


def mesh_of(devices: int, batch_size: int) -> Mesh | None:
    """The devices among which batches are split, as many of each process; None for one.

    Raises:
      UserError: if there are not so many, or the batch cannot be split evenly.
    """
    check_count("devices", devices, at_least=1)
    if devices == 1:
        return None
    processes = jax.process_count()
    if devices % processes:
        raise UserError(
            f"`devices` must be a multiple of the {processes} processes that were started "
            f"together, so that each has as many, got {devices}."
        )
    there = [
        [device for device in jax.devices() if device.process_index == process]
        for process in range(processes)
    ]
    fewest = min(map(len, there))
    if devices > fewest * processes:
        where = "here" if processes == 1 else f"in {processes} processes"
        raise UserError(
            f"`devices` must be at most the {fewest * processes} that JAX sees {where} "
            f"({there[0][0].device_kind}), got {devices}."
        )
    if batch_size % devices:
        raise UserError(
            f"`batch_size` must be a multiple of `devices`, {devices}, so that each has as many "
            f"rows, got {batch_size}."
        )
    chosen = [device for those in there for device in those[: devices // processes]]
    return Mesh(np.array(chosen), (AXIS,), axis_types=(AxisType.Auto,))


@contextmanager
def split_over(mesh: Mesh) -> Iterator[None]:
    """What is traced inside splits its batches over the devices of `mesh`."""
    token = _MESH.set(mesh)
    try:
        yield
    finally:
        _MESH.reset(token)


def batch_mean(of_each: OfEach, params: Tree, batch: Batch) -> Array:
    """The mean over a batch of one number a datum, differentiable in `params` alone.

    Example:
      >>> float(batch_mean(lambda w, x: w * x, jnp.float32(2.0), jnp.arange(4.0)))
      3.0
    """
    mesh = _MESH.get()
    if mesh is None:
        return jnp.mean(of_each(params, batch))
    return _split_mean(of_each, mesh)(params, batch)


def _split_mean(of_each: OfEach, mesh: Mesh) -> Callable[[Tree, Batch], Array]:
    """The same mean, with a rule for its gradient that takes the gradient on each device first."""

    def local(params: Tree, batch: Batch) -> Array:
        return jnp.mean(of_each(params, batch))

    # Without JAX's own bookkeeping of what differs between devices, which loops in a user's network
    # would have to know of; `average` makes all of it equal.
    on_each = partial(
        jax.shard_map,
        mesh=mesh,
        in_specs=(Spec(), Spec(AXIS)),
        out_specs=Spec(),
        check_vma=False,
    )

    def average(function: Callable[..., Any]) -> Callable[..., Any]:
        return on_each(lambda *given: jax.lax.pmean(function(*given), AXIS))

    @jax.custom_vjp
    def mean(params: Tree, batch: Batch) -> Array:
        return average(local)(params, batch)

    def forward(params: Tree, batch: Batch) -> tuple[Array, Tree]:
        return average(jax.value_and_grad(local))(params, batch)

    def backward(gradient: Tree, scale: Array) -> tuple[Tree, None]:
        return jax.tree.map(lambda g: g * scale.astype(g.dtype), gradient), None

    mean.defvjp(forward, backward)
    return mean
