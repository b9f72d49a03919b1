"""What one of two processes with gloo does with a chain; `test_processes.py` starts both.

JAX's own preemption service stays on, as for users who start `jax.distributed` themselves: the
chain must get SIGTERM all the same.
"""

import json
import os
import signal
import sys
from pathlib import Path

import jax

import pxsgmcmc as px
from pxsgmcmc.errors import UserError
from pxsgmcmc.store import open_run


def chain(out, resume=False, callbacks=(), seed=0, **more):
    from tests.helpers.chain_problems import DATA, SAMPLERS, start_of  # it computes

    return px.sample(
        SAMPLERS["px_sghmc"](1.0),
        start_of("px_sghmc"),
        DATA,
        draws=4,
        cycle_length=10,
        batch_size=16,
        seed=seed,
        out=out,
        resume=resume,
        progress=False,
        execution=px.Execution(
            devices=2, callbacks=callbacks, on_signal="return", chunk_seconds=1e-6, **more
        ),
    )


def main(process, port, folder):
    jax.distributed.initialize(f"localhost:{port}", 2, process)

    def stop_from_the_second(event):
        if process == 1 and event.kind == "draw" and event.number == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    whole = chain(folder / "whole")
    stopped = chain(folder / "pieces", callbacks=[stop_from_the_second])
    found = {
        "stopped_by": stopped.stopped_by,
        "stopped_at": int(stopped._states[0].step),
        "draws_when_stopped": len(stopped),
        "status_when_stopped": stopped.status,
    }
    done = chain(folder / "pieces", resume=True)
    found |= {"status": done.status, "draws": len(whole), "energies": whole.energies.tolist()}
    try:
        chain(folder / "other", seed=process)
    except UserError as error:
        found["refused"] = str(error)
    if process == 0:
        for name in ("whole", "pieces"):
            found[name] = [draw.sha256 for draw in open_run(folder / name).draws]
        origin = open_run(folder / "whole").manifest["origin"]
        found |= {"layout": [origin["devices"], origin["processes"]]}
    else:
        try:
            found["draw_elsewhere"] = str(whole[0])
        except UserError as error:
            found["draw_elsewhere"] = str(error)
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
