"""Run the tests of numbers as other processors would: `python -m tests.portable [--short]`.

XLA chooses instructions by the processor and splits work by the number of threads; both can be told
to be others than this machine's. A test that passes here alone fails in one of these rows. Half of
the rows are compiled as users' programs are, the others without XLA's newer compiler of fused
loops, in two thirds of the time and otherwise optimised alike: loops have the instructions asked
for, which those of `--quick-compile` would not.
"""

import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
CORE = ("samplers", "expansion", "posterior", "models", "predict", "chain")
NUMBERS = (*CORE, "likelihoods", "metrics", "diagnostics", "evaluate", "tuning", "data")
# What is refused, said and shown is the same on every processor.
WITHOUT_NUMBERS = ("resume_checks", "perturbed", "processes", "progress", "callbacks")


WITHOUT_FUSION_EMITTERS = (
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)


class Machine(NamedTuple):
    """A kind of machine to behave like."""

    instructions: str  # the newest that XLA may use; "" for all that there are
    threads: int
    fusion_emitters: bool = True

    def environment(self) -> dict[str, str]:
        """What tells XLA so; flags of the user's stay."""
        flags = os.environ.get("XLA_FLAGS", "")
        if self.instructions:
            flags += f" --xla_cpu_max_isa={self.instructions}"
        if not self.fusion_emitters:
            flags += f" {WITHOUT_FUSION_EMITTERS}"
        return os.environ | {"XLA_FLAGS": flags.strip(), "PJRT_NPROC": str(self.threads)}

    def __str__(self) -> str:
        """Such as "AVX2, 1 thread"."""
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        return f"{self.instructions or 'all instructions'}, {threads}"


def machines(short: bool) -> list[Machine]:
    """Every instruction set and every number of threads, in as few rows; two for the short form."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return [Machine("", 1), Machine("", 2)]  # the names of instructions are those of x86
    if short:
        return [Machine("SSE4_2", 2, fusion_emitters=False), Machine("AVX2", 1)]
    return [
        Machine("SSE4_2", 1),
        Machine("AVX", 4, fusion_emitters=False),
        Machine("AVX2", 2, fusion_emitters=False),
        Machine("AVX512", 2),
    ]


def run(machine: Machine, rooms: tuple[str, ...]) -> bool:
    """Whether the tests pass on it."""
    folders = [f"tests/{room}" for room in rooms if (ROOT / "tests" / room).is_dir()]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "2",
        "--dist",
        "worksteal",
        "-q",
        "--no-header",
    ]
    command += ["-m", "not slow", "-p", "no:cacheprovider", *folders]
    command += [f"--ignore=tests/chain/test_{name}.py" for name in WITHOUT_NUMBERS]
    print(f"== {machine}", flush=True)
    began = time.monotonic()
    code = subprocess.run(command, cwd=ROOT, env=machine.environment(), check=False).returncode
    print(f"== {machine}: exit {code} after {time.monotonic() - began:.0f} s", flush=True)
    return code == 0


def main() -> int:
    """Run all; returns the number of machines on which a test failed."""
    short = "--short" in sys.argv[1:]
    failed = [str(m) for m in machines(short) if not run(m, CORE if short else NUMBERS)]
    print(f"failed on: {'; '.join(failed)}" if failed else "passed on every kind of machine")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
