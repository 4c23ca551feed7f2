"""What all change events have."""

from __future__ import annotations

from typing import Any

import pytest

from workers.records.change_event import ColumnChange, changes, is_event, operation, payload, row_changes, table_of


@pytest.mark.parametrize("value", [{"a": 1}, {"schema": 1, "payload": 2, "more": 3}, None, "text", [1]])
def test_a_value_without_its_schema_is_its_own_payload(value: Any) -> None:
    assert payload(value) == value


def test_the_schema_is_left_out() -> None:
    assert payload({"schema": None, "payload": {"a": 1}}) == {"a": 1}


@pytest.mark.parametrize("value", [None, 1, {"op": "c"}, {"op": "c", "source": None}, {"source": {}}])
def test_other_values_are_no_events(value: Any) -> None:
    assert not is_event(value)


def test_an_operation_has_a_word_and_an_unknown_one_is_itself() -> None:
    assert [operation({"op": op}) for op in ("c", "u", "d", "r", "t", "m", "x")] == [
        *("create", "update", "delete", "read", "truncate", "message"),
        "x",
    ]


@pytest.mark.parametrize(
    ("source", "table"), [({"schema": "s", "table": "t"}, "s.t"), ({"schema": "", "table": ""}, ""), ({"table": "t"}, "t")]
)
def test_table_of_what_the_source_names(source: dict[str, str], table: str) -> None:
    assert table_of({"source": source}) == table


def kinds(before: object, after: object) -> dict[str, str]:
    return {change.name: change.kind for change in changes(before, after)}


def test_columns_come_in_the_order_of_the_new_row() -> None:
    assert kinds({"gone": 1, "a": 1, "b": 1}, {"new": 1, "b": 2, "a": 1}) == {
        "new": "added",
        "b": "changed",
        "a": "same",
        "gone": "removed",
    }


@pytest.mark.parametrize(("before", "after", "kind"), [(None, {"a": 1}, "present"), ({"a": 1}, None, "removed"), ({}, {"a": 1}, "added")])
def test_a_missing_side(before: object, after: object, kind: str) -> None:
    assert kinds(before, after) == {"a": kind}


def test_only_a_created_row_is_new_without_an_old_one() -> None:
    row = {"before": None, "after": {"a": 1}}
    assert list(row_changes({"op": "c", **row})) == [ColumnChange("a", None, 1, "added")]
    assert list(row_changes({"op": "u", **row})) == [ColumnChange("a", None, 1, "present")]


def deep(inner: object) -> object:
    """A value of more levels than Python compares."""
    for _ in range(1000):
        inner = [{"a": inner}]
    return inner


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (deep(1), deep(1), "same"),
        (deep(1), deep(2), "changed"),
        (deep([1]), deep([1, 2]), "changed"),
        (deep({"b": 1}), deep({"c": 1}), "changed"),
        (deep([1]), deep({"c": 1}), "changed"),
    ],
)
def test_values_of_many_levels_are_compared(before: object, after: object, kind: str) -> None:
    assert kinds({"x": before, "y": 1}, {"x": after, "y": 2}) == {"x": kind, "y": "changed"}
