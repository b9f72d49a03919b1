"""Runs are sent and fetched whole: every interruption, damage and mix-up shows, none is kept."""

import os
import resource
import shutil
import sys
import uuid

import numpy as np
import pytest

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.moving import listing, pull, push
from pxsgmcmc.moving.place import Place
from pxsgmcmc.store import create_chains, create_run, open_run, sealed, verify, verify_chains
from pxsgmcmc.store.layout import chain_folder
from tests.helpers.cli_calls import assert_one_line, call
from tests.store.store_samples import contents_of, make_run

fsspec = pytest.importorskip("fsspec", reason="the extra `remote` is not installed")


@pytest.fixture(params=["memory", "local"])
def url(request, tmp_path):
    """A place where nothing is, on a file system and in memory."""
    yield (
        f"memory://{uuid.uuid4()}/runs/one"
        if request.param == "memory"
        else str(tmp_path / "far/away")
    )


@pytest.fixture
def memory():
    return f"memory://{uuid.uuid4()}/one"


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "run", draws=2, size=4)


def go_on(run, draw=3):
    """One more draw, log line and state."""
    with open_run(run, writable=True) as opened:
        w = np.full(4, draw, np.float32)
        opened.commit_draw({"w": w}, step=10 * draw, energy=0.5)
        opened.append_log({"step": 10 * draw})
        opened.commit_state({"q": w, "m": w}, {"step": 10 * draw})


def objects(url):
    return Place(url).sizes()


def test_a_run_comes_back_byte_for_byte_and_nothing_is_moved_twice(run, url, tmp_path):
    files = contents_of(run)
    sent = push(run, url)
    assert (sent.files, sent.sent) == (len(files), len(files))
    assert objects(url).keys() == files.keys() | {listing.LISTING}
    assert push(run, url).sent == 0
    assert pull(url, tmp_path / "back").sent == len(files)
    assert contents_of(tmp_path / "back") == files == contents_of(run)
    assert verify(tmp_path / "back").problems == []
    assert pull(url, tmp_path / "back").sent == 0


def test_of_a_run_that_went_on_only_what_is_new_is_sent(run, memory, tmp_path):
    push(run, memory)
    go_on(run)
    # The draw, both states, the log and the index; the manifest says what it said before.
    assert push(run, memory).sent == 5
    pull(memory, tmp_path / "back")
    assert contents_of(tmp_path / "back") == contents_of(run)
    go_on(tmp_path / "back", 4)  # and the chain goes on from there
    assert verify(tmp_path / "back").problems == []


def test_several_chains_move_together_those_that_have_not_begun_too(memory, tmp_path):
    place = tmp_path / "several"
    create_chains(place, 3, "seed = 3\n")
    for chain in (0, 2):
        with create_run(chain_folder(place, chain), "seed = 3\n", {"chain": chain}) as one:
            one.commit_draw({"w": np.full(3, chain, np.float32)}, step=5, energy=1.0)
    push(place, memory)
    pull(memory, tmp_path / "back")
    assert contents_of(tmp_path / "back") == contents_of(place)
    assert verify_chains(tmp_path / "back").problems == []
    assert (tmp_path / "back/chain-0001").is_dir()


class Cut(Exception):
    """The line goes dead."""


def dead_after(monkeypatch, times, name):
    """Let `Place.name` work so many times, then leave half of what is written and fail."""
    real, done = getattr(Place, name), []

    def cut(self, path, data, *rest):
        if len(done) == times:
            if name == "write":
                with self._system.open(self._path(path + ".part"), "wb") as file:
                    file.write(data[: len(data) // 2])
            raise Cut
        done.append(path)
        return real(self, path, data, *rest)

    monkeypatch.setattr(Place, name, cut)


def test_a_push_that_is_cut_short_anywhere_is_no_run_and_goes_on(run, monkeypatch, tmp_path):
    files = len(contents_of(run))
    for times in range(files + 2):  # the list before and after them
        url = f"memory://{uuid.uuid4()}/one"
        with monkeypatch.context() as patch:
            dead_after(patch, times, "write")
            with pytest.raises(Cut):
                push(run, url)
        with pytest.raises(UserError, match=r"cut short|has no moving\.json"):
            pull(url, tmp_path / "no")
        assert push(run, url).sent == files - max(0, times - 1)
        assert not [name for name in objects(url) if name.endswith(".part")]
    pull(url, tmp_path / "back")
    assert contents_of(tmp_path / "back") == contents_of(run)


def test_a_pull_that_is_cut_short_anywhere_leaves_no_run_and_goes_on(
    run, memory, monkeypatch, tmp_path
):
    push(run, memory)
    files = len(contents_of(run))
    for times in range(1, files + 1):
        target = tmp_path / f"back{times}"
        with monkeypatch.context() as patch:
            dead_after(patch, times, "read")
            with pytest.raises(Cut):
                pull(memory, target)
        assert not target.exists()
        assert pull(memory, target).sent == files - (times - 1)
        assert contents_of(target) == contents_of(run)
        assert not target.with_name(target.name + ".part").exists()


def flip(data: bytes) -> bytes:
    return data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]


def test_one_changed_bit_of_any_object_is_noticed_and_mended_by_pushing_again(
    run, memory, tmp_path
):
    push(run, memory)
    system, root = fsspec.core.url_to_fs(memory)
    for number, name in enumerate(contents_of(run)):
        target = tmp_path / f"back{number}"
        whole = system.cat_file(f"{root}/{name}")
        system.pipe_file(f"{root}/{name}", flip(whole))
        with pytest.raises(CorruptRun, match=f"{name}` is missing or not as it was sent"):
            pull(memory, target)
        assert not target.exists()
        assert push(run, memory).sent == 1
    system.pipe_file(f"{root}/{listing.LISTING}", flip(system.cat_file(f"{root}/moving.json")))
    assert_one_line(call("pull", memory, str(tmp_path / "back")), 4, "moving.json", "damaged")
    assert_one_line(call("push", str(run), memory), 4, "moving.json", "damaged")


def test_what_does_not_come_back_as_it_was_sent_gets_no_name(run, memory, monkeypatch):
    real = Place.read
    monkeypatch.setattr(
        Place,
        "read",
        lambda self, name, most: (
            flip(real(self, name, most) or b"0" * 9)
            if name.endswith("2.safetensors.part")
            else real(self, name, most)
        ),
    )
    with pytest.raises(CorruptRun, match="did not come back as it was sent"):
        push(run, memory)
    assert "draws/000002.safetensors" not in objects(memory)


def test_a_damaged_run_is_not_sent(run, memory):
    draw = run / "draws/000001.safetensors"
    draw.write_bytes(flip(draw.read_bytes()))
    assert_one_line(call("push", str(run), memory), 4, "000001.safetensors", "SHA-256")
    assert objects(memory) == {}


def test_another_run_or_a_later_state_is_never_overwritten(run, url, tmp_path):
    older = shutil.copytree(run, tmp_path / "older")
    go_on(run)
    push(run, url)
    before = objects(url)
    assert_one_line(call("push", str(older), url), 2, "does not have", "pull it")
    other = make_run(tmp_path / "other", seed=1, draws=3, size=4)
    assert_one_line(call("push", str(other), url), 2, "holds another run")
    assert objects(url) == before
    assert_one_line(call("pull", url, str(other)), 2, "is there and differs")
    Place(url + "2").write("mine.txt", b"precious")
    assert_one_line(call("push", str(run), url + "2"), 2, "must be empty", "mine.txt")


def test_a_folder_that_is_in_the_way_of_a_pull_is_left_alone(run, memory, tmp_path):
    push(run, memory)
    (tmp_path / "back.part").mkdir()
    (tmp_path / "back.part/mine.txt").write_text("precious")
    assert_one_line(call("pull", memory, str(tmp_path / "back")), 2, "mine.txt", "move it away")


def test_a_list_that_points_outside_is_refused(run, memory, tmp_path):
    push(run, memory)
    place = Place(memory)
    for bad in ({"files": {"../../evil": {"bytes": 1, "sha256": "0"}}}, {"runs": {"../x": "0"}}):
        body = sealed.unseal_document(place.read(listing.LISTING, 1 << 20) or b"")
        forged = sealed.seal_document({**body, **bad})
        Place(memory + "x").write(listing.LISTING, forged)
        with pytest.raises(CorruptRun, match=r"it names '\.\./"):
            pull(memory + "x", tmp_path / "back")


def test_bad_places_are_told_in_one_line(run, memory, tmp_path, monkeypatch):
    assert_one_line(call("push", str(run), "nowhere://x"), 2, "nowhere", "cannot be reached")
    assert_one_line(call("push", str(run), "memory://a*b"), 2, "none of * ?")
    assert_one_line(call("push", str(run), str(run / "copy")), 2, "inside the run")
    assert_one_line(call("push", str(tmp_path / "no"), memory), 2, "no such folder")
    assert_one_line(call("pull", memory, str(tmp_path / "b")), 2, "sent by `push`")
    (tmp_path / "file").write_text("")
    assert_one_line(call("push", str(run), str(tmp_path / "file")), 2, "file")
    with open_run(run, writable=True):
        assert_one_line(call("push", str(run), memory), 5, "is being written by")
    said = call("push", str(run), "ftp://me:secret@127.0.0.1:1/x")
    assert_one_line(said, 2, "cannot be reached")
    assert "secret" not in said.err
    monkeypatch.setitem(sys.modules, "fsspec", None)
    assert_one_line(call("push", str(run), memory), 2, "pip install 'pxsgmcmc[remote]'")


def test_a_full_store_is_told_with_what_to_do_and_the_same_command_goes_on(tmp_path):
    run, place = make_run(tmp_path / "large", draws=2, size=4000), tmp_path / "place"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))  # the list is smaller than this
    try:
        said = call("push", str(run), str(place))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert_one_line(said, 2, "the storage there is full (File too large): make room")
    assert_one_line(call("pull", str(place), str(tmp_path / "back")), 2, "push again")
    push(run, str(place))
    pull(str(place), tmp_path / "back")
    assert contents_of(tmp_path / "back") == contents_of(run)


def test_no_pipe_or_link_at_a_place_is_read_or_written_through(run, tmp_path):
    place, victim = tmp_path / "place", tmp_path / "victim"
    place.mkdir()
    victim.write_text("mine")
    os.mkfifo(place / "moving.json")
    with pytest.raises(UserError, match=r"has no moving\.json"):  # and does not wait for the pipe
        pull(str(place), tmp_path / "back")
    (place / "moving.json").unlink()
    (place / "moving.json.part").symlink_to(victim)
    with pytest.raises(UserError, match="symbolic link"):
        push(run, str(place))
    assert victim.read_text() == "mine"
