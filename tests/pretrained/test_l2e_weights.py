"""Weights of L2E: the bundled ones, those of a file, the published pickle, and hostile files."""

import json
import os
import pickle
from importlib.resources import files

import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.errors import UserError
from pxsgmcmc.pretrained import BUNDLED, load_l2e
from pxsgmcmc.samplers.l2e import SHAPES, check_weights
from pxsgmcmc.store.sealed import digest
from pxsgmcmc.store.tensors import encode
from pxsgmcmc.tree import to_arrays
from tests.pretrained import old_haiku


def weights(seed=0):
    rng = np.random.default_rng(seed)
    return {
        layer: {name: np.float32(rng.normal(size=shape)) for name, shape in own.items()}
        for layer, own in SHAPES.items()
    }


def energy(q, batch):
    return jnp.sum(q**2) / 2


def used(path):
    """What a user does with a file of weights."""
    return px.l2e(energy, 0.1, data_size=1, weights=path)


def assert_same(found, expected):
    for layer, own in expected.items():
        for name, array in own.items():
            np.testing.assert_array_equal(found[layer][name], array)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_weights_fit_and_say_how_they_were_made(name):
    check_weights(load_l2e(name))
    folder = files("pxsgmcmc.pretrained")
    data = folder.joinpath(BUNDLED[name]).read_bytes()
    facts = json.loads(folder.joinpath(BUNDLED[name].replace(".safetensors", ".json")).read_text())
    assert len(data) < 10_000
    assert facts["sha256"] == digest(data)
    assert facts["command"].startswith("pxsgmcmc meta-train ") and facts["seed"] == 0


def test_a_file_of_meta_training_is_read(tmp_path):
    (tmp_path / "weights.safetensors").write_bytes(encode(to_arrays(weights())))
    assert_same(load_l2e(tmp_path / "weights.safetensors"), weights())
    used(tmp_path / "weights.safetensors")


@pytest.mark.parametrize("mapping", ["FlatMapping", "FlatMap", "frozendict"])
def test_a_pickle_in_the_published_layout_is_read(tmp_path, mapping):
    name = f"chaiku._src.data_structures\n{mapping}\n".encode()
    (tmp_path / "meta_params.pickle").write_bytes(old_haiku.published(weights(), name))
    assert_same(load_l2e(tmp_path / "meta_params.pickle"), weights())
    used(tmp_path / "meta_params.pickle")


def test_a_pickle_of_plain_dictionaries_of_numpy_arrays_is_read_too(tmp_path):
    plain = {f"mlp/~/{layer}": own for layer, own in weights().items()}
    (tmp_path / "own.pkl").write_bytes(pickle.dumps(plain))
    assert_same(load_l2e(str(tmp_path / "own.pkl")), weights())


class _Command:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


ONE = np.zeros((9, 32), np.float32)
LOOP = b"}q\x00" + old_haiku.text("a") + b"h\x00s"  # a dictionary that holds itself
HOSTILE = {
    "a number for an array": old_haiku.program(
        old_haiku.dictionary({"mlp/~/linear_0": old_haiku.dictionary({"w": b"K\x07"})})
    ),
    "a list for a layer": old_haiku.program(old_haiku.dictionary({"mlp/~/linear_0": b"]"})),
    "a dictionary that holds itself": old_haiku.program(LOOP),
    "a mapping of a list": old_haiku.program(old_haiku.MAPPING + b"]\x85R"),
    "an array by another function": old_haiku.program(
        old_haiku.dictionary(
            {"a": old_haiku.dictionary({"w": old_haiku.array(ONE, function=b"cnumpy\nndarray\n")})}
        )
    ),
    "an array by another name": old_haiku.program(
        old_haiku.dictionary(
            {"a": old_haiku.dictionary({"w": old_haiku.array(ONE, rebuild=b"cjax\nnumpy\n")})}
        )
    ),
    "one large dictionary a thousand times": old_haiku.program(
        old_haiku.dictionary({str(i): b"K\x00" for i in range(500)})
        + b"q\x01"
        + b"0}("
        + b"".join(old_haiku.text(str(i)) + b"h\x01" for i in range(500))
        + b"u"
    ),
    "cut short": old_haiku.published(weights())[:-40],
    "nothing": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_pickle_of_anything_but_arrays_is_refused_in_a_sentence(tmp_path, name):
    path = tmp_path / "bad.pickle"
    path.write_bytes(HOSTILE[name])
    with pytest.raises(UserError) as caught:
        used(path)
    message = str(caught.value)
    assert "bad.pickle" in message or message.startswith("`weights` must")
    assert "\n" not in message and message.endswith(".")


def test_a_pickle_that_would_run_something_runs_nothing(tmp_path):
    witness, path = tmp_path / "witness", tmp_path / "bad.pkl"
    for command in (
        _Command(os.system, f"touch {witness}"),
        {"mlp/~/linear_0": _Command(eval, f"open({str(witness)!r}, 'w').close()")},
        {"mlp/~/linear_0": {"w": _Command(np.load, str(witness))}},
    ):
        path.write_bytes(pickle.dumps(command))
        with pytest.raises(UserError, match=r"bad\.pkl. is a pickle that asks for"):
            used(path)
    assert not witness.exists()


def test_a_pickle_with_arrays_of_other_shapes_or_nan_is_named_by_its_place(tmp_path):
    for layer, name, array, words in (
        (
            "linear_0",
            "w",
            np.zeros((8, 32), np.float32),
            r"\(9, 32\) at 'linear_0/w', got \(8, 32\)",
        ),
        ("linear_1", "b", np.full(32, np.nan, np.float32), "finite numbers, got NaN"),
    ):
        wrong = weights()
        wrong[layer][name] = array
        (tmp_path / "w.pickle").write_bytes(old_haiku.published(wrong))
        with pytest.raises(UserError, match=words):
            used(tmp_path / "w.pickle")


def test_files_that_are_no_weights_are_refused(tmp_path):
    for name, data, words in (
        ("w.safetensors", b"something", "not a safetensors file"),
        ("w.safetensors", encode({"a": np.zeros(2)}), "nothing else, got .* at 'a'"),
        ("w.safetensors", b"x" * ((1 << 20) + 1), "at most 1048576 bytes"),
        ("w.npz", b"", "ending in .safetensors"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UserError, match=words):
            used(tmp_path / name)
