"""What docs/reliability.md says of a run that goes on where XLA has fewer instructions.

Both kinds of processor are this one: `--xla_cpu_max_isa` takes instructions away.
"""

import os
import platform

import pytest

from pxsgmcmc.store import open_run
from tests.helpers.closeness import assert_close
from tests.helpers.processes import ended, hashes, start_command
from tests.helpers.small_settings import SMALL

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        platform.machine() not in ("x86_64", "AMD64"), reason="names of instructions of x86"
    ),
]


def on(instructions):
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa={instructions}"
    return os.environ | {"XLA_FLAGS": flags.strip()}


def test_it_says_so_keeps_its_draws_and_goes_on_by_the_same_algorithm(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    new, old, moved = (tmp_path / name for name in ("new", "old", "moved"))
    for folder, instructions, draws in ((new, "AVX2", 6), (old, "SSE4_2", 6), (moved, "AVX2", 3)):
        more = ["--chain.draws", draws, "--threads", 1, "--out", folder]
        process = start_command(tmp_path, "run", "small.toml", *more, env=on(instructions))
        assert ended(process)[0] == 0
    process = start_command(tmp_path, "resume", moved, "--draws", 6, env=on("SSE4_2"))
    code, _, err = ended(process)
    assert code == 0 and "the last bits may differ" in err
    assert hashes(moved)[:3] == hashes(new)[:3] and len(hashes(moved)) == 6
    # Five steps a draw, of sums over 20 rows and 64 pixels, of numbers of size 1.
    for one, other, draw in ((new, old, 1), (new, moved, 6)):
        pair = open_run(one).load_draw(draw), open_run(other).load_draw(draw)
        for name, array in pair[0].items():
            assert_close(pair[1][name], array, terms=draw * 5 * 20 * 64, scale=1.0)
