"""The command `pxsgmcmc predict`."""

import pickle

import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.data import load
from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.closeness import assert_close
from tests.helpers.small_runs import three_draws


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return three_draws(tmp_path_factory.mktemp("predict") / "run")


@pytest.fixture
def images(tmp_path):
    path = tmp_path / "in.npy"
    np.save(path, load("digits").splits["test"].x[:12])
    return path


def test_probabilities_and_uncertainties_are_written(run, images, tmp_path):
    expected = px.open(run).predict(np.load(images), batch_size=500)
    said = call("predict", str(run), str(images), "-o", str(tmp_path / "p.npy"))
    assert said.code == 0 and said.out.count("\n") == 2, said
    assert "12 inputs, from 3 draws by PX-SGHMC (c=1, d=1)" in said.out
    # The rows are batched alike: one program. Below they are not: 64 and 4 products in a logit.
    np.testing.assert_array_equal(np.load(tmp_path / "p.npy"), expected.probabilities)
    out = tmp_path / "all.npz"
    assert call("predict", str(run), str(images), "--out", str(out), "--batch-size", "5").code == 0
    with np.load(out) as found:
        numbers = ["aleatoric", "entropy", "epistemic", "probabilities"]
        assert sorted(found) == sorted([*numbers, "classes"])
        assert found["classes"].tolist() == [str(digit) for digit in range(10)]
        for name in numbers:
            assert_close(found[name], getattr(expected, name), terms=2 * (64 + 4), scale=5.0)
        np.testing.assert_allclose(
            found["entropy"], found["aleatoric"] + found["epistemic"], atol=1e-12
        )


def test_a_file_that_is_there_stays_unless_forced(run, images, tmp_path):
    out = tmp_path / "p.npy"
    out.write_text("mine")
    said = call("predict", str(run), str(images), "-o", str(out))
    assert_one_line(said, 2, "is there already: name another file, or give --force")
    assert out.read_text() == "mine"
    assert call("predict", str(run), str(images), "-o", str(out), "--force").code == 0
    assert np.load(out).shape == (12, 10)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.npy", "p.npy"]


def test_where_to_write_is_checked_first(run, images, tmp_path):
    for out, words in {
        "p.csv": "ending in .npy or .npz",
        "none/p.npy": "in a folder that is there",
    }.items():
        said = call("predict", str(run), str(images), "-o", str(tmp_path / out))
        assert_one_line(said, 2, words)
    assert_one_line(call("predict", str(run), str(images)), 2, "`-o` must name the file to write")


class Evil:
    def __reduce__(self):
        return pytest.fail, ("a pickle was read",)


def test_bad_inputs_are_said_in_one_line(run, tmp_path):
    path, out = tmp_path / "in.npy", str(tmp_path / "p.npy")

    def refused(*words):
        assert_one_line(call("predict", str(run), str(path), "-o", out), 2, *words)

    refused("There is no file")
    path.mkdir()
    refused("cannot be read: Is a directory")
    path.rmdir()
    for text in (b"", b"\x93NUMPY", b"PK\x03\x04" + b"0" * 99, pickle.dumps(Evil())):
        path.write_bytes(text)
        refused("must be an npy file of numbers")
    np.save(path, np.array([Evil()], object), allow_pickle=True)
    refused("must be an npy file of numbers", "Python objects")
    np.save(path, np.zeros((3, 8, 8, 1), np.uint8))
    path.write_bytes(path.read_bytes()[:-9])
    refused("must be an npy file of numbers")
    np.save(path, np.zeros((3, 28, 28, 1), np.uint8))
    refused("must hold shape (rows, 8, 8, 1)", "got (3, 28, 28, 1)")
    np.save(path, np.full((3, 8, 8, 1), np.nan))
    refused("must be finite, got NaN or infinity in rows 0, 1, 2")
    np.save(path, np.full((3, 8, 8, 1), 300, np.int32))
    refused("must hold pixels from 0 to 255")
    np.save(path, np.zeros((3, 8, 8, 1), complex))
    refused("must be an npy file of numbers", "'<c16', not numbers")
    np.save(path, np.zeros((0, 8, 8, 1), np.uint8))
    refused("must hold at least one row")
    assert not (tmp_path / "p.npy").exists()
