"""The page of bridges: each is short, runs, and brings the posterior across."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.users_jax import as_users_have_it

PAGE = Path(__file__).parents[2] / "docs" / "bridges.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
OTHERS = ("blackjax", "numpyro", "flax", "optax", "safetensors", "arviz_stats")
MISSING = [name for name in OTHERS if importlib.util.find_spec(name) is None]


def needs(block):
    return [name for name in MISSING if re.search(rf"^(import|from) {name}", block, re.MULTILINE)]


def test_each_bridge_has_at_most_30_lines():
    assert len(BLOCKS) >= 9
    for block in BLOCKS:
        assert len(block.strip().splitlines()) <= 30, block


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_bridges_run_and_agree(tmp_path, monkeypatch):
    if "blackjax" in MISSING:
        pytest.skip("BlackJAX is not installed, and the page begins with it")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    scope, draws = {}, {}
    with as_users_have_it():
        for block in BLOCKS:
            if needs(block):
                continue
            exec(compile(block, PAGE.name, "exec"), scope)
            if "method=" in block and "one_chain" in block:
                made = scope.get("stacked" if "as_optax" in block else "draws")
                made = scope["state"].particles if "smc." in block else made
                draws[len(draws)] = np.asarray(made["kernel"])[:, :, 0]
    truth = scope["run"].stacked()["kernel"].reshape(-1, 3)
    # Means of MCLMC, SMC and SGHMC lie within half a standard deviation of those of NUTS: their 100
    # to 200 draws are worth at least 25 independent ones, so that this is 2.5 to 5 errors.
    assert len(draws) == 3
    for other in draws.values():
        off = np.abs(other.mean(0) - truth.mean(0)) / truth.std(0)
        assert np.all(off < 0.6), off
    if "numpyro" not in MISSING:  # 400 numbers of a gamma distribution with shape 3 and rate 1/2
        values = {name: value.mean() for name, value in scope["values"].items()}
        assert values["shape"] == pytest.approx(3.0, abs=0.7)
        assert values["rate"] == pytest.approx(0.5, abs=0.13)
    assert set(scope["tree"].children) > {"posterior", "log_likelihood", "observed_data"}
    assert (tmp_path / "size.png").exists() == (scope["arviz_plots"] is not None)
