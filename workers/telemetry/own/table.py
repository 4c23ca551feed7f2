"""The table of own figures. It fills ``/metrics``, OpenTelemetry's export and docs/monitoring.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain, compress, product
from operator import attrgetter
from typing import Final

from connector.meters.stream_meter import OperationCounts
from workers.telemetry.own.figure import NO_POINTS, ConnectorFacts, Figure, Points, WorkerFacts, by_label, single
from workers.telemetry.own.slot_watch import SlotFigures

_OPERATIONS: Final = ("create", "update", "delete", "truncate")
_COUNTS: Final = attrgetter("creates", "updates", "deletes", "truncates")
_TABLE: Final = attrgetter("table")
_ROWS: Final = attrgetter("rows")


def _slot(read: Callable[[SlotFigures], float | None]) -> Callable[[ConnectorFacts], Points]:
    return lambda facts: NO_POINTS if facts.slot is None else single(read(facts.slot))


# Columns are made by functions in C: loops over 1,000 tables took several times as long, at each scrape.


def _events(facts: ConnectorFacts) -> Points:
    if facts.meters is None:
        return NO_POINTS
    tables: Mapping[str, OperationCounts] = facts.meters.stream.tables
    counts = list(chain.from_iterable(map(_COUNTS, tables.values())))
    names: Iterable[str] = tables
    if not facts.by_table:
        names, counts = [""], [sum(counts[place :: len(_OPERATIONS)]) for place in range(len(_OPERATIONS))]
    # An operation that has not happened has no point.
    return list(compress(product(names, _OPERATIONS), counts)), list(filter(None, counts))


def _snapshot_rows(facts: ConnectorFacts) -> Points:
    tables = () if facts.progress is None else facts.progress.tables
    rows = list(map(_ROWS, tables))
    if not facts.by_table:
        return single(sum(rows), "") if tables else NO_POINTS
    return list(zip(map(_TABLE, tables))), rows


def _incremental_rows(facts: ConnectorFacts) -> Points:
    tables = {} if facts.meters is None else facts.meters.snapshot.incremental_rows
    if not facts.by_table:
        return single(sum(tables.values()), "") if tables else NO_POINTS
    return by_label(tables)


def _sent(count: str) -> Callable[[ConnectorFacts], Points]:
    read = attrgetter(count)

    def points(facts: ConnectorFacts) -> Points:
        if facts.meters is None or not facts.meters.producer.topics:
            return NO_POINTS
        topics = facts.meters.producer.topics
        if not facts.by_table:
            return single(read(facts.meters.producer.all), "")
        return list(zip(topics)), list(map(read, topics.values()))

    return points


CONNECTOR: Final[tuple[Figure[ConnectorFacts], ...]] = (
    Figure(
        "understudy_task_state",
        "gauge",
        ("state",),
        "1 for the state that the task has: running, paused, failed, restarting or unassigned",
        lambda facts: single(1, facts.state) if facts.state else NO_POINTS,
    ),
    Figure(
        "understudy_task_starts",
        "counter",
        (),
        "starts of the task, without the attempts that repeat a failed one",
        lambda facts: single(facts.outcomes.starts),
    ),
    Figure(
        "understudy_task_retries",
        "counter",
        ("kind",),
        "attempts of the task that failed and were repeated, by the kind of the error",
        lambda facts: by_label(facts.outcomes.retries),
    ),
    Figure(
        "understudy_task_failures",
        "counter",
        ("kind",),
        "attempts after which the task was FAILED, by the kind of the error",
        lambda facts: by_label(facts.outcomes.failures),
    ),
    Figure("understudy_events", "counter", ("table", "operation"), "change events of the stream", _events),
    Figure("understudy_snapshot_rows", "counter", ("table",), "rows that the last initial or blocking snapshot has read", _snapshot_rows),
    Figure(
        "understudy_incremental_snapshot_rows",
        "counter",
        ("table",),
        "rows that incremental snapshots have sent since the table was last asked for",
        _incremental_rows,
    ),
    Figure(
        "understudy_delay_seconds",
        "histogram",
        (),
        "time from the commit of a transaction in the database until Kafka acknowledged its events",
        lambda facts: NO_POINTS if facts.meters is None else single(facts.meters.delays.histogram),
    ),
    Figure("understudy_sent_records", "counter", ("topic",), "records sent to Kafka", _sent("records")),
    Figure("understudy_sent_bytes", "counter", ("topic",), "bytes of these records before compression", _sent("written")),
    Figure(
        "understudy_sent_compressed_bytes",
        "counter",
        ("topic",),
        "bytes of these records after compression",
        _sent("packed"),
    ),
    Figure("understudy_sent_batches", "counter", ("topic",), "batches of these records", _sent("batches")),
    Figure(
        "understudy_in_flight_bytes",
        "gauge",
        (),
        "bytes of records that wait for Kafka's acknowledgement, without the constant text of their schemas",
        lambda facts: NO_POINTS if facts.meters is None else single(facts.meters.in_flight()),
    ),
    Figure(
        "understudy_slot_lag_bytes",
        "gauge",
        (),
        "WAL between the position that the slot has confirmed and the server's position",
        _slot(lambda slot: slot.lag_bytes),
    ),
    Figure(
        "understudy_slot_lag_seconds",
        "gauge",
        (),
        "time since the server was at the position that the slot has confirmed; at most the time since the first look",
        _slot(lambda slot: slot.lag_seconds),
    ),
    Figure(
        "understudy_slot_retained_wal_bytes",
        "gauge",
        (),
        "WAL that the server keeps for the slot",
        _slot(lambda slot: slot.retained_bytes),
    ),
    Figure(
        "understudy_slot_safe_wal_bytes",
        "gauge",
        (),
        "WAL that may be written until the slot may lose WAL; absent without `max_slot_wal_keep_size`, and before PostgreSQL 13",
        _slot(lambda slot: slot.safe_bytes),
    ),
    Figure(
        "understudy_slot_wal_limit_seconds",
        "gauge",
        (),
        "time until then, if the slot falls behind as fast as in the last five minutes; absent if it does not, or if that is not known",
        _slot(lambda slot: slot.limit_seconds),
    ),
    Figure(
        "understudy_slot_wal_status",
        "gauge",
        ("wal_status",),
        "1 for the slot's `wal_status`: reserved, extended, unreserved or lost",
        lambda facts: NO_POINTS if facts.slot is None else single(1, facts.slot.wal_status),
    ),
    Figure(
        "understudy_slot_active",
        "gauge",
        (),
        "1 if a connection reads the slot, else 0",
        _slot(lambda slot: int(slot.active)),
    ),
    Figure(
        "understudy_server_wal_position_bytes",
        "gauge",
        (),
        "the server's position in the WAL (its LSN as a number); its growth is the WAL that the server writes",
        _slot(lambda slot: slot.server_lsn),
    ),
    Figure(
        "understudy_slot_look_age_seconds",
        "gauge",
        (),
        "time since the database was asked for the figures of the slot",
        _slot(lambda slot: slot.age_seconds),
    ),
)
"""Of one connector; the label ``connector`` comes before the others."""

WORKER: Final[tuple[Figure[WorkerFacts], ...]] = (
    Figure(
        "understudy_event_loop_lag_seconds",
        "histogram",
        (),
        "how late a timer is that is due each 50 ms: what holds the event loop up delays everything",
        lambda facts: single(facts.meter.loop_lag.histogram),
    ),
    Figure(
        "understudy_event_loop_lag_max_seconds",
        "gauge",
        (),
        "the most that it was late in the last 30 to 60 seconds",
        lambda facts: single(facts.meter.loop_lag.recent.largest(facts.now)),
    ),
    Figure(
        "understudy_scrape_cpu_seconds",
        "counter",
        (),
        "CPU time in which answers to scrapes were made, without their way through HTTP",
        lambda facts: single(facts.meter.scrape_cpu_s),
    ),
    Figure(
        "understudy_rest_connections",
        "gauge",
        (),
        "open connections of the REST interface",
        lambda facts: single(facts.meter.connections()),
    ),
)
"""Of the worker."""
