"""Strict JAX for every test: reused keys, silent broadcasting and silent casts are errors."""

import jax
import pytest

jax.config.update("jax_debug_key_reuse", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")


@pytest.fixture
def key():
    """A key that is the same in every run."""
    return jax.random.key(20_250_424)
