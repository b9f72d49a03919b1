import os
import pickle

import numpy as np
import official_files as made
import pytest

from pxsgmcmc.data._restricted_pickle import read_pickled_arrays
from pxsgmcmc.errors import UserError


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["u1", "<i4", ">i8", "<f8", "?"])
def test_pickles_of_the_installed_numpy_are_read_alike(protocol, dtype):
    batch = {
        "data": np.arange(24).reshape(4, 6).astype(dtype),
        "columns": np.asfortranarray(np.arange(6, dtype=np.uint8).reshape(2, 3)),
        "labels": [0, 3, 300, 70_000, -1],
        b"filenames": [b"a.png", "b.png"],
        "nothing": None,
        "pair": (True, False),
    }
    found = read_pickled_arrays(pickle.dumps(batch, protocol), "batch")
    np.testing.assert_array_equal(found["data"], batch["data"])
    np.testing.assert_array_equal(found["columns"], batch["columns"])
    assert found["data"].dtype == batch["data"].dtype
    assert found["labels"] == batch["labels"] and found["filenames"] == batch[b"filenames"]
    assert found["nothing"] is None and found["pair"] == (True, False)


def test_a_pickle_as_python_2_wrote_it_is_what_pickle_itself_would_load():
    data = made.pickled_batch(4, [7, 2])
    official = pickle.loads(data, encoding="bytes")
    found = read_pickled_arrays(data, "batch")
    np.testing.assert_array_equal(found["data"], official[b"data"])
    assert found["labels"] == official[b"labels"] == [7, 2]


class _Command:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: {"data": x}, lambda x: {"data": [x]}])
def test_a_pickle_that_would_run_something_runs_nothing(tmp_path, protocol, wrap):
    witness = tmp_path / "witness"
    for command in (
        _Command(os.system, f"touch {witness}"),
        _Command(eval, f"open({str(witness)!r}, 'w').close()"),
        _Command(getattr, "text", "upper"),
        _Command(np.load, str(witness)),
    ):
        with pytest.raises(UserError, match="`batch` "):
            read_pickled_arrays(pickle.dumps(wrap(command), protocol), "batch")
    assert list(tmp_path.iterdir()) == []


HEAD = b"\x80\x02"
RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\n"


@pytest.mark.parametrize(
    "program",
    [
        HEAD + b"cnumpy\nndarray\ncnumpy\ndtype\nb.",  # a state for a name
        HEAD + b"cnumpy\ndtype\nU\x02O8\x85R.",  # objects
        HEAD + b"cnumpy\ndtype\nU\x0aV999999999\x85R.",
        HEAD + b"}cnumpy\nndarray\nK\x01s.",  # a key that is no text
        HEAD + b"cposix\nsystem\nU\x04true\x85R.",
        HEAD + b"ccopyreg\n_reconstructor\n.",
        HEAD + b"cnumpy.core.multiarray\nscalar\n.",
        HEAD + b"}U\x01a" + RECONSTRUCT + b")Rs.",  # an array never filled
        HEAD + b"R.",
        HEAD + b"tb.",
        HEAD + b"(((.",
        HEAD + b"h\x05.",  # a memory that was never put
        HEAD + b"r\xff\xff\xff\xff.",  # puts nothing at four thousand million
        HEAD + b"}r\xff\xff\xff\xff0.",
        HEAD + b"\x8e" + b"\xff" * 8 + b".",  # bytes of impossible length
        HEAD + b"B\xff\xff\xff\x7fabc.",
        HEAD + b"\x82\x01.",  # extension registry
        HEAD + b"U\x01aQ.",  # persistent id
        HEAD + b"(cos\nsystem\no.",
        b"(ios\nsystem\n.",
        b"",
        b".",
        b"\x80\x02}",
    ],
)
def test_a_program_that_builds_something_else_is_refused(program):
    with pytest.raises(UserError):
        read_pickled_arrays(program, "batch")


def test_nested_tuples_cannot_stall_the_reader():
    # 2 ** 60 leaves if anything were to hash or print it.
    deep = b"K\x00" + b"".join(b"q%c" % i + b"h%c\x86" % i for i in range(60))
    for program in (b"}" + deep + b"K\x01s.", deep + b"cnumpy\ndtype\n" + b"h\x3b\x85R."):
        with pytest.raises(UserError):
            read_pickled_arrays(HEAD + program, "batch")
