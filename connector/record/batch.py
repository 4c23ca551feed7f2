"""Kafka record batches, format v2 (KIP-98; "Record Batch" in Kafka's protocol guide), built from prepared pieces.

aiokafka's builder copies each record twice, encodes its headers each time, and compresses lz4 at level 9. That takes 21 µs for a 4 KB event
with Debezium's four headers. Here a record is a few list appends: the constant schema text and headers are shared, and all pieces are
joined once for each batch. That takes 1.3 µs, plus 1.1 µs for zstd at level 1. aiokafka still implements the protocol:
``AIOKafkaProducer.send_batch`` sends the batch (:mod:`connector.io.kafka.sink`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
"""baseOffset batchLength partitionLeaderEpoch magic crc attributes lastOffsetDelta baseTimestamp maxTimestamp
producerId producerEpoch baseSequence recordCount."""
_LENGTH_FROM: Final = 12
_CRC_FROM: Final = 21
_CRC_AT: Final = 17
_TRANSACTIONAL: Final = 0x10


def varint(value: int) -> bytes:
    """Return a zigzag varint, as in record bodies."""
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_SMALL: Final = 8192
_VARINTS: Final = tuple(varint(n) for n in range(_SMALL))
_NULL: Final = varint(-1)
NO_HEADERS: Final = varint(0)


def _size(length: int) -> bytes:
    return _VARINTS[length] if length < _SMALL else varint(length)


def encode_headers(headers: Sequence[tuple[str, bytes | None]]) -> bytes:
    """Return a record's encoded headers with their count."""
    return varint(len(headers)) + b"".join(_header(name, value) for name, value in headers)


class HeaderWriter:
    """Encodes headers whose names are the same in each record, after some that are the same altogether. 0.4 µs for three, not 1.2 µs."""

    __slots__ = ("_lead", "_names")

    def __init__(self, same: Sequence[tuple[str, bytes | None]], names: Sequence[str]) -> None:
        self._lead = varint(len(same) + len(names)) + b"".join(_header(name, value) for name, value in same)
        self._names = [_sized(name.encode()) for name in names]

    def written(self, values: Sequence[bytes | None]) -> bytes:
        """Return a record's encoded headers; ``values`` are those of the names, in their order."""
        out = [self._lead]
        for name, value in zip(self._names, values, strict=True):
            out += (name, _NULL) if value is None else (name, _size(len(value)), value)
        return b"".join(out)

    def all_written(self, columns: Sequence[Sequence[bytes | None]]) -> list[bytes]:
        """Do :meth:`written` for each record; ``columns`` are the values of each name, one for each record."""
        parts = [
            [name + _NULL if value is None else name + _size(len(value)) + value for value in column]
            for name, column in zip(self._names, columns, strict=True)
        ]
        return [b"".join(pieces) for pieces in zip(repeat(self._lead), *parts, strict=False)]


def _sized(data: bytes) -> bytes:
    return _size(len(data)) + data


def _header(name: str, value: bytes | None) -> bytes:
    return _sized(name.encode()) + (_NULL if value is None else _sized(value))


def read_headers(encoded: bytes) -> list[tuple[str, bytes | None]]:
    """Return the headers that :func:`encode_headers` encoded."""
    count, at = _read_varint(encoded, 0)
    found: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        size, at = _read_varint(encoded, at)
        name = encoded[at : at + size].decode()
        size, at = _read_varint(encoded, at + size)
        found.append((name, None if size < 0 else encoded[at : at + size]))
        at += max(size, 0)
    return found


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The zigzag varint at ``at``, and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7


Record = tuple[bytes | None, bytes, bytes | None, bytes, int]
"""Key, the value's constant prefix, the rest of the value (None: a tombstone), encoded headers, timestamp in ms."""


class RecordBatch:
    """Records of one topic partition that wait to be sent together."""

    __slots__ = ("records", "size", "weight")

    def __init__(self, records: list[Record] | None = None) -> None:
        self.records: list[Record] = [] if records is None else records
        self.size = 0
        """Bytes of keys and values."""
        self.weight = 0
        """Bytes of keys and values without the constant prefixes, of which compression leaves almost nothing."""

    def append(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        """Add one record whose value is ``prefix + payload``. There is no limit: the caller compares ``size`` and ``weight`` with one."""
        self.records.append((key, prefix, payload, headers, timestamp))
        weight = len(payload) if payload is not None else 0
        if key is not None:
            weight += len(key)
        self.weight += weight
        self.size += weight + len(prefix)

    def extend(self, keys: Sequence[bytes] | None, prefix: bytes, payloads: Sequence[bytes], headers: bytes, timestamp: int) -> None:
        """Do :meth:`append` for each payload. ``keys`` are the keys in the same order, or None for records without keys."""
        weight = sum(map(len, payloads))
        if keys is not None:
            weight += sum(map(len, keys))
        self.weight += weight
        self.size += weight + len(prefix) * len(payloads)
        every_key: Iterable[bytes | None] = repeat(None) if keys is None else keys
        self.records.extend(zip(every_key, repeat(prefix), payloads, repeat(headers), repeat(timestamp), strict=False))

    def add(self, records: Sequence[Record]) -> None:
        """Do :meth:`append` for each record."""
        self.records += records
        weight = size = 0
        for key, prefix, payload, _, _ in records:
            if payload is not None:
                weight += len(payload)
            if key is not None:
                weight += len(key)
            size += len(prefix)
        self.weight += weight
        self.size += weight + size

    def join(self, later: RecordBatch) -> None:
        """Add all records of ``later`` after these."""
        self.records += later.records
        self.size += later.size
        self.weight += later.weight


def encode_records(records: Sequence[Record]) -> bytes:
    """Return the encoded records of a batch. Timestamps are relative to the first record's."""
    base = records[0][4]
    parts: list[bytes] = []
    for offset, (key, prefix, payload, headers, timestamp) in enumerate(records):
        delta = timestamp - base
        head = (
            b"\0" + (_VARINTS[delta] if 0 <= delta < _SMALL else varint(delta)) + (_VARINTS[offset] if offset < _SMALL else varint(offset))
        )
        if key is None:
            head += _NULL
        else:
            size = len(key)
            head += (_VARINTS[size] if size < _SMALL else varint(size)) + key
        if payload is None:
            head += _NULL
            total = len(head) + len(headers)
            parts += (_VARINTS[total] if total < _SMALL else varint(total), head, headers)
        else:
            size = len(prefix) + len(payload)
            head += _VARINTS[size] if size < _SMALL else varint(size)
            total = len(head) + size + len(headers)
            parts += (_VARINTS[total] if total < _SMALL else varint(total), head, prefix, payload, headers)
    return b"".join(parts)


@dataclass(frozen=True, slots=True)
class ProducerState:
    """The fields that make a producer's batches idempotent (KIP-98); all are -1 without idempotence."""

    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False


def frame_batch(records: Sequence[Record], body: bytes, codec: int, state: ProducerState, crc32c: Callable[[bytes], int]) -> bytearray:
    """Return the complete batch: a header and ``body``, the encoded records compressed by Kafka's codec number ``codec`` (0: none)."""
    out = bytearray(HEADER.size)
    out += body
    count = len(records)
    base = records[0][4]
    HEADER.pack_into(
        out,
        0,
        0,
        len(out) - _LENGTH_FROM,
        -1,
        2,
        0,
        codec | (_TRANSACTIONAL if state.transactional else 0),
        count - 1,
        base,
        max(record[4] for record in records),
        state.producer_id,
        state.producer_epoch,
        state.base_sequence,
        count,
    )
    struct.pack_into(">I", out, _CRC_AT, crc32c(bytes(memoryview(out)[_CRC_FROM:])))
    return out
