from __future__ import annotations

import pytest
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from connector.errors import CdcError, ErrorKind
from connector.io.kafka.compression import compressor
from connector.record.batch import NO_HEADERS, ProducerState, RecordBatch, encode_headers, encode_records, frame_batch, varint
from tests.support.each_case import each_case

Read = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]], int]
"""Offset, key, value, headers, timestamp."""

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
HEADERS: list[tuple[str, bytes | None]] = [("a", b"1"), ("ümlaut", b""), ("gone", None)]


def framed(batch: RecordBatch, codec: str = "none", state: ProducerState | None = None) -> bytes:
    number, body = compressor(codec).compress(encode_records(batch.records))
    return bytes(frame_batch(batch.records, body, number, state or ProducerState(), calc_crc32c))


def read(data: bytes) -> list[Read]:
    """Kafka's own reading of one batch, checksum included."""
    memory = MemoryRecords(data)
    assert memory.has_next()
    batch = memory.next_batch()
    assert batch is not None
    assert batch.validate_crc()
    rows = [(r.offset, r.key, r.value, [tuple(header) for header in r.headers], r.timestamp) for r in batch]
    assert not memory.has_next()
    return rows


@each_case(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (8191, "fe7f"),
        (8192, "808001"),
        (-8193, "818001"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
        (2**63 - 1, "feffffffffffffffff01"),
        (-(2**63), "ffffffffffffffffff01"),
    ],
)
def test_varint(value: int, encoded: str) -> None:
    assert varint(value).hex() == encoded


@pytest.mark.parametrize("codec", CODECS)
def test_records_read_back_as_they_were_given(codec: str) -> None:
    batch = RecordBatch()
    headers = encode_headers(HEADERS)
    rows: list[tuple[bytes | None, bytes, bytes | None, bytes, int]] = [
        (b"key", b'{"schema":1,', b'"payload":2}' * 200, headers, 1_700_000_000_000),
        (None, b"", b"", NO_HEADERS, 1_700_000_000_001),
        (b"", b"", None, headers, 1_700_000_000_000 - 5),
        (None, b"", None, NO_HEADERS, 1_700_000_000_000 + 2**33),
        (b"k" * 9000, b"p" * 8192, b"v" * 70_000, NO_HEADERS, 1_700_000_000_000 - 9000),
    ]
    for row in rows:
        batch.append(*row)
    assert read(framed(batch, codec)) == [
        (offset, key, None if payload is None else prefix + payload, HEADERS if head == headers else [], timestamp)
        for offset, (key, prefix, payload, head, timestamp) in enumerate(rows)
    ]


@each_case("size", [0, 1, 62, 63, 64, 8190, 8191, 8192, 8193, 20_000])
def test_lengths_around_each_varint_step(size: int) -> None:
    batch = RecordBatch()
    batch.append(b"k" * size, b"p" * size, b"v" * (size // 2), NO_HEADERS, 5)
    batch.append(None, b"", b"v" * size, NO_HEADERS, 5 + size)
    batch.append(b"k" * size, b"", None, NO_HEADERS, 5 - size)
    assert [(key, value, timestamp) for _, key, value, _, timestamp in read(framed(batch))] == [
        (b"k" * size, b"p" * size + b"v" * (size // 2), 5),
        (None, b"v" * size, 5 + size),
        (b"k" * size, None, 5 - size),
    ]


@each_case("codec", CODECS)
@each_case("count", [1, 8192, 8193, 20_000])
def test_more_records_than_small_varints(codec: str, count: int) -> None:
    batch = RecordBatch()
    for number in range(count):
        batch.append(b"%d" % number, b"prefix ", b"value %d" % number, NO_HEADERS, 1000 + number)
    rows = read(framed(batch, codec))
    assert [row[0] for row in rows] == list(range(count))
    assert rows[-1][1:] == (b"%d" % (count - 1), b"prefix value %d" % (count - 1), [], 1000 + count - 1)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.none() | st.binary(max_size=40),
            st.binary(max_size=40),
            st.none() | st.binary(max_size=200),
            st.lists(st.tuples(st.text(max_size=8), st.none() | st.binary(max_size=8)), max_size=3),
            st.integers(-(2**40), 2**44),
        ),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from(CODECS),
)
def test_any_records_read_back(
    rows: list[tuple[bytes | None, bytes, bytes | None, list[tuple[str, bytes | None]], int]], codec: str
) -> None:
    batch = RecordBatch()
    for key, prefix, payload, headers, timestamp in rows:
        batch.append(key, prefix if payload is not None else b"", payload, encode_headers(headers), timestamp)
    assert read(framed(batch, codec)) == [
        (offset, key, None if payload is None else prefix + payload, headers, timestamp)
        for offset, (key, prefix, payload, headers, timestamp) in enumerate(rows)
    ]


@pytest.mark.parametrize("transactional", [False, True])
def test_the_header_names_the_producer(transactional: bool) -> None:
    batch = RecordBatch()
    batch.append(None, b"", b"v", NO_HEADERS, 70)
    batch.append(None, b"", b"v", NO_HEADERS, 90)
    batch.append(None, b"", b"v", NO_HEADERS, 80)
    data = framed(batch, state=ProducerState(2**62, 7, 2**31 - 5, transactional))
    read_back = MemoryRecords(data).next_batch()
    assert read_back is not None
    assert (read_back.producer_id, read_back.producer_epoch, read_back.base_sequence) == (2**62, 7, 2**31 - 5)
    assert read_back.is_transactional is transactional
    assert (read_back.first_timestamp, read_back.max_timestamp) == (70, 90)
    assert int.from_bytes(data[8:12], "big") == len(data) - 12


def test_a_changed_byte_breaks_the_checksum() -> None:
    batch = RecordBatch()
    batch.append(b"k", b"", b"value", NO_HEADERS, 0)
    data = bytearray(framed(batch))
    data[-2] ^= 1
    changed = MemoryRecords(bytes(data)).next_batch()
    assert changed is not None
    assert not changed.validate_crc()


@pytest.mark.parametrize("codec", CODECS)
def test_incompressible_batches_are_sent_uncompressed(codec: str) -> None:
    assert compressor(codec).compress(b"x") == (0, b"x")
    number, packed = compressor(codec).compress(b"x" * 100_000)
    assert (number, len(packed) < 50_000) == (CODECS.index(codec), codec != "none")


@pytest.mark.parametrize("name", ["ZSTD", " lz4 "])
def test_codec_names_are_read_leniently(name: str) -> None:
    assert compressor(name).number == CODECS.index(name.strip().lower())


def test_unknown_codec_is_refused_with_the_choice() -> None:
    with pytest.raises(CdcError) as reported:
        compressor("brotli")
    assert reported.value.kind is ErrorKind.CONFIG_INVALID
    assert "'brotli'" in reported.value.message
    assert all(name in reported.value.remedy for name in CODECS)


def test_size_counts_all_and_weight_what_compression_leaves() -> None:
    batch = RecordBatch()
    batch.append(b"key", b"prefix", b"payload", NO_HEADERS, 0)
    batch.append(None, b"prefix", b"p", NO_HEADERS, 0)
    batch.append(b"key", b"", None, NO_HEADERS, 0)
    assert (batch.size, batch.weight) == (3 + 6 + 7 + 6 + 1 + 3, 3 + 7 + 1 + 3)


@pytest.mark.parametrize("keys", [None, [b"a", b"bb", b"ccc"]])
def test_extend_is_append_for_each(keys: list[bytes] | None) -> None:
    payloads = [b"x", b"", b"yy"]
    one, many = RecordBatch(), RecordBatch()
    for number, payload in enumerate(payloads):
        one.append(None if keys is None else keys[number], b"prefix", payload, b"\0", 9)
    many.extend(keys, b"prefix", payloads, b"\0", 9)
    assert (many.records, many.size, many.weight) == (one.records, one.size, one.weight)
