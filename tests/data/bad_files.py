"""Harness for files that are not what they should be.

A case writes its files into a folder and returns the call that must fail; with it go the file that
the message must name and some words of the fault. The message must be one sentence with a remedy,
and nothing on disk may have changed.
"""

import functools
import hashlib

import official_files as made
import pytest

from pxsgmcmc.data._stored import Stored
from pxsgmcmc.errors import UserError

REMEDIES = ("download", "unpack", "do not", "give", "remove", "run")


class Cases:
    """A decorator that collects cases, to parametrise a test by."""

    def __init__(self):
        self.all = []

    def __call__(self, file, fault):
        def register(function):
            self.all.append(pytest.param((function, file, fault), id=function.__name__))
            return function

        return register


def unpacked(read, files, folder, **sizes):
    """The call of a reader on files written to a folder."""
    return functools.partial(read, Stored(made.write(folder, files)), **sizes)


def snapshot(folder):
    return {
        (str(path), hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
        for path in folder.rglob("*")
    }


def assert_one_sentence_and_nothing_left(bad, tmp_path, monkeypatch):
    make, file, fault = bad
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    monkeypatch.setenv("TMPDIR", str(elsewhere))
    monkeypatch.chdir(elsewhere)
    call = make(folder)
    before = snapshot(tmp_path)
    with pytest.raises(UserError) as caught:
        call()
    message = str(caught.value)
    assert file in message and fault in message
    assert message.isprintable() and ". " not in message and message.endswith(".")
    assert message.rsplit("; ", 1)[1].startswith(REMEDIES)
    assert snapshot(tmp_path) == before


class Command:
    """Pickles to a call."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call
