"""The examples that log elsewhere, where their packages are installed."""

import re
from pathlib import Path

import jax.numpy as jnp
import pytest

import pxsgmcmc as px
from tests.helpers.users_jax import as_users_have_it

PAGE = Path(__file__).parents[2] / "docs" / "notebooks.md"
BLOCKS = re.findall(r"```py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def run_example(package, folder, monkeypatch):
    (code,) = [block for block in BLOCKS if re.search(rf"(import|from) {package}\b", block)]
    assert len(code.splitlines()) <= 30
    monkeypatch.chdir(folder)
    potential = px.potential(lambda q, x: -0.5 * (x - q) ** 2, data_size=8)
    names = {
        "px": px,
        "sampler": px.sghmc(potential, 0.05, friction=2.0),
        "start": jnp.zeros(()),
        "data": jnp.arange(8.0),
    }
    with as_users_have_it():
        exec(compile(code, PAGE.name, "exec"), names)
    assert len(names["run"]) == 3
    return names


@pytest.mark.filterwarnings("ignore")
def test_mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    run_example("mlflow", tmp_path, monkeypatch)
    (found,) = mlflow.MlflowClient().search_runs(["0"])
    assert "energy" in found.data.metrics and found.data.params["method"] == "SGHMC"


@pytest.mark.filterwarnings("ignore")
def test_tensorboard(tmp_path, monkeypatch):
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    run_example("tensorboard", tmp_path, monkeypatch)
    (events,) = (tmp_path / "tensorboard").iterdir()
    assert b"energy" in events.read_bytes()


@pytest.mark.filterwarnings("ignore")
def test_weights_and_biases_without_a_network(tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason="wandb is not installed")
    run_example("wandb", tmp_path, monkeypatch)
    assert list((tmp_path / "wandb").glob("offline-run-*"))
