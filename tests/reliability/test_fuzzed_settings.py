"""Whatever stands in a configuration or on the command line: one line, its place, exit code 2."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pxsgmcmc.cli import COMMANDS
from tests.config.bad_settings import GOOD, GOOD_WHEN, REQUIRED, any_value, changed, document, toml
from tests.helpers.cli_calls import assert_one_line, call
from tests.reliability.proofs import record

PLAIN = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
SECTIONS = ["", "data", "model", "expansion", "prior", "sampler", "sampler.friction", "chain"]


@pytest.fixture(scope="module")
def file():
    with TemporaryDirectory() as folder:
        yield Path(folder) / "fuzzed.toml"


@pytest.fixture(autouse=True)
def nothing_heavy(monkeypatch):
    """A bad setting is found before anything is loaded: importing the rest would fail here."""
    for heavy in ("build", "problem"):
        monkeypatch.setitem(sys.modules, f"pxsgmcmc.config.{heavy}", None)


def refused(file, text, flags, *words):
    """Both commands that read a configuration refuse it in one line with these words."""
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    for command in (["config", "check"], ["run"]):
        assert_one_line(call(*command, str(file), *flags), 2, *words)


@st.composite
def wrong_values(draw):
    path = draw(st.sampled_from(sorted(GOOD_WHEN)))
    value = draw(any_value.filter(lambda value: not GOOD_WHEN[path](value)))
    return path, value


@st.composite
def unknown_names(draw):
    section = draw(st.sampled_from(SECTIONS))
    table = GOOD
    for part in section.split(".") if section else ():
        table = table[part]
    known = {*table, "noise", "flip", "logits", "kind"}
    letters = st.characters(codec="utf-8", exclude_characters=".=", exclude_categories=["C", "Z"])
    misspelt = st.builds(lambda word, more: word + more, st.sampled_from(sorted(table)), letters)
    name = draw(st.one_of(misspelt, st.text(letters, min_size=1, max_size=12)))
    return section, name if name not in known else name + "x", draw(any_value)


def wrong_values_are_refused(file, count):
    tried = set()

    @settings(PLAIN, max_examples=count)
    @given(wrong_values(), st.booleans())
    def check(wrong, by_flag):
        path, value = wrong
        tried.add(repr((wrong, by_flag)))
        if by_flag:
            text, flags = document(GOOD), [f"--{path}={toml(value)}"]
        else:
            text, flags = document(changed(path, value)), []
        refused(file, text, flags, f"`{path}")

    check()
    return len(tried)


def unknown_names_are_refused(file, count):
    tried = set()

    @settings(PLAIN, max_examples=count)
    @given(unknown_names())
    def check(unknown):
        section, name, value = unknown
        tried.add(repr(unknown))
        path = f"{section}.{name}" if section else name
        refused(file, document(changed(path, value)), [], f"`{path}`")

    check()
    return len(tried)


def broken_files_are_refused(file, count):
    tried, whole = set(), document(GOOD).encode()
    needed = whole.index(b'"batch_size"')  # the last setting that has no default
    cut = st.integers(0, needed).map(lambda end: whole[:end])
    spoilt = st.tuples(st.integers(0, len(whole) - 1), st.binary(min_size=1, max_size=3)).map(
        lambda spot: whole[: spot[0]] + b"\xff" + spot[1] + whole[spot[0] :]
    )
    nested = st.integers(2_000, 9_000).map(lambda depth: b"seed = " + b"[" * depth)

    @settings(PLAIN, max_examples=count)
    @given(st.one_of(cut, spoilt, nested, st.binary(max_size=200)))
    def check(data):
        tried.add(data)
        refused(file, data, [])

    check()
    return len(tried)


def broken_flags_are_refused(file, count):
    """Flags that name no setting, have no value, or stand alone; of every command."""
    words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
    token = st.one_of(
        words.map(lambda word: f"--{word}"), words.map(lambda word: f"-{word}"), words
    ).filter(lambda word: word not in ("--", "-h", "--help", "--out", "--resume"))
    tried = set()
    looking = [name for name in COMMANDS if name.split()[0] in ("show", "verify", "resume")]

    @settings(PLAIN, max_examples=count)
    @given(st.sampled_from([*looking, "config check", "run"]), st.lists(token, min_size=1))
    def check(command, tokens):
        given_file = [str(file)] if COMMANDS[command].takes_settings else []
        file.write_text(document(GOOD))
        tried.add((command, *tokens))
        assert_one_line(call(*command.split(), *given_file, *tokens), 2)

    check()
    return len(tried)


@pytest.mark.parametrize("path", REQUIRED)
def test_a_missing_setting_is_named(file, path):
    refused(file, document(changed(path, remove=True)), [], f"`{path}", "missing")


def test_the_good_configuration_is_good(file, monkeypatch):
    monkeypatch.undo()  # now the rest may be loaded
    file.write_text(document(GOOD))
    assert call("config", "check", str(file)).code == 0


def test_fuzzed_settings_are_refused_in_one_line(file):
    wrong_values_are_refused(file, 40)
    unknown_names_are_refused(file, 20)
    broken_files_are_refused(file, 20)
    broken_flags_are_refused(file, 20)


@pytest.mark.slow
def test_a_thousand_fuzzed_settings_are_refused_in_one_line(file):
    tried = wrong_values_are_refused(file, 550)
    tried += unknown_names_are_refused(file, 200)
    tried += broken_files_are_refused(file, 200)
    tried += broken_flags_are_refused(file, 200)
    record("fuzzed_settings", tried=tried, refused=tried)
    assert tried >= 1000
