"""`jax.jit` for programs that compile longer than they run, and for those that run longer."""

import contextlib
import functools

import jax

# A quarter of XLA's usual time to compile; the programs run slower, and round as they please.
OPTIONS = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
quick_jit = functools.partial(jax.jit, compiler_options=OPTIONS)

# For long loops, which `--quick-compile` would make run for several times as long.
USUAL = {
    "xla_backend_optimization_level": 3,
    "xla_llvm_disable_expensive_passes": False,
    "xla_cpu_use_fusion_emitters": True,
}
long_jit = functools.partial(jax.jit, compiler_options=USUAL)

NOT_MUCH = "jax_disable_most_optimizations"  # which `--quick-compile` says


@contextlib.contextmanager
def optimised():
    """Programs that are compiled in here run long, and are optimised although `--quick-compile`."""
    before = jax.config.read(NOT_MUCH)
    jax.config.update(NOT_MUCH, False)
    try:
        yield
    finally:
        jax.config.update(NOT_MUCH, before)
