"""`jax.jit` for programs that compile longer than they run, and for those that run longer."""

import functools

import jax

# A quarter of XLA's usual time to compile; the programs run slower, and round as they please.
OPTIONS = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
quick_jit = functools.partial(jax.jit, compiler_options=OPTIONS)

# For long loops: under `--quick-compile` some ran for more than twice as long.
long_jit = functools.partial(jax.jit, compiler_options={"xla_cpu_use_fusion_emitters": True})
