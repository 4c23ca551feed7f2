"""What people read of a record."""

from __future__ import annotations

import json
import re

import pytest

from workers.records.event_view import LONGEST, TOO_DEEP, ColumnView, EventView, event_view

SECRET = re.compile("token", re.IGNORECASE)
SOURCE = {"schema": "public", "table": "orders"}


def view(value: object, key: object = None) -> EventView:
    return event_view(None if key is None else json.dumps(key).encode(), json.dumps(value).encode(), SECRET)


def event(op: str, before: object, after: object, source: object = SOURCE) -> dict[str, object]:
    return {"op": op, "before": before, "after": after, "source": source}


def test_an_update_shows_what_changed() -> None:
    shown = view(event("u", {"id": 1, "a": "x", "b": None}, {"id": 1, "a": "y", "b": None}), {"id": 1})
    assert (shown.word, shown.table, shown.key) == ("update", "public.orders", "id=1")
    assert shown.columns == [
        ColumnView("id", "1", "1", "same"),
        ColumnView("a", '"x"', '"y"', "changed"),
        ColumnView("b", "null", "null", "same"),
    ]


def test_an_update_without_its_old_row_claims_no_change() -> None:
    assert view(event("u", None, {"id": 1})).columns == [ColumnView("id", "", "1", "present")]


@pytest.mark.parametrize(
    ("op", "word", "before", "after", "column"),
    [
        ("c", "create", None, {"id": 1}, ColumnView("id", "", "1", "added")),
        ("r", "read", None, {"id": 1}, ColumnView("id", "", "1", "present")),
        ("d", "delete", {"id": 1}, None, ColumnView("id", "1", "", "removed")),
    ],
)
def test_other_operations(op: str, word: str, before: object, after: object, column: ColumnView) -> None:
    shown = view(event(op, before, after))
    assert (shown.word, list(shown.columns)) == (word, [column])


def test_a_truncate_has_no_columns() -> None:
    assert view(event("t", None, None)) == EventView("truncate", "public.orders", "", [])


def test_a_tombstone_has_only_its_key() -> None:
    assert event_view(b'{"id":7}', None, SECRET) == EventView("tombstone", "", "id=7", ())


@pytest.mark.parametrize("value", [event("c", None, {"id": 1}), {"schema": {"type": "struct"}, "payload": event("c", None, {"id": 1})}])
def test_the_schema_is_left_out(value: object) -> None:
    assert view(value).columns == [ColumnView("id", "", "1", "added")]


def test_a_row_without_an_envelope_is_shown_as_it_is() -> None:
    assert view({"id": 1, "op": "x"}) == EventView(
        "record", "", "", [ColumnView("id", "", "1", "present"), ColumnView("op", "", '"x"', "present")]
    )


@pytest.mark.parametrize(("value", "note"), [(b"\0\1\2", "3 bytes that are not JSON"), (b"[1]", "[1]"), (b'"text"', '"text"')])
def test_other_values_are_named(value: bytes, note: str) -> None:
    assert event_view(None, value, SECRET) == EventView("record", "", "", (), note)


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        (b"plain text", "plain text"),
        ("größe".encode(), "größe"),
        (b"Struct{id=7,token=k1}", "[hidden]"),
        (b"\0\0\0\0\1\4k1", "8 bytes that are not JSON"),
        (b"k1\xff", "3 bytes that are not JSON"),
        (b'[{"token": "k1"}]', '[{"token": "[hidden]"}]'),
        (b'{"row": {"token": "k1", "id": 7}}', 'row={"token": "[hidden]", "id": 7}'),
    ],
)
def test_a_key_of_other_converters_and_forms(key: bytes, shown: str) -> None:
    assert event_view(key, None, SECRET).key == shown


def test_hidden_columns_are_hidden_on_every_level() -> None:
    cloud = view({"id": "1", "data": {"payload": event("c", None, [{"id": 1, "token": "k1"}])}})
    nested = view(event("c", None, {"row": {"token": {"k": "k1"}}}))
    assert "k1" not in str(cloud)
    assert '"token": "[hidden]"' in cloud.columns[1].after
    assert nested.columns == [ColumnView("row", "", '{"token": "[hidden]"}', "added")]


def test_a_value_of_many_levels_is_named() -> None:
    [column] = event_view(None, b'{"a":' + b"[" * 1000 + b"]" * 1000 + b"}", SECRET).columns
    assert column.after == "JSON of too many levels"


def test_hidden_columns_show_that_they_changed_and_nothing_else() -> None:
    shown = view(event("u", {"API_TOKEN": "k1"}, {"API_TOKEN": "k2"}), {"token": "k1"})
    assert (shown.key, list(shown.columns)) == ("token=[hidden]", [ColumnView("API_TOKEN", "[hidden]", "[hidden]", "changed")])
    assert view(event("c", None, {"token": "k"})).columns == [ColumnView("token", "", "[hidden]", "added")]


def test_long_values_are_cut() -> None:
    [column] = view({"a": "x" * 1000}).columns
    assert column.after == '"' + "x" * (LONGEST - 1) + "… (1002 characters)"


def test_a_column_of_a_thousand_levels_leaves_the_others_as_they_are() -> None:
    deep = b"[" * 1000 + b"]" * 1000
    row = b'{"a":%b,"b":%b}'
    value = b'{"op":"u","source":{"schema":"s","table":"t"},"before":%b,"after":%b}' % (row % (deep, b"1"), row % (deep, b"2"))
    assert event_view(None, value, SECRET).columns == [
        ColumnView("a", TOO_DEEP, TOO_DEEP, "same"),
        ColumnView("b", "1", "2", "changed"),
    ]
