"""How large the compiled step of R20 is, plain and expanded.

    python benchmarks/program_size.py

Prints the operations of XLA's program, and the seconds that tracing and compiling it take.
"""

import re
import time

import jax
from problem import Setting, problem

import pxsgmcmc as px


def report(label: str, setting: Setting) -> None:
    """Compile a step and count its operations."""
    parts = problem(setting)
    friction = parts.plan.groups(base=100.0, factors=1.0) if parts.plan else 100.0
    sampler = px.sghmc(parts.energy, 1e-6, friction=friction)
    state = jax.jit(sampler.init)(parts.position)
    batch = jax.tree.map(lambda x: x[: setting.batch], parts.data)
    began = time.perf_counter()
    traced = jax.jit(sampler.step).trace(jax.random.key(0), state, batch)
    traced_at = time.perf_counter()
    compiled = traced.lower().compile()
    done = time.perf_counter()
    operations = len(re.findall(r"^ +(?:ROOT )?%?\S+ = ", compiled.as_text(), re.MULTILINE))
    print(
        f"{label}: {len(jax.tree.leaves(parts.position))} arrays, {operations:,} operations; "
        f"{traced_at - began:.1f} s to trace, {done - traced_at:.1f} s to lower and compile"
    )


if __name__ == "__main__":
    report("R20, SGHMC", Setting(rows=256))
    report("R20, PX-SGHMC c=d=1", Setting(rows=256, out=1, into=1))
