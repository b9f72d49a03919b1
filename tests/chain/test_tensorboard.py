"""Event files, read back by a parser of their own."""

import struct

import numpy as np

from pxsgmcmc.chain.tensorboard import EventWriter, _checksum
from tests.chain.test_sample import run


def records(data):
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        assert data[8:12] == _checksum(data[:8])
        body = data[12 : 12 + length]
        assert data[12 + length : 16 + length] == _checksum(body)
        yield body
        data = data[16 + length :]


def fields(message):
    """Field number -> values, of a protocol-buffer message."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            value = varint()
        else:
            size = {1: 8, 2: None, 5: 4}[kind]
            size = varint() if size is None else size
            value, at = message[at : at + size], at + size
        found.setdefault(tag >> 3, []).append(value)
    return found


def scalars(path):
    found = {}
    for record in records(path.read_bytes()):
        event = fields(record)
        for summary in event.get(5, []):
            for value in fields(summary)[1]:
                inner = fields(value)
                tag, number = inner[1][0].decode(), struct.unpack("<f", inner[2][0])[0]
                found.setdefault(tag, []).append((event[2][0], number))
    return found


def test_the_checksum_is_masked_crc32c():
    # CRC-32C of "123456789" is 0xE3069283 (RFC 3720); the mask rotates by 15 and adds a constant.
    crc = 0xE3069283
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert _checksum(b"123456789") == struct.pack("<I", masked)


def test_scalars_come_back_as_they_were_written(tmp_path):
    writer = EventWriter(tmp_path)
    writer.scalars(7, {"energy": 1.5, "temperature/base": -2.0})
    writer.scalars(300_000, {"energy": float("inf")})
    writer.close()
    (path,) = tmp_path.iterdir()
    found = scalars(path)
    assert found["energy"] == [(7, 1.5), (300_000, np.inf)]
    assert found["temperature/base"] == [(7, -2.0)]


def test_a_chain_writes_its_energy_and_temperatures(tmp_path):
    run(tensorboard=tmp_path / "events")
    (path,) = (tmp_path / "events").iterdir()
    found = scalars(path)
    assert {"energy", "step_size", "temperature/base", "temperature/factors"} <= set(found)
    assert found["energy"][-1][0] == 30
