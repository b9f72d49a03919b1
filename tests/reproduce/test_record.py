"""What is kept of a run: read back as written, and refused in one sentence when it is not."""

import pytest

from pxsgmcmc.errors import UserError
from pxsgmcmc.reproduce.record import read_record, rounded, write_record
from tests.reproduce.made_up_records import record


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "desk" / "sghmc-0123" / "seed-0.json"
    write_record(path, record({"test/nll": 0.25, "counts/parameters": 12}))
    return path


def test_a_record_is_read_as_it_was_written(path):
    kept = read_record(path)
    assert kept.values == {"test/nll": 0.25, "counts/parameters": 12.0} and kept.sha256
    write_record(path, kept)
    assert read_record(path) == kept


def test_a_changed_number_is_noticed(path):
    path.write_text(path.read_text().replace("0.25", "0.24"))
    with pytest.raises(UserError, match="is damaged, or was changed by hand: remove it"):
        read_record(path)


def test_half_a_file_is_damage(path):
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UserError, match="is damaged: remove it, and the run is made again"):
        read_record(path)


def test_a_file_of_another_version_is_named_as_such(path):
    path.write_text(path.read_text().replace('"format":1', '"format":2'))
    with pytest.raises(UserError, match="was written by another version"):
        read_record(path)


def test_numbers_are_kept_to_six_digits():
    assert rounded({"a": [1.23456789, None]}) == {"a": [1.23457, None]}
