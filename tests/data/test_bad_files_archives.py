import functools
import gzip
import io
import tarfile

import numpy as np
import official_files as made
import pytest
from bad_files import Cases, assert_one_sentence_and_nothing_left

from pxsgmcmc.data import _cifar as cifar
from pxsgmcmc.data._locate import load_official
from pxsgmcmc.data._stored import Stored
from pxsgmcmc.data.cache import Remote, verify

case = Cases()


def archive(folder, content, name="cifar-10-binary.tar.gz", prefix="cifar-10-batches-bin"):
    path = folder / name
    path.write_bytes(content)
    stored = Stored(path, prefix, most_bytes=1_000_000)
    return functools.partial(cifar.read_cifar10_binary, stored, records=2, train=7)


def good_tar_and(*extra, packed=True):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz" if packed else "w") as tar:
        for name, data in made.cifar10_files().items():
            member = tarfile.TarInfo("cifar-10-batches-bin/" + name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        for name, kind, link in extra:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, link
            tar.addfile(member)
    return buffer.getvalue()


@case("cifar-10-binary.tar.gz", "outside its folder")
def tar_that_climbs_out(folder):
    return archive(folder, good_tar_and(("../evil", tarfile.REGTYPE, "")))


@case("cifar-10-binary.tar.gz", "outside its folder")
def tar_with_an_absolute_name(folder):
    return archive(folder, good_tar_and(("/etc/evil", tarfile.REGTYPE, "")))


@case("cifar-10-binary.tar.gz", "outside its folder")
def tar_whose_name_holds_a_newline(folder):
    return archive(folder, good_tar_and(("../evil\n\x1b[2J", tarfile.REGTYPE, "")))


@case("cifar-10-binary.tar.gz", "a link, device")
def tar_with_a_symbolic_link(folder):
    return archive(folder, good_tar_and(("x", tarfile.SYMTYPE, "/etc/passwd")))


@case("cifar-10-binary.tar.gz", "a link, device")
def tar_with_a_hard_link(folder):
    return archive(folder, good_tar_and(("x", tarfile.LNKTYPE, "../evil")))


@case("cifar-10-binary.tar.gz", "a link, device")
def tar_with_a_device(folder):
    return archive(folder, good_tar_and(("x", tarfile.CHRTYPE, "")))


@case("cifar-10-binary.tar.gz", "not a readable tar archive")
def tar_gz_truncated(folder):
    content = good_tar_and()
    return archive(folder, content[: len(content) // 2])


@case("cifar-10-binary.tar.gz", "not a readable tar archive")
def tar_truncated(folder):
    content = good_tar_and(packed=False)
    return archive(folder, content[: len(content) // 2])


@case("cifar-10-binary.tar.gz", "not a readable tar archive")
def tar_gz_of_noise(folder):
    return archive(folder, gzip.compress(np.random.default_rng(0).bytes(5000)))


@case("cifar-10-binary.tar.gz", "not a readable tar archive")
def tar_gz_with_a_damaged_stream(folder):
    content = bytearray(good_tar_and())
    content[10] = 0xFF  # the first block is of no known kind
    return archive(folder, bytes(content))


@case("cifar-10-binary.tar.gz", "not a readable tar archive")
def tar_that_is_a_web_page(folder):
    return archive(folder, b"<html><body>503 Service Unavailable</body></html>")


@case("cifar-10-binary.tar.gz", "would unpack to more than 1,000,000 bytes")
def tar_gz_bomb(folder):
    return archive(folder, made.tar_bytes({"cifar-10-batches-bin/zeros": b"\0" * 3_000_000}))


@case("cifar-10-binary.tar.gz", "impossible size")
def tar_gz_bomb_in_a_header(folder):
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 3_000_000
    content = header.tobuf(tarfile.USTAR_FORMAT) + b"\0" * 3_000_000
    return archive(folder, gzip.compress(content))


@case("cifar-10-binary.tar.gz", "data_batch_1.bin of 9,000 bytes where at most 6,146 belong")
def tar_with_a_member_too_large(folder):
    files = made.cifar10_files() | {"data_batch_1.bin": b"\0" * 9000}
    return archive(folder, made.tar_bytes(files, "cifar-10-batches-bin/"))


@case("cifar-10-binary.tar.gz", "holds cifar-10-batches-py, where cifar-10-batches-bin was meant")
def python_archive_where_the_binary_was_meant(folder):
    return archive(folder, made.tar_bytes(made.cifar10_python_files(), "cifar-10-batches-py/"))


@case("cifar-10-binary.tar.gz", "lacks test_batch.bin (1 of its 6 files are missing)")
def tar_without_one_file(folder):
    files = made.cifar10_files()
    files.pop("test_batch.bin")
    return archive(folder, made.tar_bytes(files, "cifar-10-batches-bin/"))


@case("cifar-10-binary.tar.gz", "outside its folder")
def zip_that_climbs_out(folder):
    return archive(folder, made.zip_bytes({"../evil": b"x"}))


@case("cifar-10-binary.tar.gz", "as a bomb is")
def zip_bomb(folder):
    content = made.zip_bytes({"zeros": b"\0" * 1_500_000})
    call = archive(folder, content)
    stored = call.args[0]._replace(most_bytes=1 << 30)
    return functools.partial(cifar.read_cifar10_binary, stored, records=2)


@case("cifar-10-binary.tar.gz", "would unpack to more than 1,000,000 bytes")
def zip_of_many_small_bombs(folder):
    return archive(folder, made.zip_bytes({str(i): b"\0" * 100_000 for i in range(11)}))


@case("cifar-10-binary.tar.gz", "encrypted")
def zip_encrypted(folder):
    content = bytearray(made.zip_bytes({"a": b"x" * 100}))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return archive(folder, bytes(content))


@case("cifar-10-binary.tar.gz", "not a readable zip archive")
def zip_truncated(folder):
    content = made.zip_bytes(made.cifar10_files(), "cifar-10-batches-bin/")
    return archive(folder, content[:-100])


@case("cifar-10-binary.tar.gz", "not a readable zip archive")
def zip_with_a_wrong_checksum(folder):
    content = bytearray(made.zip_bytes(made.cifar10_files(), "cifar-10-batches-bin/"))
    content[content.index(b"PK\x01\x02") + 16] ^= 0xFF
    return archive(folder, bytes(content))


@case("cifar-10-binary.tar.gz", "bytes where cifar-10-binary.tar.gz has 170,052,171")
def archive_of_wrong_size(folder):
    (folder / "cifar-10-binary.tar.gz").write_bytes(good_tar_and())
    return functools.partial(load_official, "cifar10", folder)


@case("cifar-10-binary.tar.gz", "has md5 ")
def archive_of_wrong_hash(folder):
    path = folder / "cifar-10-binary.tar.gz"
    path.write_bytes(good_tar_and())
    remote = Remote(path.name, "https://x/" + path.name, None, {"md5": "0" * 32})
    return functools.partial(verify, path, remote)


@case("cifar-100-binary.tar.gz", "is no file of another data set than cifar10")
def archive_of_another_set(folder):
    path = folder / "cifar-100-binary.tar.gz"
    path.write_bytes(b"x")
    return functools.partial(load_official, "cifar10", path)


@case("CIFAR-10-C.tar", "bytes where CIFAR-10-C.tar has 2,918,471,680")
def mapped_archive_of_wrong_size(folder):
    (folder / "CIFAR-10-C.tar").write_bytes(b"\0" * 10_240)
    return functools.partial(load_official, "cifar10-c", folder)


@pytest.mark.parametrize("bad", case.all)
def test_a_bad_file_gives_one_sentence_and_leaves_nothing(bad, tmp_path, monkeypatch):
    assert_one_sentence_and_nothing_left(bad, tmp_path, monkeypatch)
