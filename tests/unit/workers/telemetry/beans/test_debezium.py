"""The MBeans of a connector's events, beside those of a real Debezium 3.6.3 after the same changes.

``debezium_recorded.json`` holds its MBeans at three moments: ``snapshot`` (after it, and before the changes), ``stream`` (after the changes
of :func:`changes`), ``incremental`` (after an incremental snapshot of table a).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from connector.delivery.progress import Progress, TableProgress
from connector.events.stream_settings import StreamSettings
from connector.meters.task_meters import MeterSettings, TaskMeters
from connector.types.codec import Column
from tests.support.stream_rig import INT4, TEXT, StreamRig, catalog_table, configured, relation_of
from tests.support.wal_script import WalScript
from workers.telemetry.beans.snapshot import snapshot_bean
from workers.telemetry.beans.streaming import streaming_bean
from workers.telemetry.mbean import MBean

RECORDED: Final = json.loads((Path(__file__).parent / "debezium_recorded.json").read_text())
SETTINGS: Final = MeterSettings("ml1", (("team", "x"), ("zone", "a")), by_table=True, skips_unchanged=True)
COLUMNS: Final = (Column("id", INT4, not_null=True), Column("v", TEXT))
A, B, SECRET = (catalog_table(name, *COLUMNS, oid=5000 + at, primary_key=["id"]) for at, name in enumerate(("a", "b", "secret")))
R_A, R_B, R_SECRET = map(relation_of, (A, B, SECRET))
NUMBERS: Final = (
    "TotalNumberOfEventsSeen",
    "TotalNumberOfCreateEventsSeen",
    "TotalNumberOfUpdateEventsSeen",
    "TotalNumberOfDeleteEventsSeen",
    "NumberOfEventsFiltered",
    "NumberOfErroneousEvents",
    "NumberOfUnchangedEventsSkipped",
    "NumberOfCommittedTransactions",
)
BY_TABLE: Final = (
    "NumberOfCreateEventsSeen",
    "NumberOfUpdateEventsSeen",
    "NumberOfDeleteEventsSeen",
    "NumberOfTruncateEventsSeen",
)


def changes(rig: StreamRig) -> None:
    """The changes that were recorded: each statement is a transaction, and the publication sends the uncaptured table too."""
    wal = WalScript()
    wal.begin()
    wal.relation(R_A)
    for number in range(6, 10):
        wal.insert(R_A, str(number), "x")
    wal.commit()
    wal.begin()
    for number in range(1, 4):
        wal.update(R_A, str(number), "z")
    wal.commit()
    wal.begin()
    wal.delete(R_A, key=["9", None])
    wal.commit()
    wal.begin()
    wal.relation(R_B)
    wal.insert(R_B, "10", "q")
    wal.insert(R_B, "11", "q")
    wal.commit()
    wal.begin()
    wal.relation(R_SECRET)
    wal.insert(R_SECRET, "1", None)
    wal.commit()
    wal.begin()
    wal.truncate(R_B)
    wal.commit()
    rig.feed(wal.take())


def streaming(settings: MeterSettings = SETTINGS) -> MBean:
    rig = StreamRig(A, B, SECRET, config=configured(table_include_list="public.a,public.b"), settings=StreamSettings())
    changes(rig)
    return streaming_bean(settings, TaskMeters(settings, ("public.a", "public.b"), rig.meter), Progress(phase="streaming"), 0)


def recorded(stage: str, context: str) -> dict[str, Any]:
    found: dict[str, Any] = RECORDED["beans"][stage][context]
    return found


def test_the_counts_of_the_same_changes_are_equal() -> None:
    ours, before, after = streaming().attributes, recorded("snapshot", "streaming"), recorded("stream", "streaming")
    assert {name: ours[name] for name in NUMBERS} == {name: after[name] - before[name] for name in NUMBERS}
    for name in BY_TABLE:
        tables = {table: count - before[name].get(table, 0) for table, count in after[name].items()}
        assert ours[name] == {table: count for table, count in tables.items() if count}, name


def test_the_attributes_are_the_recorded_ones() -> None:
    empty = TaskMeters(SETTINGS)
    assert streaming_bean(SETTINGS, empty, Progress(), 0).attributes.keys() == recorded("stream", "streaming").keys()
    assert snapshot_bean(SETTINGS, empty, Progress(), 0).attributes.keys() == recorded("stream", "snapshot").keys()


def test_the_names_have_their_keys_in_the_recorded_order() -> None:
    names = {streaming_bean(SETTINGS, TaskMeters(), Progress(), 0).name, snapshot_bean(SETTINGS, TaskMeters(), Progress(), 0).name}
    assert names == {name for name in RECORDED["names"] if "type=connector-metrics" in name}


def test_values_have_the_recorded_types() -> None:
    """A value that the original gives too is of the same JSON type."""
    ours, theirs = streaming().attributes, recorded("stream", "streaming")
    assert {name: type(ours[name]) for name in ours} == {name: type(theirs[name]) for name in ours}


def test_tables_are_counted_only_if_the_configuration_says_so() -> None:
    plain = streaming(MeterSettings("ml1")).attributes
    assert [plain[name] for name in BY_TABLE] == [{}, {}, {}, {}]
    assert plain["NumberOfUnchangedEventsSkipped"] == -1


def test_rows_of_incremental_snapshots_are_events_of_the_stream_too() -> None:
    before, after = recorded("stream", "streaming"), recorded("incremental", "streaming")
    rows = recorded("incremental", "snapshot")["TotalNumberOfEventsSeen"] - recorded("stream", "snapshot")["TotalNumberOfEventsSeen"]
    signals = after["TotalNumberOfCreateEventsSeen"] - before["TotalNumberOfCreateEventsSeen"]
    meters = TaskMeters(SETTINGS)
    meters.stream.counts("public.sig").creates = signals
    meters.snapshot.incremental_sent("public.a", rows, 0)
    ours = streaming_bean(SETTINGS, meters, Progress(), 0).attributes
    assert (ours["TotalNumberOfEventsSeen"], rows) == (after["TotalNumberOfEventsSeen"] - before["TotalNumberOfEventsSeen"], 8)


def test_statistics_may_be_off() -> None:
    off = streaming(MeterSettings("ml1", statistics=False)).attributes
    assert off["MilliSecondsBehindSourceP99"] is off["MilliSecondsBehindSourceAverageValue"] is None
    assert off["MilliSecondsBehindSourceMaxValue"] is not None


def snapshot(progress: Progress, meters: TaskMeters) -> dict[str, Any]:
    return dict(snapshot_bean(SETTINGS, meters, progress, 5_000).attributes)


def taken() -> tuple[Progress, TaskMeters]:
    progress = Progress(phase="streaming", tables=[TableProgress("public.a", 5, done=True), TableProgress("public.b", 3, done=True)])
    meters = TaskMeters(SETTINGS)
    meters.snapshot.begins()
    meters.snapshot.reads(["public.a", "public.b"], "public.sig", {})
    for table in ("public.a", "public.b"):
        meters.snapshot.table_read(table)
    meters.snapshot.ends(completed=True)
    return progress, meters


TIMES: Final = ("MilliSecondsSinceLastEvent", "LastEvent")


def test_after_the_snapshot_all_is_as_recorded_but_the_last_event() -> None:
    ours, theirs = snapshot(*taken()), recorded("snapshot", "snapshot")
    assert {name: ours[name] for name in ours if name not in TIMES} == {name: theirs[name] for name in ours if name not in TIMES}


def test_after_an_incremental_snapshot_its_rows_replace_the_table_s_former_rows() -> None:
    progress, meters = taken()
    meters.snapshot.incremental_begins(["public.a"])
    for rows in (2, 2, 2, 2):
        meters.snapshot.incremental_sent("public.a", rows, 4_000)
    meters.snapshot.table_read("public.a")
    meters.snapshot.ends(completed=True)
    ours, theirs = snapshot(progress, meters), recorded("incremental", "snapshot")
    assert {name: ours[name] for name in ours if name not in TIMES} == {name: theirs[name] for name in ours if name not in TIMES}
    assert ours["MilliSecondsSinceLastEvent"] == 1_000
    meters.snapshot.incremental_begins(["public.a"])
    assert (snapshot(progress, meters)["RowsScanned"]["public.a"], snapshot(progress, meters)["TotalNumberOfEventsSeen"]) == (5, 16)


def test_a_blocking_snapshot_replaces_the_rows_of_its_tables_only() -> None:
    progress, meters = taken()
    meters.snapshot.incremental_begins(["public.a", "public.b"])
    for table in ("public.a", "public.b"):
        meters.snapshot.incremental_sent(table, 9, 4_000)
    meters.snapshot.reads(["public.a"], None, {table.table: table.rows for table in progress.tables})
    progress.tables = [TableProgress("public.a", 7, done=True)]
    shown = snapshot(progress, meters)
    assert shown["RowsScanned"] == {"public.a": 7, "public.b": 9}
    assert shown["TotalNumberOfEventsSeen"] == 5 + 3 + 9 + 9 + 7
    assert shown["CapturedTables"] == ["public.a", "public.b", "public.sig"]
    meters.snapshot.incremental_begins(["public.a"])
    meters.snapshot.incremental_sent("public.a", 2, 4_000)
    assert snapshot(progress, meters)["RowsScanned"] == {"public.a": 2, "public.b": 9}
