"""ONNX files, where the extra is installed: the zoo's networks under onnxruntime."""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from tests.helpers.users_jax import as_users_have_it

RNG = np.random.default_rng(8)
NETWORKS = {"mlp": {}, "cnn": {}, "resnet_frn": {"depth": 8, "width": 8}, "vit": {}}


def test_without_the_extra_it_is_refused_in_one_sentence(classes, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(px.UserError, match=r"pip install 'pxsgmcmc\[onnx\]'"):
        classes.export(tmp_path / "model.onnx")


@pytest.fixture
def runtime():
    pytest.importorskip("jax2onnx", reason="the extra `onnx` is not installed")
    found = pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    with as_users_have_it():  # jax2onnx itself mixes dtypes and ranks
        yield found


@pytest.mark.filterwarnings("ignore")  # those of the converter
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_the_zoo_agree_to_1e_6(name, runtime, tmp_path):
    network = px.models.build(name, classes=3, **NETWORKS[name])
    x = RNG.integers(0, 256, (30, 8, 8, 1)).astype(np.uint8)
    problem = px.Problem(
        network.apply,
        px.likelihoods.categorical(),
        train=(x, np.arange(30) % 3),
        transform=lambda x: x.astype(jnp.float32) / 127.5 - 1.0,
    )
    params = network.init(jax.random.key(0), x)
    sampler = px.sgld(px.potential(problem), 1e-5)
    run = px.sample(
        sampler, params, problem, draws=2, cycle_length=1, batch_size=10, progress=False
    )
    path = run.export(tmp_path / "model.onnx").path
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    expected = run.predict(x)
    for output in ("probabilities", "entropy", "aleatoric", "epistemic"):
        (found,) = session.run([output], {"inputs": x})
        np.testing.assert_allclose(found, getattr(expected, output), atol=1e-6)
    manifest = json.loads(session.get_modelmeta().custom_metadata_map["pxsgmcmc"])
    assert manifest["run"]["draws"] == 2


@pytest.mark.filterwarnings("ignore")
def test_numbers_agree_to_1e_6_of_their_size(numbers, runtime, tmp_path):
    path = numbers.export(tmp_path / "model.onnx").path
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    x = numbers.problem.test.x
    expected = numbers.predict(x)
    for output in ("mean", "std", "aleatoric", "epistemic"):
        (found,) = session.run([output], {"inputs": x})
        exact = getattr(expected, output)
        np.testing.assert_allclose(found, exact, rtol=2e-6, atol=1e-6 * np.abs(exact).max())
