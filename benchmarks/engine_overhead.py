"""What an engine costs: jobs that do nothing, one after the other, and the memory of who runs them.

    python benchmarks/engine_overhead.py local 1000
    python benchmarks/engine_overhead.py ray 1000

Prints processor seconds of the engine's own process for a job, which include starting the job's
process and not what that one does, seconds by the clock, and resident memory after 100 jobs and at
the end. A job is an interpreter that starts and ends.
"""

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

from pxsgmcmc.config import parse_config, write_config
from pxsgmcmc.jobs import Job, Local
from pxsgmcmc.jobs.ray import Ray

CONFIG = '[data]\nname = "digits"\n[model]\nname = "mlp"\n[sampler]\nname = "sghmc"\n'
CONFIG += "step_size = 1e-4\nfriction = 1.0\n[chain]\ndraws = 1\ncycle_length = 1\nbatch_size = 1\n"
PROGRAM = """
import os, sys
if len(sys.argv) > 2:
    with open(os.path.join(sys.argv[1], f"{int(sys.argv[2]):04}.end"), "w") as file:
        file.write('{"code": 0}')
else:
    sys.stdin.readline()
"""


def resident() -> float:
    """Memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


class Watch:
    """Counts ends; see `pxsgmcmc.jobs.Watch`."""

    def __init__(self):
        self.ended_jobs, self.failed, self.early = 0, 0, 0.0

    def tell(self, job, stage, share, text):
        """Nothing to do."""

    def say(self, job, sentence):
        """Pass it on."""
        print(f"{job.label} {sentence}", file=sys.stderr)

    def look(self):
        """Nothing to do."""

    def ended(self, job, ended):
        """Count it."""
        self.ended_jobs += 1
        self.failed += ended.code != 0
        if self.ended_jobs == 100:
            self.early = resident()


def main() -> None:
    """Measure one engine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", choices=("local", "ray"))
    parser.add_argument("jobs", type=int)
    asked = parser.parse_args()
    text = write_config(parse_config(CONFIG))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text(PROGRAM)
        jobs = [Job(text, f"{folder}/runs/{n:04}", f"job {n}") for n in range(asked.jobs)]
        command, watch = (sys.executable, "-IS", str(program)), Watch()
        engine = Local(2, command=command) if asked.engine == "local" else Ray(8, command=command)
        began, spent = time.monotonic(), time.process_time()
        engine.run(jobs, watch)
        seconds, spent = time.monotonic() - began, time.process_time() - spent
    print(
        f"{asked.engine}: {watch.ended_jobs} jobs, {watch.failed} failed; "
        f"{1000 * spent / asked.jobs:.1f} ms of the engine's processor time a job, "
        f"{seconds / asked.jobs:.3f} s by the clock; {watch.early:.1f} MB after 100 jobs, "
        f"{resident():.1f} MB at the end"
    )


if __name__ == "__main__":
    main()
