"""The comparison of a rehearsal."""

from __future__ import annotations

import json
from typing import Any

from workers.cli.takeover.comparison import Difference, Sample, compare


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
