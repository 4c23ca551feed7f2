"""Events as people read them."""

from __future__ import annotations

from typing import Any

import pytest

from workers.cli.records.event_text import lines

AT = 1_795_242_511_502
SOURCE = {"schema": "public", "table": "t", "lsn": 42}


def shown(key: Any, value: Any) -> list[str]:
    return [line.text for line in lines("shop.t-0@7", AT, key, value)]


def event(op: str, before: object, after: object) -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "source": SOURCE}


def test_an_update_shows_what_changed() -> None:
    found = event("u", {"id": 1, "name": "a", "x": 1}, {"id": 1, "name": "b", "x": 1, "new": None})
    assert shown({"id": 1}, found) == [
        "06:28:31.502 update public.t id=1  lsn 42  shop.t-0@7",
        '  ~ name: "a" → "b"',
        "  + new: null",
    ]


def test_an_update_without_the_former_row_shows_the_row() -> None:
    assert shown({"id": 1}, event("u", None, {"id": 1}))[1:] == ["    id: 1"]


def test_rows_come_and_go() -> None:
    assert shown({"id": 1}, event("c", None, {"id": 1})) == ["06:28:31.502 create public.t id=1  lsn 42  shop.t-0@7", "  + id: 1"]
    assert shown({"id": 1}, event("d", {"id": 1}, None))[1:] == ["  - id: 1"]
    assert shown(None, event("t", None, None)) == ["06:28:31.502 truncate public.t   lsn 42  shop.t-0@7"]
    assert shown({"id": 1}, None) == ["06:28:31.502 tombstone id=1  shop.t-0@7"]


@pytest.mark.parametrize(
    ("timestamp", "time"),
    [(0, "00:00:00.000"), (-1, "23:59:59.999"), (253_402_300_800_000 + 61_001, "00:01:01.001"), (2**63 - 1, "07:12:55.807")],
)
def test_a_record_may_have_any_time(timestamp: int, time: str) -> None:
    [line] = lines("shop.t-0@7", timestamp, 1, None)
    assert line.text == f"{time} tombstone 1  shop.t-0@7"


def test_any_other_record() -> None:
    assert shown("k", {"a": 1}) == ['06:28:31.502 "k"  shop.t-0@7', '  {"a": 1}']
