import hashlib
import http.server
import socket
import threading
from pathlib import Path

import pytest

from pxsgmcmc.data._download import download
from pxsgmcmc.data.cache import Remote, cache_folder, digest, verify
from pxsgmcmc.errors import UserError

CONTENT = bytes(range(256)) * 4000  # about a megabyte
MD5 = hashlib.md5(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves `server.content`; `server.mode` says how badly."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server, mode = self.server, self.server.mode
        wanted = self.headers.get("Range")
        server.requests_seen.append(wanted)
        if mode == "missing":
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if mode == "no ranges":
            start = 0
        if start >= len(server.content):
            self.send_error(416)
            return
        body = server.content[start:]
        self.send_response(206 if start else 200)
        kind = "text/html" if mode == "web page" else "application/octet-stream"
        self.send_header("Content-Type", kind)
        if start and mode == "wrong range":
            body = server.content[7:]
            self.send_header("Content-Range", f"bytes 7-{len(server.content) - 1}/*")
        elif start:
            self.send_header("Content-Range", f"bytes {start}-{len(server.content) - 1}/*")
        if mode == "no length":
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if mode == "interrupted" else body)
        self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.content, server.mode, server.requests_seen = CONTENT, "well", []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def remote(server, **change):
    values = {"size": len(CONTENT), "hashes": {"md5": MD5}} | change
    return Remote("set.bin", f"http://127.0.0.1:{server.server_port}/set.bin", **values)


def names(folder):
    return sorted(path.name for path in folder.rglob("*"))


@pytest.mark.parametrize("mode", ["well", "no length", "no ranges"])
def test_a_download_gets_its_name_when_it_is_whole(server, tmp_path, mode):
    server.mode = mode
    path, notes = download(remote(server), tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "set.bin" and path.read_bytes() == CONTENT
    assert notes == [] and names(path.parent) == ["set.bin"]


def test_a_file_that_is_there_is_checked_and_not_asked_for(server, tmp_path):
    (tmp_path / "set.bin").write_bytes(CONTENT)
    download(remote(server), tmp_path)
    assert server.requests_seen == []
    (tmp_path / "set.bin").write_bytes(CONTENT[:-1] + b"!")
    with pytest.raises(UserError, match="has md5"):
        download(remote(server), tmp_path)


@pytest.mark.parametrize("size", [len(CONTENT), None])
@pytest.mark.parametrize("mode", ["well", "no ranges", "wrong range", "no length"])
def test_a_download_goes_on_where_it_stopped(server, tmp_path, mode, size):
    server.mode = "interrupted"
    with pytest.raises(UserError, match="stopped at 512,000 of 1,024,000 bytes; run the same"):
        download(remote(server, size=size), tmp_path)
    assert (tmp_path / "set.bin.part").read_bytes() == CONTENT[:512_000]
    server.mode = mode
    path, _ = download(remote(server, size=size), tmp_path)
    assert path.read_bytes() == CONTENT and names(tmp_path) == ["set.bin"]
    assert server.requests_seen[1] == "bytes=512000-"
    assert len(server.requests_seen) == (3 if mode == "wrong range" else 2)


def test_a_whole_part_needs_no_request_and_one_too_long_is_begun_again(server, tmp_path):
    (tmp_path / "set.bin.part").write_bytes(CONTENT)
    download(remote(server), tmp_path)
    assert server.requests_seen == []
    (tmp_path / "set.bin").unlink()
    (tmp_path / "set.bin.part").write_bytes(CONTENT + b"more")
    assert download(remote(server), tmp_path)[0].read_bytes() == CONTENT
    (tmp_path / "set.bin").unlink()
    (tmp_path / "set.bin.part").write_bytes(CONTENT + b"more")  # size unknown: the server says 416
    assert download(remote(server, size=None), tmp_path)[0].read_bytes() == CONTENT
    assert server.requests_seen == [None, "bytes=1024004-", None]


@pytest.mark.parametrize(
    ("mode", "content", "size"),
    [
        ("well", CONTENT[:-1] + b"!", len(CONTENT)),
        ("well", CONTENT + b"more", len(CONTENT)),
        ("well", CONTENT[:-5], len(CONTENT)),
        ("well", CONTENT[:-5], None),
        ("no length", CONTENT[:-1] + b"!", len(CONTENT)),
        ("no length", CONTENT + b"more", len(CONTENT)),
        ("no length", CONTENT[:-5], None),
    ],
)
def test_a_wrong_file_is_refused_and_nothing_is_left(server, tmp_path, mode, content, size):
    server.mode, server.content = mode, content
    with pytest.raises(UserError) as caught:
        download(remote(server, size=size), tmp_path / "a" / "b")
    assert "set.bin" in str(caught.value) and "\n" not in str(caught.value)
    assert names(tmp_path) == []


def test_a_part_of_another_file_is_found_out_and_removed(server, tmp_path):
    (tmp_path / "set.bin.part").write_bytes(b"something else entirely")
    with pytest.raises(UserError, match="md5"):
        download(remote(server), tmp_path)
    assert names(tmp_path) == []
    assert download(remote(server), tmp_path)[0].read_bytes() == CONTENT


@pytest.mark.parametrize("mode", ["missing", "web page"])
def test_a_server_without_the_file_leaves_nothing(server, tmp_path, mode):
    server.mode = mode
    with pytest.raises(UserError) as caught:
        download(remote(server), tmp_path / "new")
    message = str(caught.value)
    assert "404" in message or "web page" in message
    assert str(tmp_path / "new") in message and names(tmp_path) == []


def test_without_a_network_the_message_says_what_to_place_where(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/set.bin"
    with pytest.raises(UserError) as caught:
        download(Remote("set.bin", address, 10), tmp_path / "new")
    message = str(caught.value)
    for part in (address, "set.bin", str(tmp_path / "new"), "place it in"):
        assert part in message
    assert names(tmp_path) == []


def test_a_server_that_goes_silent_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/set.bin"
        with pytest.raises(UserError, match="could not be downloaded"):
            download(Remote("set.bin", address, 10), tmp_path, timeout=0.2)
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_made_is_named(server, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UserError, match="cannot be made"):
        download(remote(server), tmp_path / "file" / "folder")


def test_the_git_digest_is_the_blob_id_of_git(tmp_path):
    path = tmp_path / "hello"
    path.write_bytes(b"hello\n")
    assert digest(path, "git") == "ce013625030ba8dba906f756967f9e9ca394464a"  # git hash-object
    assert digest(path, "md5") == "b1946ac92492d2347c6235b4d2611184"


def test_an_advisory_hash_is_reported_and_not_refused(tmp_path):
    path = tmp_path / "hello"
    path.write_bytes(b"hello\n")
    [note] = verify(path, Remote("hello", "http://x", advisory={"md5": "0" * 32}))
    assert "one source gives 0000" in note
    assert verify(path, Remote("hello", "http://x", advisory={"md5": digest(path, "md5")})) == []


def test_a_known_file_under_a_wrong_name_is_recognised(tmp_path):
    path = tmp_path / "binary.tar.gz"
    path.write_bytes(CONTENT)
    wanted = Remote("binary.tar.gz", "http://x/binary.tar.gz", 5, {"md5": "0" * 32})
    with pytest.raises(UserError, match=r"is python\.tar\.gz under another name"):
        verify(path, wanted, {MD5: "python.tar.gz"})


def test_the_cache_folder_is_the_argument_the_variable_or_the_platforms(monkeypatch, tmp_path):
    monkeypatch.setenv("PXSGMCMC_DATA", str(tmp_path / "variable"))
    assert cache_folder(tmp_path) == tmp_path
    assert cache_folder() == tmp_path / "variable"
    monkeypatch.delenv("PXSGMCMC_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / "pxsgmcmc"
    monkeypatch.setattr("sys.platform", "win32")
    assert cache_folder() == tmp_path / "pxsgmcmc"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder() == Path("~/Library/Caches/pxsgmcmc").expanduser()
