"""A configuration that is a pipe, a device, endless or made to take long: one line, at once."""

import os
import time

import pytest

from pxsgmcmc.config.start_weights import stored_weights
from pxsgmcmc.errors import UserError
from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.small_settings import SMALL


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    said = call("config", "check", str(tmp_path / "pipe.toml"))
    assert_one_line(said, 2, "must be a regular file")


def test_a_device_without_end_is_not_read():
    assert_one_line(call("run", "/dev/zero"), 2, "must be a regular file")


def test_a_link_to_a_device_is_not_read(tmp_path):
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    assert_one_line(call("run", str(tmp_path / "zero.toml")), 2, "must be a regular file")


def test_three_gigabytes_are_not_read(tmp_path):
    with open(tmp_path / "large.toml", "wb") as file:
        file.truncate(3 << 30)
    said = call("config", "check", str(tmp_path / "large.toml"))
    assert_one_line(said, 2, "more than 262,144 characters")


def test_weights_to_start_from_are_no_pipe_and_no_device(tmp_path):
    os.mkfifo(tmp_path / "pipe.safetensors")
    (tmp_path / "zero.safetensors").symlink_to("/dev/zero")
    for path in tmp_path.iterdir():
        with pytest.raises(UserError, match=r"`chain.start` cannot be read: .* a regular file"):
            stored_weights(str(path), {})


A = "a." * 50_000 + "a"
LONG = {
    "a dotted key": f"{A} = 1",
    "a dotted table": f"[{A}]",
    "a dotted table in an array": f"[[{A}]]",
    "a dotted key of quoted parts": '"a".' * 50_000 + "a = 1",
    "a dotted key with spaces": f"{' . '.join('a' * 50_000)} = 1",
    "a dotted key in a table": f"x = {{ {A} = 1 }}",
    "nested arrays": f"x = {'[' * 50_000}",
    "nested tables": f"x = {'{a=' * 50_000}",
    "many tables": "".join(f"[t{i}]\nb.c.d = 1\n" for i in range(12_000)),
    "many digits": f"seed = {'9' * 200_000}",
    "one long word": "a" * 250_000,
    "quotes without end": '"' * 250_000,
    "quotes and dots": '"a.' * 80_000,
    "control characters": "\x1b[2J = 1",
    "control characters in a name": '"\\u001b[2J\\u0007" = 1',
    "control characters in a value": 'seed = "\\u001b[2J\\u202e\\u2028"',
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_what_would_take_long_is_refused_at_once(tmp_path, text):
    (tmp_path / "c.toml").write_text(text)
    before = time.process_time()
    said = call("config", "check", str(tmp_path / "c.toml"))
    assert time.process_time() - before < 10.0  # tomllib alone takes minutes for the first
    assert_one_line(said, 2)
    assert said.err.strip().isprintable() and len(said.err) < 2100


def test_the_same_in_a_flag_is_refused_at_once(tmp_path):
    (tmp_path / "c.toml").write_text(SMALL)
    for flag in ((f"--{A}", "1"), ("--seed", f"{{ {A} = 1 }}"), ("--seed", "[" * 50_000)):
        before = time.process_time()
        assert_one_line(call("config", "check", str(tmp_path / "c.toml"), *flag), 2)
        assert time.process_time() - before < 10.0


def test_dots_in_texts_and_numbers_are_no_dotted_keys(tmp_path):
    numbers = ", ".join(["0.5"] * 100)
    (tmp_path / "c.toml").write_text(f"{SMALL}\n# {'.' * 100} {numbers}\n# www{'. ' * 90}\n")
    assert call("config", "check", str(tmp_path / "c.toml")).code == 0
