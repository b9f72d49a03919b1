"""`pxsgmcmc predict` takes the kinds of files that training takes."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.helpers.cli_calls import assert_one_line, call

SETTINGS = """
[data]
train = { x = "flowers.csv", y = "kind" }
labels = "names"
[model]
name = "mlp"
widths = [4]
[sampler]
name = "sgld"
step_size = 1e-4
[prior]
variance = 0.1
[chain]
draws = 2
cycle_length = 2
batch_size = 10
"""
X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    kinds = np.where(X[:, 0] > 0, "rose", "tulip")
    rows = [f"{a},{b},{kind}" for (a, b), kind in zip(X.tolist(), kinds, strict=True)]
    (folder / "flowers.csv").write_text("\n".join(["width,height,kind", *rows]))
    (folder / "flowers.toml").write_text(SETTINGS)
    said = call("run", str(folder / "flowers.toml"), "--out", str(folder / "run"))
    assert said.code == 0, said
    return str(folder / "run")


def predicted(run, file, out):
    said = call("predict", run, str(file), "-o", str(out), "--force")
    assert said.code == 0 and "5 inputs, from 2 draws" in said.out, said
    return np.load(out)


def test_columns_of_a_table_are_found_by_name_and_others_left_alone(run, tmp_path):
    np.save(tmp_path / "x.npy", X[:5])
    expected = predicted(run, tmp_path / "x.npy", tmp_path / "p.npy")
    lines = [f"{b},bed {i},{a}" for i, (a, b) in enumerate(X[:5].tolist())]
    (tmp_path / "x.csv").write_text("\n".join(["height,place,width", *lines]))
    # Cells spell float32 numbers out in full, so the same program gets the same bits.
    np.testing.assert_array_equal(
        predicted(run, tmp_path / "x.csv", tmp_path / "p.npy"), expected, strict=True
    )
    np.savez(tmp_path / "x.npz", x=X[:5], other=np.zeros(3))
    for name in ("x.npz", "x.npz:x"):
        found = predicted(run, tmp_path / name, tmp_path / "p.npy")
        np.testing.assert_array_equal(found, expected, strict=True)
    with predicted(run, tmp_path / "x.csv", tmp_path / "p.npz") as everything:
        assert everything["classes"].tolist() == ["rose", "tulip"]
        np.testing.assert_array_equal(everything["probabilities"], expected, strict=True)


def test_a_parquet_table_is_read_too(run, tmp_path, monkeypatch):
    class Table:  # stands in for pyarrow's, which need not be installed
        column_names = ("height", "width")

        def column(self, name):
            values = X[:5, 1] if name == "height" else X[:5, 0]
            return SimpleNamespace(to_numpy=lambda: values)

    reader = SimpleNamespace(read_table=lambda path: Table())
    monkeypatch.setitem(sys.modules, "pyarrow", SimpleNamespace(parquet=reader))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", reader)
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    np.save(tmp_path / "x.npy", X[:5])
    found = [
        predicted(run, tmp_path / f"x.{kind}", tmp_path / "p.npy") for kind in ("npy", "parquet")
    ]
    np.testing.assert_array_equal(*found, strict=True)


def test_a_table_that_does_not_fit_is_said_in_one_line(run, tmp_path):
    path, out = tmp_path / "x.csv", str(tmp_path / "p.npy")

    def refused(*words):
        assert_one_line(call("predict", run, str(path), "-o", out), 2, *words)

    path.write_text("width,heigt\n1,2\n")
    refused("has no column 'height'; did you mean `heigt`?")
    path.write_text("width,height\n1,tall\n")
    refused("holds 'tall' in row 0 (line 2), column 'height'")
    path = path.rename(tmp_path / "x.txt")
    refused("`inputs` must be a file ending in .npy, .npz, .csv, .tsv, .parquet")
    path = tmp_path / "none.npz:x"
    refused("There is no file")
    assert not (tmp_path / "p.npy").exists()


def test_predictions_need_no_training_file(run, tmp_path):
    (tmp_path / "x.csv").write_text("height,width\n0.5,1.5\n-1,0.25\n3,2\n0,0\n1,1\n")
    with_file = predicted(run, tmp_path / "x.csv", tmp_path / "p.npy")
    place = Path(run).parent / "flowers.csv"
    away = place.rename(tmp_path / "flowers.csv")
    try:
        without = predicted(run, tmp_path / "x.csv", tmp_path / "p.npy")
        assert_one_line(call("evaluate", run), 2, "flowers.csv` is not there")
    finally:
        away.rename(place)
    np.testing.assert_array_equal(without, with_file, strict=True)
