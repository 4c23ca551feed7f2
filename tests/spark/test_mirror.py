"""Mirrors out of hand-made topics, batch by batch, without Kafka and without files of tables."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.memory_sink import Crash
from tests.support.spark.mirror_rig import Rig
from tests.support.spark.topic_log import ID, NAME, Json, TopicLog, cents, frame, price
from workers.spark.compilation import WALKED
from workers.spark.failure import JobError
from workers.spark.jobs.checkpoint import FORM
from workers.spark.source.catalog import CatalogColumn
from workers.spark.types import UNAVAILABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def rig(spark: SparkSession, tmp_path: Path) -> Rig:
    return Rig(spark, tmp_path)


@pytest.mark.parametrize("fields", [(ID, NAME), None], ids=["schemas", "bare"])
def test_last_state_of_each_key(rig: Rig, fields: list[Json] | None) -> None:
    log = TopicLog(fields)
    log.change("r", {"id": 1, "name": "one"})
    log.change("c", {"id": 2, "name": "two"})
    log.change("c", {"id": 3, "name": "three"})
    log.change("u", {"id": 1, "name": "uno"})
    log.change("d", {"id": 2, "name": None})
    done = rig.batch(log)
    assert (done.records, done.tables, done.passed_over) == (6, 1, 0)
    log.change("u", {"id": 3, "name": None})
    log.change("c", {"id": 2, "name": "second life"})
    rig.batch(log)
    assert rig.sink.rows() == [{"id": 1, "name": "uno"}, {"id": 2, "name": "second life"}, {"id": 3, "name": None}]


def test_tombstone_alone_removes_the_row(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "compacted away"})
    log.change("c", {"id": 2, "name": "stays"})
    rig.batch(log)
    log.record({"id": 1}, None)
    rig.batch(log)
    assert rig.sink.rows() == [{"id": 2, "name": "stays"}]


def test_value_not_sent_again_stays(rig: Rig) -> None:
    log = TopicLog((ID, NAME, price(2)))
    log.change("c", {"id": 1, "name": "long text", "price": cents(100)})
    log.change("c", {"id": 2, "name": "other", "price": None})
    rig.batch(log)
    log.change("u", {"id": 1, "name": UNAVAILABLE, "price": cents(250)})
    log.change("u", {"id": 2, "name": "sent", "price": None})
    log.change("u", {"id": 2, "name": UNAVAILABLE, "price": cents(1)})
    rig.batch(log)
    assert rig.sink.rows() == [
        {"id": 1, "name": "long text", "price": Decimal("2.50")},
        {"id": 2, "name": "sent", "price": Decimal("0.01")},
    ]


def test_new_life_of_a_key_inherits_nothing(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "old"})
    rig.batch(log)
    log.change("u", {"id": 1, "name": "older"})
    log.change("d", {"id": 1})
    log.change("c", {"id": 1, "name": None})
    log.change("u", {"id": 1, "name": UNAVAILABLE})
    rig.batch(log)
    assert rig.sink.rows() == [{"id": 1, "name": None}]


@pytest.mark.long
def test_columns_may_be_called_as_ours_are(rig: Rig) -> None:
    names = ("key", "lsn", "move", "number", "partition", "offset", "op", "row")
    log = TopicLog((ID, NAME, *({"type": "int32", "optional": True, "field": name} for name in names)))
    numbers: Json = dict.fromkeys(names, 5)
    log.change("c", {"id": 1, "name": "kept", **numbers})
    rig.batch(log)
    log.move({"id": 1}, {"id": 2, "name": UNAVAILABLE, **numbers})
    rig.batch(log)
    assert rig.sink.rows() == [{"id": 2, "name": "kept", **numbers}]


@pytest.mark.parametrize("moment", [pytest.param("before", marks=pytest.mark.long), "after"])
def test_batch_that_is_repeated_after_a_crash(rig: Rig, moment: str) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "moved"})
    log.change("c", {"id": 2, "name": "kept"})
    rig.batch(log)
    log.move({"id": 1}, {"id": 9, "name": UNAVAILABLE})
    log.change("u", {"id": 2, "name": UNAVAILABLE})
    log.change("d", {"id": 9})
    log.move({"id": 2}, {"id": 1, "name": UNAVAILABLE})
    records = log.batch(rig.spark)
    rig.sink.crash = moment
    with pytest.raises(Crash):
        rig.again(records)
    rig.batch(records)
    assert rig.sink.rows() == [{"id": 1, "name": "kept"}]


def test_truncate_empties_what_was_logged_before_it_in_all_partitions(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "gone"})
    log.change("c", {"id": 2, "name": "gone too"}, partition=1)
    rig.batch(log)
    log.change("c", {"id": 4, "name": "late and gone"}, partition=0)
    late = log.records.pop()
    log.change("t", partition=1)
    log.change("c", {"id": 2, "name": "new"})
    rig.batch(log)
    assert rig.sink.rows() == [{"id": 2, "name": "new"}]
    rig.batch(frame(rig.spark, [late]))
    assert rig.sink.rows() == [{"id": 2, "name": "new"}]
    log.change("c", {"id": 4, "name": "newer"})
    rig.batch(log)
    assert rig.sink.rows() == [{"id": 2, "name": "new"}, {"id": 4, "name": "newer"}]


@pytest.mark.long
def test_truncate_that_comes_after_later_rows_of_other_partitions(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "gone"})
    log.change("t", partition=1)
    truncate = log.records.pop()
    log.change("c", {"id": 2, "name": "stays"})
    rig.batch(log)
    rig.batch(frame(rig.spark, [truncate]))
    assert rig.sink.rows() == [{"id": 2, "name": "stays"}]


def test_table_without_a_key_grows_and_recognizes_repetitions(rig: Rig) -> None:
    log = TopicLog(key=())
    log.change("r", {"id": 1, "name": "read"}, snapshot="first")
    log.change("r", {"id": 1, "name": "read"}, snapshot="last", lsn=log.lsn)
    log.change("c", {"id": 1, "name": "twin"})
    log.change("c", {"id": 1, "name": "twin"}, lsn=log.lsn)
    log.change("c", {"id": 2, "name": "other"}, lsn=log.lsn)
    log.change("u", {"id": 1, "name": "not applied"})
    expected = [{"id": 1, "name": "read"}] * 2 + [{"id": 1, "name": "twin"}] * 2 + [{"id": 2, "name": "other"}]
    rig.batch(log)
    assert rig.sink.rows() == expected
    for record in log.records[2:]:
        topic, partition, offset, at, key, value, headers = record
        later = json.loads(value or b"")
        later["payload"]["ts_ms"] += 60_000
        log.records.append((topic, partition, offset + 100, at, key, json.dumps(later, separators=(",", ":")).encode(), headers))
        if len(log.records) == 10:
            break
    rig.batch(log)
    assert rig.sink.rows() == expected


@pytest.mark.long
def test_snapshot_that_is_taken_again_replaces_a_table_without_a_key(rig: Rig) -> None:
    log = TopicLog(key=())
    log.change("r", {"id": 1, "name": "half"}, snapshot="first")
    rig.batch(log)
    log.change("r", {"id": 1, "name": "half"}, snapshot="first")
    log.change("r", {"id": 2, "name": "whole"}, snapshot="last", lsn=log.lsn)
    rig.batch(log)
    assert rig.sink.rows() == [{"id": 1, "name": "half"}, {"id": 2, "name": "whole"}]


@pytest.mark.long
@pytest.mark.parametrize("together", [True, False], ids=["one_batch", "batches"])
def test_blocking_snapshot_replaces_the_last_change_of_a_table_without_a_key(rig: Rig, *, together: bool) -> None:
    log = TopicLog(key=())
    log.change("c", {"id": 1, "name": "early"})
    log.change("c", {"id": 2, "name": "last"})
    log.change("c", {"id": 2, "name": "last"}, lsn=log.lsn, partition=1)
    expected = [{"id": 1, "name": "early"}, *[{"id": 2, "name": "last"}] * 2]
    if not together:
        rig.batch(log)
        assert rig.sink.rows() == expected
    # Its rows name the LSN and the transaction of the last change. So do those of a second one.
    for _ in range(2):
        log.change("r", {"id": 1, "name": "early"}, snapshot="first", lsn=log.lsn)
        log.change("r", {"id": 2, "name": "last"}, snapshot="true", lsn=log.lsn)
        log.change("r", {"id": 2, "name": "last"}, snapshot="last", lsn=log.lsn)
        rig.batch(log)
        assert rig.sink.rows() == expected
    log.tx += 1
    log.change("c", {"id": 3, "name": "later, in an equal place"}, lsn=log.lsn)
    rig.batch(log)
    assert rig.sink.rows() == [*expected, {"id": 3, "name": "later, in an equal place"}]


def test_columns_come_are_renamed_and_go(rig: Rig) -> None:
    level: Json = {"type": "int32", "optional": True, "field": "level"}
    log = TopicLog((ID, NAME, level))
    log.change("c", {"id": 1, "name": "x", "level": 1})
    rig.batch(log)
    title: Json = {"type": "string", "optional": True, "field": "title"}
    stock: Json = {"type": "int32", "optional": True, "default": 7, "field": "stock"}
    log.change("c", {"id": 2, "name": "y", "level": 2})
    log.fields = (ID, title, level, stock)
    log.change("c", {"id": 3, "title": "z", "level": 3, "stock": 1})
    rig.batch(log)
    titles = {1: ("x", 7), 2: ("y", 7), 3: ("z", 1)}
    expected = [{"id": at, "title": name, "level": at, "stock": stock} for at, (name, stock) in titles.items()]
    assert rig.sink.rows() == expected
    log.repeat(0, 2)
    rig.batch(log)
    assert rig.sink.rows() == expected
    log.fields = (ID, level, stock)
    log.change("d", {"id": 1})
    log.change("u", {"id": 2, "level": 2, "stock": None})
    rig.batch(log)
    assert rig.sink.rows() == [{"id": 2, "level": 2, "stock": None}, {"id": 3, "level": 3, "stock": 1}]


@pytest.mark.long
def test_rows_left_alone_follow_each_change_of_columns_in_a_batch(rig: Rig) -> None:
    """The first and last columns alone would not show that the last one was renamed, because another one was added after it."""
    level: Json = {"type": "int32", "optional": True, "field": "level"}
    log = TopicLog((ID, level))
    log.change("c", {"id": 1, "level": 1})
    rig.batch(log)
    since: Json = {"type": "int32", "optional": True, "default": 7, "field": "since"}
    log.fields = (ID, level, since)
    log.change("c", {"id": 2, "level": 2, "since": 2})
    grade, start = {**level, "field": "grade"}, {**since, "field": "start"}
    log.fields = (ID, grade, since)
    log.change("c", {"id": 3, "grade": 3, "since": 3})
    log.fields = (ID, grade, since, NAME)
    log.change("c", {"id": 5, "grade": 5, "since": 5, "name": "gone"})
    log.change("d", {"id": 5})
    log.fields = (ID, grade, start, NAME)
    log.change("c", {"id": 4, "grade": 4, "start": 4, "name": "new"})
    records = log.batch(rig.spark)
    rig.batch(records)
    expected = [{"id": at, "grade": at, "start": 7 if at == 1 else at, "name": "new" if at == 4 else None} for at in range(1, 5)]
    assert rig.sink.rows() == expected
    log.change("d", {"id": 4})
    rig.batch(log)
    assert rig.sink.rows() == expected[:3]


def test_events_are_read_only_by_their_own_layout(rig: Rig) -> None:
    """Code that Spark made for a condition asked all of it, and so read an event by another's layout."""
    long: list[Json] = [ID, {"type": "int64", "optional": True, "field": "level"}]
    short: list[Json] = [ID, {"type": "int32", "optional": True, "field": "level"}]
    log = TopicLog(key=())
    # So that each part of the batch holds both.
    for number in range(4):
        log.fields = long
        log.change("r", {"id": number, "level": 2**40}, snapshot="first")
        log.fields = short
        log.change("r", {"id": number, "level": 7}, snapshot="first")
    rig.spark.conf.set("spark.sql.codegen.factoryMode", "CODEGEN_ONLY")
    try:
        rig.batch(log)
    finally:
        rig.spark.conf.set("spark.sql.codegen.factoryMode", WALKED["spark.sql.codegen.factoryMode"])
    assert rig.sink.rows() == [{"id": 3, "level": 7}]


def test_state_of_another_version_is_refused(rig: Rig, tmp_path: Path) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "x"})
    rig.batch(log)
    document = tmp_path / "understudy" / "state" / "0.json"
    assert f'"form": {FORM}' in document.read_text()
    document.write_text(document.read_text().replace(f'"form": {FORM}', '"form": 0'))
    # Hadoop checks what it has written.
    document.with_name(".0.json.crc").unlink(missing_ok=True)
    with pytest.raises(JobError, match=rf"The checkpoint {tmp_path} is another version's\. Remove it and the tables"):
        rig.batch(log)


@pytest.mark.long
def test_topic_of_several_tables_fills_one(rig: Rig) -> None:
    log = TopicLog((ID, NAME))
    log.table = "items_b"
    log.change("c", {"id": 1, "name": "b"})
    rig.batch(log)
    # With a second layout each batch looks at the tables that its events name.
    log.fields = (ID, NAME, price(2))
    for key, table in ((2, "items_c"), (3, "items_a")):
        log.table = table
        log.change("c", {"id": key, "name": table, "price": None})
        rig.batch(log)
    log.change("u", {"id": 1, "name": "b2", "price": cents(100)})
    rig.batch(log)
    assert list(rig.sink.tables) == ["public.items_b"]
    assert rig.sink.rows("public.items_b") == [
        {"id": 1, "name": "b2", "price": Decimal("1.00")},
        {"id": 2, "name": "items_c", "price": None},
        {"id": 3, "name": "items_a", "price": None},
    ]


@pytest.mark.long
def test_topics_of_no_table_are_skipped(rig: Rig) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "x"})
    beat = {"schema": {"type": "struct", "name": "io.debezium.connector.common.Heartbeat", "fields": []}, "payload": {"ts_ms": 1}}
    at = log.records[0][3]
    log.records.append(("shop.heartbeat", 0, 0, at, b'{"serverName":"shop"}', json.dumps(beat, separators=(",", ":")).encode(), []))
    log.records.append(("shop.bare-heartbeat", 0, 0, at, b'{"serverName":"shop"}', b'{"ts_ms":1}', []))
    done = rig.batch(log)
    assert (done.tables, done.passed_over) == (1, 2)
    assert rig.sink.rows() == [{"id": 1, "name": "x"}]


def test_bare_events_by_the_catalog(spark: SparkSession, tmp_path: Path) -> None:
    columns = [CatalogColumn("id", "int4", "b", -1, array=False), CatalogColumn("price", "numeric", "b", (10 << 16 | 2) + 4, array=False)]
    rig = Rig(spark, tmp_path, catalog=lambda schema, name: columns if (schema, name) == ("public", "items") else [])
    log = TopicLog(None)
    log.change("c", {"id": 1, "price": cents(-5)})
    rig.batch(log)
    assert rig.sink.rows() == [{"id": 1, "price": Decimal("-0.05")}]


def test_flattened_rows(rig: Rig) -> None:
    fields: list[Json] = [ID, NAME, {"type": "string", "field": "__deleted"}, {"type": "int64", "field": "__lsn"}]
    schema = {"type": "struct", "fields": fields, "name": "shop.public.items.Value"}
    log = TopicLog()

    def row(identity: int, name: str | None, deleted: str, lsn: int) -> None:
        log.record({"id": identity}, None)
        topic, partition, offset, at, key, _, headers = log.records.pop()
        payload = {"id": identity, "name": name, "__deleted": deleted, "__lsn": lsn}
        value = json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()
        log.records.append((topic, partition, offset, at, key, value, headers))

    row(1, "one", "false", 10)
    row(2, "two", "false", 20)
    row(1, None, "true", 30)
    row(3, "three", "false", 40)
    log.record({"id": 3}, None)
    rig.batch(log)
    assert rig.sink.rows() == [{"id": 2, "name": "two"}]


@pytest.mark.parametrize("rewritten", [True, False])
def test_a_flattened_row_that_moved(rig: Rig, *, rewritten: bool) -> None:
    """Where deletes are not rewritten nothing is left of the old row's values, and nothing is waited for."""
    fields: list[Json] = [ID, NAME, {"type": "int64", "field": "__lsn"}]
    fields += [{"type": "string", "field": "__deleted"}] * rewritten
    schema = {"type": "struct", "fields": fields, "name": "shop.public.items.Value"}
    log = TopicLog()

    def row(identity: int, name: str | None, lsn: int, header: str, *, deleted: bool = False) -> None:
        log.record({"id": identity}, None, headers=(header,))
        if deleted and not rewritten:
            return
        topic, partition, offset, at, key, _, headers = log.records.pop()
        payload: Json = {"id": identity, "name": name, "__lsn": lsn}
        payload |= {"__deleted": str(deleted).lower()} if rewritten else {}
        value = json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()
        log.records.append((topic, partition, offset, at, key, value, headers))

    row(1, "large", 10, "none")
    row(1, None, 20, "__debezium.newkey", deleted=True)
    row(2, UNAVAILABLE, 20, "__debezium.oldkey")
    assert rig.batch(log).waiting == 0
    assert rig.sink.rows() == [{"id": 2, "name": "large" if rewritten else None}]


@pytest.mark.parametrize("lacking", [None, "op", "lsn", "ts_ms"])
def test_flattened_rows_without_a_key(rig: Rig, lacking: str | None) -> None:
    types = {"op": "string", "lsn": "int64", "ts_ms": "int64"}
    fields: list[Json] = [ID, NAME]
    fields += [{"type": kind, "field": f"__{name}"} for name, kind in types.items() if name != lacking]
    log = TopicLog(key=())

    def row(identity: int, op: str, lsn: int, made: int) -> None:
        log.record(None, {})
        topic, partition, offset, at, key, _, headers = log.records.pop()
        payload = {"id": identity, "name": "x", "__op": op, "__lsn": lsn, "__ts_ms": made}
        payload.pop(f"__{lacking}", None)
        whole = {"schema": {"type": "struct", "fields": fields, "name": "shop.public.items.Value"}, "payload": payload}
        log.records.append((topic, partition, offset, at, key, json.dumps(whole, separators=(",", ":")).encode(), headers))

    # Two equal rows of one COPY, which are repeated, and an update, which identifies no row.
    for made in (1000, 9000):
        row(1, "c", 10, made)
        row(1, "c", 10, made)
        row(2, "u", 20, made)
        row(3, "c", 30, made)
    if lacking is None:
        rig.batch(log)
        assert [cells["id"] for cells in rig.sink.rows()] == [1, 1, 3]
    else:
        with pytest.raises(JobError, match=r"shop.public.items holds flattened rows of a table without a key.*Set add.fields=op,lsn,ts_ms"):
            rig.batch(log)
