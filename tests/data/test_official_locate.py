import dataclasses
import functools
import hashlib

import numpy as np
import official_files as made
import pytest

from pxsgmcmc.cli import data as commands
from pxsgmcmc.data import known_sets, load, load_corrupted
from pxsgmcmc.data._cifar import read_cifar10_binary, read_cifar10_python
from pxsgmcmc.data._locate import KNOWN, check_official, load_official, locate
from pxsgmcmc.data._official import OFFICIAL
from pxsgmcmc.errors import UserError

NAMES = (
    *("cifar10", "cifar100", "cifar10.1", "cifar10.2", "stl10", "cifar10-c", "svhn", "lsun"),
    *("tinyimagenet", "mnist", "fashion-mnist"),
)


def small_cifar10(**hashes):
    """CIFAR-10's row with two images a file; `hashes` replaces size and md5 of the archives."""
    readers = (read_cifar10_binary, read_cifar10_python)
    forms = []
    for form, read in zip(OFFICIAL["cifar10"].forms, readers, strict=True):
        file = dataclasses.replace(form.files[0], size=None, hashes=hashes)
        reader = functools.partial(read, records=2, train=7)
        forms.append(dataclasses.replace(form, files=(file,), read=reader))
    return dataclasses.replace(OFFICIAL["cifar10"], forms=tuple(forms))


def test_the_registry_holds_the_sets_of_the_experiments():
    assert tuple(OFFICIAL) == NAMES
    assert set(NAMES) < set(known_sets()) and "digits" in known_sets()


@pytest.mark.parametrize("name", NAMES)
def test_every_row_is_complete(name):
    official = OFFICIAL[name]
    assert official.about and official.licence
    for form in official.forms:
        for file in form.files:
            assert file.address.startswith(("https://", "http://"))
            assert file.name in file.address
            assert file.hashes or file.advisory
            lengths = {"md5": 32, "git": 40, "sha256": 64}
            for algorithm, digest in {**file.hashes, **file.advisory}.items():
                assert len(bytes.fromhex(digest)) * 2 == lengths[algorithm]


def test_no_two_published_files_share_a_hash():
    files = [f for o in OFFICIAL.values() for form in o.forms for f in form.files if f.hashes]
    assert len(KNOWN) == sum(len(file.hashes) for file in files)


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_set_says_what_to_fetch_from_where_and_where_to_put_it(tmp_path, name):
    with pytest.raises(UserError) as caught:
        load(name, root=tmp_path)
    message, file = str(caught.value), OFFICIAL[name].forms[0].files[0]
    for part in (file.name, file.address, str(tmp_path / name), f"pxsgmcmc data get {name}"):
        assert part in message
    assert "\n" not in message and list(tmp_path.iterdir()) == []


def test_an_unknown_name_gets_the_nearest_one_or_all(tmp_path):
    with pytest.raises(UserError, match=r"'cifar-10'; did you mean `cifar10`\?"):
        load("cifar-10", root=tmp_path)
    with pytest.raises(UserError, match=r"'places'; known: digits, .*cifar10, "):
        load("places", root=tmp_path)
    with pytest.raises(UserError, match=r"'digits'.*embedded"):
        commands.get("digits", str(tmp_path))


@pytest.mark.parametrize("place", ["", "cifar10", "cifar-10-batches-bin", "up/.."])
def test_an_unpacked_folder_is_found_at_and_below_the_root(tmp_path, place):
    (tmp_path / "up").mkdir()
    made.write(tmp_path / place, made.cifar10_files())
    dataset = load_official("cifar10", tmp_path, small_cifar10())
    np.testing.assert_array_equal(dataset.splits["test"].x, made.images(10, 2))


@pytest.mark.parametrize("place", ["", "cifar10"])
@pytest.mark.parametrize("by_file", [False, True])
def test_an_archive_is_found_at_and_below_the_root_and_may_be_the_root(tmp_path, place, by_file):
    archive = made.tar_bytes(made.cifar10_files(), "cifar-10-batches-bin/")
    made.write(tmp_path / place, {"cifar-10-binary.tar.gz": archive})
    row = small_cifar10(md5=hashlib.md5(archive).hexdigest())
    root = tmp_path / place / "cifar-10-binary.tar.gz" if by_file else tmp_path
    dataset = load_official("cifar10", root, row)
    np.testing.assert_array_equal(dataset.splits["test"].x, made.images(10, 2))


def test_the_binary_form_is_preferred_and_the_python_form_serves_without_it(tmp_path):
    made.write(tmp_path / "cifar-10-batches-py", made.cifar10_python_files())
    row = small_cifar10()
    assert locate("cifar10", tmp_path, row)[1].path.name == "cifar-10-batches-py"
    python = load_official("cifar10", tmp_path, row)
    made.write(tmp_path / "cifar-10-batches-bin", made.cifar10_files())
    assert locate("cifar10", tmp_path, row)[1].path.name == "cifar-10-batches-bin"
    assert load_official("cifar10", tmp_path, row).sha256 == python.sha256


def test_the_archive_of_another_set_is_named(tmp_path):
    path = tmp_path / "cifar-100-binary.tar.gz"
    path.write_bytes(b"anything")
    with pytest.raises(UserError, match=r"another data set than cifar10; give cifar-10-binary"):
        load("cifar10", root=path)


def test_mnist_and_fashion_mnist_in_one_root_are_told_apart_by_their_folders(tmp_path):
    made.write(tmp_path / "mnist", made.idx_files())
    made.write(tmp_path / "fashion-mnist", made.idx_files(packed=True))
    for name in ("mnist", "fashion-mnist"):
        assert locate(name, tmp_path)[1].path == tmp_path / name
    made.write(tmp_path / "torch" / "MNIST" / "raw", made.idx_files())
    assert locate("mnist", tmp_path / "torch")[1].path.name == "raw"


def test_the_variable_names_the_root(tmp_path, monkeypatch):
    monkeypatch.setenv("PXSGMCMC_DATA", str(tmp_path))
    made.write(tmp_path / "svhn", {"test_32x32.mat": made.svhn_file()})
    assert locate("svhn")[1].path == tmp_path / "svhn"
    with pytest.raises(UserError, match="26,032"):  # three images are not SVHN
        load("svhn")


def test_a_corrupted_set_in_the_same_layout_is_mapped_at_its_own_size(tmp_path):
    images = made.images(0, 15, side=8, channels=1)
    files = {"fog.npy": made.npy(images), "labels.npy": made.npy(np.arange(15) % 3)}
    made.write(tmp_path / "mine-c", files)
    x, y = load_corrupted("mine-c", corruption="fog", severity=2, root=tmp_path)
    np.testing.assert_array_equal(x, images[3:6])
    np.testing.assert_array_equal(y, [0, 1, 2])
    (tmp_path / "mine-c" / "labels.npy").unlink()
    assert load_corrupted("mine-c", corruption="fog", severity=2, root=tmp_path).y is None


def test_wrong_conditions_are_named(tmp_path):
    made.write(tmp_path / "mine-c", {"fog.npy": made.npy(made.images(0, 5))})
    for change, word in (({"corruption": "rain"}, "corruption"), ({"severity": 6}, "severity")):
        arguments = {"corruption": "fog", "severity": 1} | change
        with pytest.raises(UserError, match=f"`{word}`"):
            load_corrupted("mine-c", root=tmp_path, **arguments)
    with pytest.raises(UserError, match="no folder"):
        load_corrupted("other-c", corruption="fog", severity=1, root=tmp_path)


def test_checking_compares_the_hashes_of_unpacked_files(tmp_path):
    made.write(tmp_path / "cifar-100-binary", made.cifar100_files())
    with pytest.raises(UserError, match=r"train\.bin` has md5 .* 6172c7755cfe09b2fe270c85cebc1b15"):
        check_official("cifar100", tmp_path)


def test_listing_names_every_set_and_the_folder(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    commands.list_sets(str(tmp_path))
    shown = capsys.readouterr().out
    for part in (*known_sets(), str(tmp_path), "170 MB", "CC BY-NC 4.0"):
        assert part in shown
