import gzip
import io
import tarfile
import zipfile

import official_files as made
import pytest

from pxsgmcmc.data._archives import members, members_of, tar_offsets
from pxsgmcmc.errors import UserError

FILES = {"set/a.bin": b"first", "set/sub/b.bin": b"second " * 100, "set/c.txt": b""}


def read(data, limit=10_000, most_bytes=1 << 20, name="some.tar"):
    return dict(members_of(io.BytesIO(data), name, lambda _: limit, most_bytes=most_bytes))


def tar_with(*infos, packed=False, tar_format=tarfile.PAX_FORMAT):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tar_format) as tar:
        for info, data in infos:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return gzip.compress(buffer.getvalue()) if packed else buffer.getvalue()


def info(name, kind=tarfile.REGTYPE, **values):
    made_info = tarfile.TarInfo(name)
    made_info.type = kind
    for key, value in values.items():
        setattr(made_info, key, value)
    return made_info


@pytest.mark.parametrize(
    "data",
    [made.tar_bytes(FILES), made.tar_bytes(FILES, packed=False), made.zip_bytes(FILES)],
    ids=["tar.gz", "tar", "zip"],
)
def test_members_come_as_they_were_stored_whatever_the_kind(tmp_path, data):
    assert read(data) == FILES
    path = tmp_path / "misleading.name"
    path.write_bytes(data)
    only = dict(members(path, lambda n: 9 if n.endswith("a.bin") else None, most_bytes=10_000))
    assert only == {"set/a.bin": b"first"}


@pytest.mark.parametrize("tar_format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT])
def test_folders_dots_and_long_names_are_read(tar_format):
    long = "./" + "folder/" * 20 + "x.bin"
    data = tar_with(
        (info("./folder", tarfile.DIRTYPE), b""), (info(long), b"1"), tar_format=tar_format
    )
    assert read(data) == {long[2:]: b"1"}


def test_offsets_point_at_the_content_of_a_plain_tar(tmp_path):
    path = tmp_path / "set.tar"
    path.write_bytes(made.tar_bytes(FILES, packed=False))
    raw = path.read_bytes()
    found = tar_offsets(path, most_bytes=10_000)
    assert {name: raw[start : start + size] for name, (start, size) in found.items()} == FILES


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("member", "fault"),
    [
        (info("../evil"), "outside its folder"),
        (info("set/../../evil"), "outside its folder"),
        (info("/etc/evil"), "outside its folder"),
        (info("..\\evil"), "outside its folder"),
        (info("C:\\evil"), "outside its folder"),
        (info("set/link", tarfile.SYMTYPE, linkname="/etc/passwd"), "a link"),
        (info("set/link", tarfile.LNKTYPE, linkname="set/a.bin"), "a link"),
        (info("set/device", tarfile.CHRTYPE), "device"),
        (info("set/device", tarfile.BLKTYPE), "device"),
        (info("set/pipe", tarfile.FIFOTYPE), "device"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.name}-{value.type!r}",
)
def test_a_tar_member_that_reaches_elsewhere_is_refused(member, fault, packed):
    data = tar_with((info("set/a.bin"), b"good"), (member, b""), packed=packed)
    with pytest.raises(UserError, match=f"^`some.tar` holds .*{fault}"):
        read(data)


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "set/../../evil", "..\\evil", "C:/evil"])
def test_a_zip_member_that_reaches_elsewhere_is_refused(name):
    with pytest.raises(UserError, match="outside its folder"):
        read(made.zip_bytes({"set/a.bin": b"good", name: b"bad"}))


def test_a_link_in_a_zip_is_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("set/link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(UserError, match="a link"):
        read(buffer.getvalue())


def test_an_unwanted_member_is_looked_at_all_the_same():
    data = made.tar_bytes({"set/a.bin": b"good", "../evil": b""})
    with pytest.raises(UserError, match="outside"):
        list(members_of(io.BytesIO(data), "x", lambda _: None, most_bytes=10_000))


def test_more_bytes_than_wanted_are_refused_before_they_are_read():
    for data in (made.tar_bytes(FILES), made.zip_bytes(FILES)):
        with pytest.raises(UserError, match=r"b\.bin of 700 bytes where at most 699 belong"):
            read(data, limit=699)
        with pytest.raises(UserError, match=r"would unpack to more than 704 bytes|impossible size"):
            read(data, most_bytes=704)


def test_a_zip_bomb_is_refused_by_its_ratio():
    bomb = made.zip_bytes({"set/a.bin": b"\0" * (2 << 20)})
    with pytest.raises(UserError, match="compressed more than 100 times, as a bomb is"):
        read(bomb, limit=4 << 20, most_bytes=4 << 20)


def test_a_zip_that_lies_about_a_size_is_refused():
    data = bytearray(made.zip_bytes({"a.bin": b"x" * 1000}))
    central = data.index(b"PK\x01\x02")
    data[central + 24 : central + 28] = (10).to_bytes(4, "little")
    with pytest.raises(UserError, match=r"some\.tar"):
        read(bytes(data))


def test_a_tar_header_of_gigabytes_is_not_followed():
    big = info("x", tarfile.GNUTYPE_LONGNAME, size=5 << 30).tobuf(tarfile.GNU_FORMAT)
    with pytest.raises(UserError, match="impossible size"):
        read(big + b"\0" * 2048)


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_negative_size_ends_the_reading(kind):
    header = info("x", kind, size=-512).tobuf(tarfile.GNU_FORMAT)
    with pytest.raises(UserError, match=r"some\.tar"):
        read(tar_with((info("set/a.bin"), b"good"))[:1024] + header + b"\0" * 1024)
