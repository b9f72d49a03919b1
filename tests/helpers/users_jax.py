"""JAX as users have it, for code that is written as they would write it."""

import contextlib

import jax


@contextlib.contextmanager
def as_users_have_it():
    """JAX as it comes, without the strictness of our tests."""
    with (
        jax.numpy_rank_promotion("allow"),
        jax.numpy_dtype_promotion("standard"),
        jax.debug_key_reuse(False),
    ):
        yield
