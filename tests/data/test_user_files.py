"""One file of the user's: what is read, and the sentence when it cannot be."""

import io
import os
import pickle
import sys
import zipfile

import numpy as np
import pytest
from refusals import assert_refused

from pxsgmcmc.data import _csv_table as csv_table
from pxsgmcmc.data import _user_files as user_files
from pxsgmcmc.data._user_files import read_table_or_array
from pxsgmcmc.errors import UserError


def written(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def saved(folder, array, name="x.npy", **options):
    path = folder / name
    np.save(path, array, **options)
    return path


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f4", "u1", "i8", "?", "U5"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_npy_file_is_mapped_and_equal(tmp_path, dtype, order):
    array = np.arange(12).reshape(4, 3).astype(dtype).copy(order=order)
    values = read_table_or_array(saved(tmp_path, array)).values
    assert isinstance(values, np.memmap)
    np.testing.assert_array_equal(values, array)


def test_endings_may_be_in_capitals(tmp_path):
    assert read_table_or_array(written(tmp_path, "X.CSV", "1,2\n")).values.shape == (1, 2)


def test_a_link_to_a_file_is_followed(tmp_path):
    saved(tmp_path, np.arange(3.0))
    (tmp_path / "link.npy").symlink_to(tmp_path / "x.npy")
    assert read_table_or_array(tmp_path / "link.npy").values.tolist() == [0.0, 1.0, 2.0]


def test_columns_of_an_array_go_by_number(tmp_path):
    path = saved(tmp_path, np.arange(6.0).reshape(2, 3))
    assert read_table_or_array(path, without=[-1]).values.tolist() == [[0, 1], [3, 4]]
    assert read_table_or_array(path, columns=[2], text=True).values.tolist() == [2, 5]
    assert_refused(lambda: read_table_or_array(path, columns=["a"]), "x.npy", "no names of columns")
    assert_refused(lambda: read_table_or_array(path, columns=[3]), "none has the number 3")
    images = saved(tmp_path, np.zeros((2, 4, 4)), "images.npy")
    assert_refused(lambda: read_table_or_array(images, columns=[0]), "has no columns")


def test_an_npz_file_is_read_by_key(tmp_path):
    path = tmp_path / "data.npz"
    for save in (np.savez, np.savez_compressed):
        save(path, x=np.ones((3, 2)), labels=np.array(["a", "b", "a"]))
        assert read_table_or_array(path, "x").values.shape == (3, 2)
        assert read_table_or_array(path, "labels").values.tolist() == ["a", "b", "a"]
    assert_refused(lambda: read_table_or_array(path), "holds 2 arrays (x, labels)", '"data.npz:x"')
    assert_refused(lambda: read_table_or_array(path, "label"), "did you mean `labels`?")


def test_pickles_are_never_loaded(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "evil"),)

    objects = np.array([Evil()], object)
    paths = [saved(tmp_path, objects, allow_pickle=True)]
    np.savez(tmp_path / "x.npz", x=objects, allow_pickle=True)
    paths.append(tmp_path / "x.npz")
    paths.append(written(tmp_path, "raw.npy", pickle.dumps(Evil())))
    for path in paths:
        assert_refused(lambda path=path: read_table_or_array(path, "x"), path.name)
    assert not (tmp_path / "evil").exists()


BAD_ARRAYS = {
    "cut short": (lambda data: data[:-1], "bytes where its header asks for"),
    "too long": (lambda data: data + b"!", "bytes where its header asks for"),
    "not npy": (lambda data: b"version https://git-lfs", "is not an npy file"),
    "empty": (lambda data: b"", "is not an npy file"),
    "complex": (lambda data: data.replace(b"<f8", b"<c8"), "holds entries of type '<c8'"),
}


@pytest.mark.parametrize("fault", BAD_ARRAYS)
def test_a_damaged_npy_file_is_named(tmp_path, fault):
    change, words = BAD_ARRAYS[fault]
    path = saved(tmp_path, np.ones((2, 2)))
    path.write_bytes(change(path.read_bytes()))
    assert_refused(lambda: read_table_or_array(path), "x.npy", words, "numpy.save")


def test_a_damaged_npz_file_is_named(tmp_path, monkeypatch):
    path = written(tmp_path, "x.npz", b"PK\3\4 nothing")
    assert_refused(lambda: read_table_or_array(path, "x"), "x.npz", "not a readable npz file")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"\0" * 10_000)
    assert_refused(lambda: read_table_or_array(path, "x"), "x.npz:x", "is not an npy file")
    np.savez_compressed(path, x=np.zeros(10_000))
    monkeypatch.setattr(user_files, "MOST_UNPACKED", 10_000)
    assert_refused(lambda: read_table_or_array(path, "x"), "unpacks to 80,128 bytes", "npy file")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing.npy", "is not there"),
        ("folder.csv", "is no file"),
        ("model.pkl", "is none of the files that are read (.npy"),
    ],
)
def test_what_is_no_file_of_a_known_kind_is_named(tmp_path, name, words):
    (tmp_path / "folder.csv").mkdir()
    assert_refused(lambda: read_table_or_array(tmp_path / name), name, words)


HOUSES = "area,rooms,price\n50,2,1.5\n80,3,2.5\n"


@pytest.mark.parametrize(
    "text",
    [
        HOUSES,
        HOUSES.replace(",", ";"),
        HOUSES.replace(",", "\t"),
        "\ufeff" + HOUSES.replace("\n", "\r\n"),
        HOUSES.replace("area", '"area"').replace("\n", "\n\n"),
        HOUSES.replace(",", " , "),
    ],
)
def test_a_header_is_found_and_said(tmp_path, text):
    path = written(tmp_path, "houses.csv", text)
    x = read_table_or_array(path, without=["price"])
    assert x.values.tolist() == [[50, 2], [80, 3]] and x.values.dtype == np.float32
    assert x.names == ("area", "rooms")
    assert x.notes == ("houses.csv has a header: 3 columns",)
    y = read_table_or_array(path, columns=["price"], text=True)
    assert y.values.tolist() == [1.5, 2.5] and y.names == ("price",)


def test_a_table_without_a_header_has_columns_by_number(tmp_path):
    path = written(tmp_path, "iris.csv", "5.1,3.5,setosa\n6.2,2.9,virginica\n")
    x = read_table_or_array(path, without=[2])
    assert x.values.shape == (2, 2) and x.names == () and x.notes == ()
    species = read_table_or_array(path, columns=[-1], text=True).values
    assert species.tolist() == ["setosa", "virginica"]


def test_numbers_for_names_are_a_header_only_if_said(tmp_path):
    path = written(tmp_path, "x.csv", "0,1\n5.5,6.5\n")
    assert len(read_table_or_array(path).values) == 2
    said = read_table_or_array(path, header=True)
    assert said.values.tolist() == [[5.5, 6.5]] and said.names == ("0", "1")
    mixed = written(tmp_path, "z.csv", "0,1,target\n5.5,6.5,1\n")
    assert read_table_or_array(mixed).names == ("0", "1", "target")


def test_labels_alone_have_a_header_if_no_row_repeats_it(tmp_path):
    named = written(tmp_path, "y.csv", "species\ncat\ndog\ncat\n")
    assert read_table_or_array(named, text=True).values.tolist() == ["cat", "dog", "cat"]
    plain = written(tmp_path, "z.csv", "cat\ndog\ncat\n")
    assert read_table_or_array(plain, text=True).values.tolist() == ["cat", "dog", "cat"]
    numbered = written(tmp_path, "n.csv", "label\n1\n0\n")
    assert read_table_or_array(numbered, text=True).values.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n3\n", ("1 cells in row 1 (line 3) where 2 belong",)),
        ("a,b\n1,2\n\n3,4,5\n", ("3 cells in row 1 (line 4)",)),
        ("a,b\n1,2\n3,x\n", ("'x' in row 1 (line 3), column 'b' where a number belongs",)),
        ("1,2\n3,x\n", ("'x' in row 1 (line 2), column 1 where a number belongs",)),
        ("a,b\n1,\n3,4\n", ("no value in row 0 (line 2), column 'b'", "drop the row")),
        ("a,b\n1,2\n3,NA\n", ("no value in row 1 (line 3), column 'b' ('NA')",)),
        ("a,b\n1,2\nnan,4\n", ("no value in row 1 (line 3), column 'a'",)),
        ("a,b\n1,2\n1e99,4\n", ("'1e99' in row 1 (line 3), column 'a'",)),
        ("a,b\n1,2\ninf,4\n", ("'inf' in row 1 (line 3), column 'a'",)),
        ('a;b\n"1,5";2\n3;4\n', ("'1,5' in row 0 (line 2), column 'a'", "decimal point")),
        (",a\n0,1.5\n1,2.5\n", ("first column without a name", "index=False")),
        ("", ("is empty",)),
        ("\n\n", ("is empty",)),
        (b"a,b\n\xff\xfe,2\n", ("not a readable CSV file", "UTF-8")),
        ('a,b\n"1,2\n3,4\n', ("not a readable CSV file",)),
    ],
)
def test_a_wrong_cell_is_named_by_row_line_and_column(tmp_path, text, words):
    path = written(tmp_path, "x.csv", text)
    assert_refused(lambda: read_table_or_array(path), "x.csv", *words)


def test_a_fault_far_down_has_its_own_row(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_table, "_BLOCK", 10)
    rows = [f"{i},{i}" for i in range(100)]
    path = written(tmp_path, "x.csv", "\n".join(["a,b", *rows]))
    np.testing.assert_array_equal(read_table_or_array(path).values[:, 1], np.arange(100))
    rows[57] = "1,oops"
    path = written(tmp_path, "x.csv", "\n".join(["a,b", *rows]))
    assert_refused(lambda: read_table_or_array(path), "'oops' in row 57 (line 59), column 'b'")


def test_a_header_where_none_was_said_is_named(tmp_path):
    path = written(tmp_path, "houses.csv", HOUSES)
    words = ("houses.csv", "has a header in line 1 (area, rooms, price)", "header = false")
    assert_refused(lambda: read_table_or_array(path, header=False), *words)
    only = written(tmp_path, "only.csv", "a,b\n")
    assert_refused(lambda: read_table_or_array(only, header=True), "a header and no rows")


def test_columns_that_are_not_there_are_named(tmp_path):
    path = written(tmp_path, "houses.csv", HOUSES)
    call = read_table_or_array
    assert_refused(lambda: call(path, columns=["prize"]), "no column 'prize'; did you mean `price`")
    assert_refused(lambda: call(path, columns=[3]), "none has the number 3; give a number from 0")
    twice = written(tmp_path, "twice.csv", "a,a,b\n1,2,3\n")
    assert_refused(lambda: call(twice, columns=["a"]), "several columns 'a'")
    assert call(path, columns=["rooms", 0]).values.tolist() == [[2, 50], [3, 80]]


def test_labels_are_whole_numbers_numbers_or_text_and_never_a_mixture(tmp_path):
    def read(text, **options):
        path = written(tmp_path, "y.csv", text)
        return read_table_or_array(path, columns=["y"], text=True, **options).values

    assert read("x,y\n1,0\n1,2\n").dtype == np.int64
    assert read("x,y\n1,0\n1,2.5\n").dtype == np.float64
    assert read("x,y\n1,none\n1,mild\n").tolist() == ["none", "mild"]
    words = ("mixes numbers and text: row 1 (line 3), column 'y' holds 'x'", "labels =")
    assert_refused(lambda: read("x,y\n1,1.5\n1,x\n1,2\n"), *words)
    assert_refused(lambda: read("x,y\n1,a\n1,b\n1,7\n"), "row 2 (line 4), column 'y' holds '7'")
    assert read("x,y\n1,a\n1,b\n1,7\n", mixed=True).tolist() == ["a", "b", "7"]
    assert_refused(lambda: read("x,y\n1,a\n1,\n"), "no value in row 1 (line 3), column 'y'")


def test_a_parquet_file_without_a_reader_says_what_to_install(tmp_path, monkeypatch):
    for module in ("pyarrow", "pyarrow.parquet", "polars"):
        monkeypatch.setitem(sys.modules, module, None)
    path = written(tmp_path, "x.parquet", b"PAR1")
    assert_refused(lambda: read_table_or_array(path), "x.parquet", "pip install pyarrow")


def test_a_parquet_file_is_a_table_with_names(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    columns = {"a": [1, 2], "b": [0.5, 1.5], "kind": ["cat", "dog"], "gap": [1.0, None]}
    parquet.write_table(pyarrow.table(columns), path)
    x = read_table_or_array(path, without=["kind", "gap"])
    assert x.values.tolist() == [[1, 0.5], [2, 1.5]] and x.names == ("a", "b")
    assert x.values.dtype == np.float32
    kinds = read_table_or_array(path, columns=["kind"], text=True).values
    assert kinds.tolist() == ["cat", "dog"]
    assert read_table_or_array(path, columns=["a"], text=True).values.dtype == np.int64
    call = read_table_or_array
    assert_refused(lambda: call(path, columns=["gap"]), "no value in row 1, column 'gap'")
    assert_refused(lambda: call(path, columns=["kind"]), "'cat' in row 0, column 'kind'")
    written(tmp_path, "bad.parquet", b"PAR1 nothing")
    assert_refused(lambda: call(tmp_path / "bad.parquet"), "not a readable Parquet file")


def test_damaged_tables_give_an_answer_or_one_sentence(tmp_path):
    import random

    rng = random.Random(0)
    file = io.BytesIO()
    np.savez(file, x=np.arange(4.0))
    valid = {"x.csv": HOUSES.encode(), "x.npz": file.getvalue()}
    refused = 0
    for number in range(400):
        name = ("x.csv", "x.npz")[number % 2]
        data = bytearray(valid[name])
        for _ in range(rng.choice((1, 2, 5))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path = written(tmp_path, name, bytes(data))
        try:
            read_table_or_array(path, "x" if name == "x.npz" else None, text=name == "x.csv")
        except UserError as error:
            assert str(error).isprintable()
            refused += 1
    assert 0 < refused < 400
