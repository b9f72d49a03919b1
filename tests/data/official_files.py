"""Small files in the layouts of the official data sets, written byte by byte.

Every pixel follows one formula, so a test can say what belongs at (image, row, column, channel)
without going through any reader.
"""

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np

BATCHES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5")


def pixel(image: int, row: int, column: int, channel: int) -> int:
    return (31 * image + 7 * row + 3 * column + 101 * channel) % 256


def images(first: int, count: int, side: int = 32, channels: int = 3) -> np.ndarray:
    """(count, side, side, channels) of `pixel`, numbering images from `first`."""
    index = np.indices((count, side, side, channels))
    return ((31 * (index[0] + first) + 7 * index[1] + 3 * index[2] + 101 * index[3]) % 256).astype(
        np.uint8
    )


def planes(image: int, side: int = 32) -> bytes:
    """Red, green and blue planes, row by row."""
    places = ((row, column) for row in range(side) for column in range(side))
    places = list(places)
    return bytes(pixel(image, row, column, c) for c in range(3) for row, column in places)


def cifar_records(first: int, labels: list[tuple[int, ...]]) -> bytes:
    return b"".join(bytes(label) + planes(first + i) for i, label in enumerate(labels))


def cifar10_files(records: int = 2) -> dict[str, bytes]:
    """Image i of the set has label i mod 10."""
    names = [f"{name}.bin" for name in (*BATCHES, "test_batch")]
    return {
        name: cifar_records(part * records, [((part * records + i) % 10,) for i in range(records)])
        for part, name in enumerate(names)
    }


def cifar100_files(records: int = 2) -> dict[str, bytes]:
    """Image i has coarse label i mod 20 and fine label 99 - i."""
    labels = [(i % 20, 99 - i) for i in range(6 * records)]
    return {
        "train.bin": cifar_records(0, labels[: 5 * records]),
        "test.bin": cifar_records(5 * records, labels[5 * records :]),
    }


def short(text: bytes) -> bytes:
    return b"U" + bytes([len(text)]) + text


def pickled_batch(first: int, labels: list[int], key: bytes = b"labels", **change: bytes) -> bytes:
    """A batch as Python 2 and an old NumPy wrote it, protocol 2, operation by operation."""
    rows = len(labels)
    pixels = change.get("pixels", b"".join(planes(first + i) for i in range(rows)))
    dtype = change.get("dtype", b"u1")
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04K\x00\x85q\x05"
        + short(b"b") + b"q\x06\x87q\x07Rq\x08(K\x01K" + bytes([rows]) + b"M\x00\x0c\x86q\x09"
        + b"cnumpy\ndtype\nq\x0a" + short(dtype) + b"q\x0bK\x00K\x01\x87q\x0cRq\x0d"
        + b"(K\x03" + short(b"|") + b"q\x0eNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x0fb\x89"
        + b"T" + struct.pack("<I", len(pixels)) + pixels + b"q\x10tq\x11b"
    )  # fmt: skip
    numbers = b"](" + b"".join(b"J" + struct.pack("<i", label) for label in labels) + b"e"
    names = b"](" + b"".join(short(b"image_%d.png" % i) for i in range(rows)) + b"e"
    items = short(b"data") + array + short(key) + numbers + short(b"filenames") + names
    return b"\x80\x02}q\x01(" + items + b"u."


def cifar10_python_files(records: int = 2) -> dict[str, bytes]:
    return {
        name: pickled_batch(part * records, [(part * records + i) % 10 for i in range(records)])
        for part, name in enumerate((*BATCHES, "test_batch"))
    }


def cifar100_python_files(records: int = 2) -> dict[str, bytes]:
    labels = [99 - i for i in range(6 * records)]
    return {
        "train": pickled_batch(0, labels[: 5 * records], b"fine_labels"),
        "test": pickled_batch(5 * records, labels[5 * records :], b"fine_labels"),
    }


def stl10_files(labels: tuple[int, ...] = tuple(range(1, 11))) -> dict[str, bytes]:
    """Planes column by column: the row runs fastest."""
    data = bytearray()
    for image in range(len(labels)):
        for channel in range(3):
            for column in range(96):
                data += bytes(pixel(image, row, column, channel) for row in range(96))
    return {"test_X.bin": bytes(data), "test_y.bin": bytes(labels)}


def npy(array: np.ndarray | bytes, descr: str = "", shape: str = "") -> bytes:
    """Version 1.0 of NumPy's format, its header written out."""
    if isinstance(array, np.ndarray):
        descr, shape, array = array.dtype.str, str(array.shape), array.tobytes()
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(-(len(header) + 11) % 64 + len(header)) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + array


def balanced_labels(per_class: int, dtype: str) -> np.ndarray:
    return np.arange(10 * per_class).astype(dtype) % 10


def cifar101_files(per_class: int = 1) -> dict[str, bytes]:
    return {
        "cifar10.1_v6_data.npy": npy(images(0, 10 * per_class)),
        "cifar10.1_v6_labels.npy": npy(balanced_labels(per_class, "<i4")),
    }


def cifar102_members(per_class: int = 1) -> dict[str, bytes]:
    return {
        "images.npy": npy(images(0, 10 * per_class)),
        "labels.npy": npy(balanced_labels(per_class, "<i8")),
        "label_names.npy": npy(b"\0" * 40, "<U10", "(1,)"),
    }


def cifar10c_files(names: tuple[str, ...], records: int = 2) -> dict[str, bytes]:
    """Corruption k holds images numbered from 1000 k on."""
    files = {f"{name}.npy": npy(images(1000 * k, 5 * records)) for k, name in enumerate(names)}
    return files | {"labels.npy": npy(np.arange(5 * records, dtype=np.uint8) % records)}


def mat_element(kind: int, data: bytes, order: str = "<") -> bytes:
    if len(data) <= 4:  # the short form: length and type share four bytes
        tag = struct.pack(order + "I", len(data) << 16 | kind)
        return tag + data.ljust(4, b"\0")
    return struct.pack(order + "II", kind, len(data)) + data + b"\0" * (-len(data) % 8)


def mat_matrix(name: bytes, array_class: int, shape: tuple[int, ...], kind: int, data: bytes):
    body = mat_element(6, struct.pack("<II", array_class, 0))
    body += mat_element(5, struct.pack(f"<{len(shape)}i", *shape))
    body += mat_element(1, name) + mat_element(kind, data)
    return mat_element(14, body)


def mat_file(*matrices: bytes, packed: bool = True) -> bytes:
    head = b"MATLAB 5.0 MAT-file, made for a test".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    if packed:
        streams = [zlib.compress(matrix) for matrix in matrices]
        matrices = tuple(struct.pack("<II", 15, len(s)) + s for s in streams)
    return head + b"".join(matrices)


def svhn_file(labels: tuple[int, ...] = (1, 10, 9), *, packed: bool = True) -> bytes:
    """X is 32 x 32 x 3 x n, the row running fastest."""
    data = bytes(
        pixel(image, row, column, channel)
        for image in range(len(labels))
        for channel in range(3)
        for column in range(32)
        for row in range(32)
    )
    return mat_file(
        mat_matrix(b"X", 9, (32, 32, 3, len(labels)), 2, data),
        mat_matrix(b"y", 9, (len(labels), 1), 2, bytes(labels)),
        packed=packed,
    )


def idx(array: np.ndarray) -> bytes:
    lengths = b"".join(struct.pack(">I", side) for side in array.shape)
    return bytes([0, 0, 8, array.ndim]) + lengths + array.tobytes()


def idx_files(records: int = 1, *, packed: bool = False) -> dict[str, bytes]:
    """Image i has label i mod 10."""
    files = {}
    for part, first, rows in (("train", 0, 6 * records), ("t10k", 6 * records, records)):
        labels = (np.arange(first, first + rows) % 10).astype(np.uint8)
        files[f"{part}-images-idx3-ubyte"] = idx(images(first, rows, 28, 1)[..., 0])
        files[f"{part}-labels-idx1-ubyte"] = idx(labels)
    if packed:
        files = {f"{name}.gz": gzip.compress(data, mtime=0) for name, data in files.items()}
    return files


def png(pixels: np.ndarray) -> bytes:
    """A PNG written chunk by chunk."""
    height, width = pixels.shape[:2]
    colour = 2 if pixels.ndim == 3 else 0
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def lsun_files(records: int = 3) -> dict[str, bytes]:
    return {f"LSUN_resize/{i}.png": png(images(i, 1)[0]) for i in range(records)}


WNIDS = ("n02", "n01", "n03")  # in the order of wnids.txt, which is not sorted


def tinyimagenet_files(per_class: int = 4, records: int = 3) -> dict[str, bytes]:
    """Training image i of the class at place k in wnids.txt is image 100 k + i."""
    files = {"wnids.txt": "".join(f"{wnid}\n" for wnid in WNIDS).encode()}
    for k, wnid in enumerate(WNIDS):
        for i in range(per_class):
            files[f"train/{wnid}/images/{wnid}_{i}.JPEG"] = png(images(100 * k + i, 1, 64)[0])
        files[f"train/{wnid}/{wnid}_boxes.txt"] = b"boxes are not read\n"
    lines = ""
    for i in range(records):
        files[f"val/images/val_{i}.JPEG"] = png(images(900 + i, 1, 64)[0])
        lines += f"val_{i}.JPEG\t{WNIDS[i % 3]}\t0\t0\t63\t63\n"
    files["val/val_annotations.txt"] = lines.encode()
    files["test/images/test_0.JPEG"] = b"not read"
    return files


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def tar_bytes(files: dict[str, bytes], prefix: str = "", *, packed: bool = True) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz" if packed else "w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def zip_bytes(files: dict[str, bytes], prefix: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(prefix + name, data)
    return buffer.getvalue()
