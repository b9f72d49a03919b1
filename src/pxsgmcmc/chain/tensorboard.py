"""Scalars for TensorBoard, written in its event format without its packages.

An event file is a row of records: length (8 bytes), its checksum, an `Event` message, its checksum.
"""

import os
import struct
import time
from pathlib import Path

from pxsgmcmc.store.files import writing


class EventWriter:
    """Appends scalars to a new event file in a folder.

    Example:
      >>> import tempfile
      >>> writer = EventWriter(tempfile.mkdtemp())
      >>> writer.scalars(10, {"energy": 1.5})
      >>> writer.close()
    """

    def __init__(self, folder: str | Path):
        self._folder = Path(folder)
        name = f"events.out.tfevents.{time.time_ns() // 1_000_000:013}.{os.getpid()}.pxsgmcmc"
        with writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = open(self._folder / name, "ab", buffering=0)
        self._write(_double(1, time.time()) + _bytes(3, b"brain.Event:2"))

    def scalars(self, step: int, values: dict[str, float]) -> None:
        """One value per tag at one step."""
        summary = b"".join(
            _bytes(1, _bytes(1, tag.encode()) + _float(2, value)) for tag, value in values.items()
        )
        self._write(_double(1, time.time()) + _integer(2, step) + _bytes(5, summary))

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def _write(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        with writing(self._folder):
            self._file.write(length + _checksum(length) + event + _checksum(event))


# Protocol-buffer fields: a number shifted by three, with the kind in the low bits, then the value.


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _integer(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _float(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def _checksum(data: bytes) -> bytes:
    """CRC-32C, rotated and offset as the format asks."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
