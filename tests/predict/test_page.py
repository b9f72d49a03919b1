"""The code on the page runs, and what it says of [evaluate] is a configuration."""

import re
from pathlib import Path

import numpy as np

from pxsgmcmc.config import parse_config
from tests.helpers.small_runs import three_draws
from tests.helpers.small_settings import SMALL

PAGE = (Path(__file__).parents[2] / "docs/predict.md").read_text("utf-8")


def test_the_code_on_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    three_draws(Path("runs/mine"))
    np.save("new.npy", np.full((2, 8, 8, 1), 9, np.uint8))
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "predict.md", "exec"), {})
    said = capsys.readouterr().out
    assert "PX-SGHMC (c=1, d=1)" in said and "(2, 10)" in said


def test_the_settings_on_the_page_are_settings():
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert parse_config(SMALL + text).evaluate.shifts == ("digits-shift",)
