"""Strict JAX for every test: reused keys, silent broadcasting and silent casts are errors."""

import atexit
import gc
import os
import shutil
import signal
import tempfile

import jax
import pytest

jax.config.update("jax_debug_key_reuse", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

# A tenth of the tests' time is noting in each program which lines it comes from.
jax.config.update("jax_traceback_in_locations_limit", 0)
os.environ["JAX_TRACEBACK_IN_LOCATIONS_LIMIT"] = "0"  # of the processes that tests start

# A shell starts what it puts into the background with Ctrl-C ignored, nohup what it starts with
# SIGHUP ignored; tests of signals, and the processes that they start, need both at their defaults.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    # JAX is imported, so this is for workers and the processes that tests start: they compile
    # things once, and leave nothing in the user's own cache.
    compiled = tempfile.mkdtemp(prefix="pxsgmcmc-compiled-")
    atexit.register(shutil.rmtree, compiled, ignore_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = compiled
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"

# Most of the tests' time is compilation. Without XLA's newer compiler of fused loops, without
# cutting small programs into pieces for threads and without most optimisations it is a third of
# it; only rounding may differ. What runs for longer than it compiles asks for more of them:
# `long_jit` and `optimised` in `tests/helpers/quick_jit.py`.
QUICK = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"


def pytest_addoption(parser):
    """Add `--quick-compile`."""
    parser.addoption(
        "--quick-compile",
        action="store_true",
        help="compile in half the time, otherwise than XLA does unless told; for short programs",
    )


def pytest_configure(config):
    """Tell XLA of it before the first program is compiled."""
    if not config.getoption("--quick-compile"):
        return
    jax.config.update("jax_disable_most_optimizations", True)
    os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # of the processes that tests start
    flags = os.environ.get("XLA_FLAGS", "")
    if QUICK not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {QUICK}".strip()  # workers inherit it


# Modules and tests stay until the end: looking among them for garbage, again and again, took a
# third of the time to collect the tests.
gc.disable()


def pytest_collection_finish():
    """Look for garbage from now on, in what the tests make."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish():
    """Look a last time; pytest does five times, among all that was ever compiled."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def key():
    """A key that is the same in every run."""
    return jax.random.key(20_250_424)


@pytest.fixture
def in_float64():
    """Arithmetic in float64."""
    with jax.enable_x64(True):
        yield
