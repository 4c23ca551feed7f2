"""What differs from run to run is taken out of a recording, and nothing else: else a parity test could not fail, or never pass."""

from __future__ import annotations

import json

import pytest

from tests.support.recording import Compare, topic_records
from tests.support.topics import Raw

UUID = "0f3c2b1a-aaaa-4bbb-8ccc-0123456789ab"


def recorded(key: object, value: object) -> dict[str, object]:
    raw = Raw(0, 0, json.dumps(key).encode(), json.dumps(value).encode(), ())
    [record] = topic_records([raw], Compare(), "pr0x1", "db1")
    return record


def notification(name: str, **more: object) -> dict[str, object]:
    return {"id": name, "type": "COMPLETED", "aggregate_type": "Initial Snapshot", "additional_data": None, "timestamp": 17, **more}


def test_a_window_loses_its_name_and_its_times() -> None:
    data = '{"openWindowTimestamp": "2026-11-21T18:58:57.2Z", "closeWindowTimestamp": "2026-11-21T18:58:58Z"}'
    got = recorded({"id": f"{UUID}-close"}, {"after": {"id": f"{UUID}-close", "type": "snapshot-window-close", "data": data}})
    assert got["key"] == {"id": "UUID-close"}
    scrubbed = '{"openWindowTimestamp": "INSTANT", "closeWindowTimestamp": "INSTANT"}'
    assert got["value"] == {"after": {"id": "UUID-close", "type": "snapshot-window-close", "data": scrubbed}}


@pytest.mark.parametrize("schemas", [True, False])
def test_a_notification_loses_a_random_id_and_its_time(schemas: bool) -> None:
    def wrapped(payload: object) -> object:
        return {"schema": {"type": "struct"}, "payload": payload} if schemas else payload

    got = recorded(wrapped({"id": UUID}), wrapped(notification(UUID)))
    assert got["key"] == wrapped({"id": "UUID"})
    assert got["value"] == wrapped(notification("UUID", timestamp="<int>"))


def test_a_notification_keeps_the_id_of_a_signal() -> None:
    got = recorded({"id": "s1"}, notification("s1"))
    assert (got["key"], got["value"]) == ({"id": "s1"}, notification("s1", timestamp="<int>"))


def test_a_uuid_of_a_table_stays() -> None:
    event = {"after": {"id": UUID, "type": "x"}, "op": "r"}
    got = recorded({"id": UUID}, event)
    assert (got["key"], got["value"]) == ({"id": UUID}, event)
