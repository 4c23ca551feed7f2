"""The comparison of a rehearsal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from workers.cli.takeover.comparison import Comparison, Difference, Sample
from workers.cli.takeover.comparison import compare as compare_as
from workers.cli.takeover.reader_fields import ReaderFields


def compare(here: Sequence[Sample], connect: Sequence[Sample], reader: ReaderFields = ReaderFields()) -> Comparison:  # noqa: B008 (frozen)
    return compare_as(here, connect, reader)


def change(key: int, lsn: int, tx: int = 1, *, schema: bool = False, headers: tuple[tuple[str, bytes], ...] = (), **members: Any) -> Sample:
    source = {"lsn": lsn, "txId": tx, "sequence": f'["{lsn}"]', "table": "t"}
    value: Any = {"op": "u", "after": {"id": key, "name": "x"}, "source": source, "ts_ms": lsn, **members}
    if schema:
        value = {"schema": {"type": "struct"}, "payload": value}
    return Sample("s.t", json.dumps({"id": key}).encode(), json.dumps(value).encode(), headers)


def test_the_same_change_read_by_two_is_equal() -> None:
    other = json.loads(change(1, 10).value or b"")
    other["ts_ms"], other["source"]["sequence"] = 99, "[null]"
    connect = Sample("s.t", b'{"id":1}', json.dumps(other).encode(), (("__debezium.context.runId", b"2"),))
    found = compare([change(1, 10, headers=(("__debezium.context.runId", b"1"),))], [connect])
    assert (found.agrees, found.equal) == (True, 1)


def test_a_column_that_differs_is_named() -> None:
    found = compare([change(1, 10)], [change(1, 10, after={"id": 1, "name": "y"})])
    assert found.different == [Difference("s.t", {"id": 1}, "value.after.name", "x", "y")]
    assert (found.agrees, found.equal) == (False, 0)


def test_schemas_and_headers_are_compared() -> None:
    ours, theirs = change(1, 10, schema=True, headers=(("h", b"1"),)), change(1, 10, schema=True)
    theirs = Sample(theirs.topic, theirs.key, (theirs.value or b"").replace(b"struct", b"map"), ())
    assert [one.path for one in compare([ours], [theirs]).different] == ["value.schema", "headers.h"]


@pytest.mark.parametrize(
    ("here", "connect"),
    [(True, 1), (1.0, 1), (0.0, -0.0), ({"x": None}, {}), ({}, {"x": None}), ([True], [1]), ({"a": [{"x": None}]}, {"a": [{}]})],
)
def test_what_python_takes_for_the_same_differs(here: Any, connect: Any) -> None:
    found = compare([change(1, 10, after=here)], [change(1, 10, after=connect)])
    assert len(found.different) == 1
    json.dumps(found.different[0].as_json())


def test_schemas_differ_by_types_too() -> None:
    ours = Sample("s.t", b"1", change(1, 10, schema=True).value)
    theirs = Sample("s.t", b"1", (ours.value or b"").replace(b'"struct"', b"1"))
    ours = Sample("s.t", b"1", (ours.value or b"").replace(b'"struct"', b"true"))
    assert [one.path for one in compare([ours], [theirs]).different] == ["value.schema"]


def test_an_absent_member_is_not_null() -> None:
    [one] = compare([change(1, 10, after={"x": None})], [change(1, 10, after={})]).different
    assert one.as_json() == {"topic": "s.t", "key": {"id": 1}, "path": "value.after.x", "here": None}


@pytest.mark.parametrize(
    ("connect", "path"),
    [
        ((("h", b"1"),), "headers.h"),
        ((("h", b"2"), ("h", b"1"), ("i", b"")), "headers.h"),
        ((("h", b"1"), ("i", b""), ("h", b"2")), "headers"),
        ((("h", b"1"), ("h", b"\xff"), ("i", b"")), "headers.h"),
    ],
)
def test_headers_are_a_list(connect: tuple[tuple[str, bytes], ...], path: str) -> None:
    headers = (("h", b"1"), ("h", b"2"), ("i", b""))
    assert compare([change(1, 10, headers=headers)], [change(1, 10, headers=headers)]).agrees
    assert compare([change(1, 10, headers=headers)], [change(1, 10, headers=connect)]).different[0].path == path


def test_a_text_is_not_a_string_of_json_and_null_is_no_tombstone() -> None:
    found = compare([Sample("s.t", b"k", None)], [Sample("s.t", b'"k"', b"null")])
    assert [(one.path, one.here, one.connect) for one in found.different] == [("key", "k", '"k"'), ("value", None, "null")]


def test_what_only_one_side_has() -> None:
    here = [change(1, 10, 1), change(2, 20, 2), change(3, 30, 3)]
    found = compare(here, [change(1, 10, 1), change(9, 15, 1), change(2, 20, 2), change(8, 35, 3), change(7, 40, 4)])
    assert found.missing == [here[2]]
    # Of the last transaction more may follow here, and later ones were not read here.
    assert found.additional == [change(9, 15, 1)]


def test_tombstones_and_flat_rows_are_known_by_their_values() -> None:
    flat, tombstone = Sample("s.t", b"1", b'{"id":1}'), Sample("s.t", b"1", None)
    assert compare([flat, tombstone], [Sample("s.t", b"1", b'{ "id": 1 }'), tombstone]).agrees
    found = compare([tombstone, tombstone], [tombstone])
    assert (found.equal, found.missing) == (1, [tombstone])


def test_text_is_compared_too() -> None:
    assert compare([Sample("s.t", b"k", b"text")], [Sample("s.t", b"k", b"text")]).agrees
    assert compare([Sample("s.t", b"k", b"text")], [Sample("s.t", b"k", b"\xff")]).missing


def test_the_reader_s_time_in_a_flat_row_is_not_compared() -> None:
    """ExtractNewRecordState gives it a name of its own; the source's time is the same for both."""
    config = {
        "transforms": "route,unwrap",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.unwrap.add.fields": "op, ts_ms,source.ts_ms:at,ts_us:read,source.sequence",
        "transforms.unwrap.add.headers": "ts_ns,op",
        "transforms.unwrap.add.headers.prefix": "h_",
    }
    reader = ReaderFields.of(config)
    assert reader.members - ReaderFields().members == {"__ts_ms", "__read", "__source_sequence"}
    assert reader.headers == {"h_ts_ns"}

    def flat(read: int, at: int = 5) -> Sample:
        value = {"id": 1, "__ts_ms": read, "__at": at}
        return Sample("s.t", b"1", json.dumps(value).encode(), (("h_ts_ns", str(read).encode()),))

    assert compare([flat(1)], [flat(2)], reader).agrees
    assert not compare([flat(1)], [flat(2)]).agrees
    assert compare([flat(1)], [flat(1, at=6)], reader).missing == [flat(1)]
