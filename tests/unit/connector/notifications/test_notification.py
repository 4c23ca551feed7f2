"""Notifications: their additional data, and their records, are those that were recorded from the reference."""

from __future__ import annotations

import itertools
import json

import pytest

from connector.emulation import DEBEZIUM_2_3_4, DEBEZIUM_3_6_3, Emulation
from connector.notifications.notification import IncrementalNotifications, InitialNotifications, Notification, result_only
from connector.notifications.records import NotificationEncoder
from connector.record.json_converter import ConverterSettings
from tests.support.each_case import each_case

INITIAL = InitialNotifications("shop", map(str, itertools.count()).__next__, lambda: 1795287532023)
INCREMENTAL = IncrementalNotifications("shop", lambda: "new", lambda: 1795287885187)
WITHOUT = ConverterSettings(schemas_enable=False)
TABLES = ["public.C x", "public.a", "public.b"]
LISTED = "public.C x,public.a,public.b"


def payload(notification: Notification, emulation: Emulation = DEBEZIUM_3_6_3) -> str:
    _, before, rest = NotificationEncoder(WITHOUT, WITHOUT, emulation).record(notification)
    return (before + rest).decode()


RECORDED_INITIAL = [
    (INITIAL.started(), "STARTED", '{"connector_name":"shop"}'),
    (INITIAL.aborted(), "ABORTED", '{"connector_name":"shop"}'),
    (INITIAL.skipped(), "SKIPPED", '{"connector_name":"shop"}'),
    (INITIAL.completed(), "COMPLETED", '{"connector_name":"shop"}'),
    (
        INITIAL.in_progress(TABLES, "public.a"),
        "IN_PROGRESS",
        f'{{"current_collection_in_progress":"public.a","connector_name":"shop","data_collections":"{LISTED}"}}',
    ),
    (
        INITIAL.table_completed(TABLES, "public.a", 3),
        "TABLE_SCAN_COMPLETED",
        (
            f'{{"scanned_collection":"public.a","connector_name":"shop","total_rows_scanned":"3","data_collections":"{LISTED}",'
            '"status":"SUCCEEDED"}'
        ),
    ),
    (
        INITIAL.chunk_in_progress("public.a", 1, 2, 1),
        "TABLE_CHUNK_IN_PROGRESS",
        '{"current_collection_in_progress":"public.a","chunk_index":"1","connector_name":"shop","total_chunks":"2","total_rows_scanned":"1"}',
    ),
    (
        INITIAL.chunk_completed(TABLES, "public.a", 1, 2),
        "TABLE_CHUNK_COMPLETED",
        (
            '{"chunk_index":"1","scanned_collection":"public.a","connector_name":"shop","total_chunks":"2","status":"SUCCEEDED",'
            f'"data_collections":"{LISTED}"}}'
        ),
    ),
]


@each_case(("notification", "kind", "additional"), RECORDED_INITIAL, ids=[row[1] for row in RECORDED_INITIAL])
def test_of_the_initial_snapshot(notification: Notification, kind: str, additional: str) -> None:
    assert payload(notification) == (
        f'{{"id":"{notification.id}","type":"{kind}","aggregate_type":"Initial Snapshot","additional_data":{additional},'
        '"timestamp":1795287532023}'
    )


RECORDED_INCREMENTAL = [
    (INCREMENTAL.started("s0", TABLES), "STARTED", f'{{"connector_name":"shop","data_collections":"{LISTED}"}}'),
    (INCREMENTAL.paused("s0", TABLES), "PAUSED", f'{{"connector_name":"shop","data_collections":"{LISTED}"}}'),
    (INCREMENTAL.resumed("s0", TABLES), "RESUMED", f'{{"connector_name":"shop","data_collections":"{LISTED}"}}'),
    (INCREMENTAL.aborted("s0", []), "ABORTED", '{"connector_name":"shop","data_collections":""}'),
    (INCREMENTAL.completed("s0"), "COMPLETED", '{"connector_name":"shop"}'),
    (
        INCREMENTAL.in_progress("s0", ["public.b"], "public.b", ["y", "2"], ["x", None]),
        "IN_PROGRESS",
        (
            '{"current_collection_in_progress":"public.b","connector_name":"shop","maximum_key":"y,2","data_collections":"public.b",'
            '"last_processed_key":"x,<null>"}'
        ),
    ),
    (
        INCREMENTAL.table_completed("s0", ["public.nopk"], "public.nopk", 0, "NO_PRIMARY_KEY"),
        "TABLE_SCAN_COMPLETED",
        (
            '{"scanned_collection":"public.nopk","connector_name":"shop","total_rows_scanned":"0","data_collections":"public.nopk",'
            '"status":"NO_PRIMARY_KEY"}'
        ),
    ),
]


@pytest.mark.parametrize(("notification", "kind", "additional"), RECORDED_INCREMENTAL, ids=[row[1] for row in RECORDED_INCREMENTAL])
def test_of_an_incremental_snapshot(notification: Notification, kind: str, additional: str) -> None:
    assert payload(notification) == (
        f'{{"id":"s0","type":"{kind}","aggregate_type":"Incremental Snapshot","additional_data":{additional},"timestamp":1795287885187}}'
    )


def test_ids() -> None:
    assert INITIAL.started().id != INITIAL.started().id
    assert INCREMENTAL.started(None, []).id == "new"


def test_a_failed_table() -> None:
    assert INITIAL.table_failed("public.b").additional_data == {
        "connector_name": "shop",
        "scanned_collection": "public.b",
        "status": "SQL_EXCEPTION",
    }


def test_the_record_with_its_schemas_as_recorded() -> None:
    notification = Notification("8297987c", "Initial Snapshot", "STARTED", {"connector_name": "shop"}, 1795287531960)
    key, before, rest = NotificationEncoder(ConverterSettings(), ConverterSettings()).record(notification)
    assert key == (
        b'{"schema":{"type":"struct","fields":[{"type":"string","optional":false,"field":"id"}],"optional":false,'
        b'"name":"io.debezium.connector.common.NotificationKey","version":1},"payload":{"id":"8297987c"}}'
    )
    assert before + rest == (
        b'{"schema":{"type":"struct","fields":[{"type":"string","optional":false,"field":"id"},{"type":"string","optional":false,'
        b'"field":"type"},{"type":"string","optional":false,"field":"aggregate_type"},{"type":"map","keys":{"type":"string",'
        b'"optional":false},"values":{"type":"string","optional":false},"optional":true,"field":"additional_data"},{"type":"int64",'
        b'"optional":false,"field":"timestamp"}],"optional":false,"name":"io.debezium.connector.common.Notification","version":1},'
        b'"payload":{"id":"8297987c","type":"STARTED","aggregate_type":"Initial Snapshot","additional_data":{"connector_name":"shop"},'
        b'"timestamp":1795287531960}}'
    )


@pytest.mark.parametrize("notification", [INITIAL.completed(), INITIAL.skipped(), INITIAL.aborted()])
def test_2_3_4_reported_only_the_outcome(notification: Notification) -> None:
    former = result_only(notification)
    assert former is not None
    assert json.loads(payload(former, DEBEZIUM_2_3_4)) == {
        "id": notification.id,
        "type": f"Status {notification.type}",
        "aggregate_type": "Initial Snapshot",
        "additional_data": None,
    }


@pytest.mark.parametrize("notification", [INITIAL.started(), INITIAL.in_progress(TABLES, "public.a"), INITIAL.table_failed("public.a")])
def test_2_3_4_was_silent_about_the_rest(notification: Notification) -> None:
    assert result_only(notification) is None


def test_2_3_4_reported_the_first_column_of_a_key() -> None:
    made = IncrementalNotifications("shop", lambda: "new", lambda: 7, DEBEZIUM_2_3_4)
    former = result_only(made.in_progress("s0", ["public.b"], "public.b", ["y", "2"], [None, "1"]))
    assert former is not None
    assert former.additional_data is not None
    assert (former.additional_data["maximum_key"], former.additional_data["last_processed_key"]) == ("y", "<null>")


def test_a_table_s_end_in_2_3_4() -> None:
    former = result_only(INCREMENTAL.table_completed("s0", ["public.a"], "public.a", 5))
    assert former is not None
    assert payload(former, DEBEZIUM_2_3_4) == (
        '{"id":"s0","type":"TABLE_SCAN_COMPLETED","aggregate_type":"Incremental Snapshot","additional_data":{'
        '"scanned_collection":"public.a","connector_name":"shop","total_rows_scanned":"5","status":"SUCCEEDED",'
        '"data_collections":"public.a"}}'
    )


def test_described_for_rest() -> None:
    assert Notification("1", "Initial Snapshot", "COMPLETED", {"connector_name": "shop"}, 7).describe() == {
        "id": "1",
        "aggregateType": "Initial Snapshot",
        "type": "COMPLETED",
        "additionalData": {"connector_name": "shop"},
        "timestamp": 7,
    }
