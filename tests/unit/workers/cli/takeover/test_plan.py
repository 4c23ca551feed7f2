"""What happens to a connector of a Kafka Connect cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from connector.catalog.selection import Selection
from connector.config.connector_config import parse
from connector.preflight.slot_health import SlotHealth
from connector.start.decision import SlotState
from workers.cli.findings import Finding
from workers.cli.takeover.cluster_state import StoredConnector, read_stores
from workers.cli.takeover.plan import Plan, Slot, is_ours, other_class, planned, refused, state_of, unknown, without_effect
from workers.stores.memory import MemoryLog, MemoryTopic
from workers.stores.topic_log import Entry

CONFIG = {
    "name": "shop",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "db",
    "database.user": "u",
    "database.password": "p",
    "database.dbname": "shop",
    "topic.prefix": "shop",
    "plugin.name": "pgoutput",
    "slot.name": "s",
}
OFFSET = {"lsn_proc": 100, "lsn_commit": 100, "lsn": 100, "messageType": "COMMIT", "ts_usec": 1}
SLOT = SlotState("s", "pgoutput", True, True, "shop", True, "pid 1 (Debezium Streaming)", 40, 90, "reserved")
HEALTH = SlotHealth("db:5432/shop", "s", "pgoutput", True, slot=SLOT)


def stored(offset: dict[str, Any] | None = None, **changes: str) -> StoredConnector:
    offsets = [] if offset is None else [({"server": "shop"}, offset)]
    return StoredConnector("shop", {**CONFIG, **{name.replace("_", "."): value for name, value in changes.items()}}, offsets=offsets)


def plan(connector: StoredConnector, health: SlotHealth = HEALTH, *found: Finding) -> Plan:
    config, _ = parse(connector.config)
    return planned(connector, found, config, Selection.of(config), health)


def test_a_connector_resumes_from_its_offset() -> None:
    found = plan(stored(OFFSET))
    assert (found.verdict, found.why, found.blocks) == ("resumes", "It goes on where Kafka Connect has stopped.", False)
    assert found.slot == Slot("s", True, True, "pid 1 (Debezium Streaming)", "pgoutput", "reserved", "0/5A", 10)
    assert found.offset == OFFSET


def test_a_slot_that_was_moved_is_told() -> None:
    found = plan(stored(OFFSET), replace(HEALTH, slot=replace(SLOT, confirmed=150)))
    assert found.verdict == "resumes"
    assert "confirmed beyond the offset" in found.why
    assert found.remedy
    assert found.slot is not None
    assert found.slot.behind_offset == -50


def test_no_offset_means_a_snapshot() -> None:
    assert plan(stored()).verdict == "snapshot"
    assert plan(stored(snapshot_mode="no_data")).verdict == "resumes"


def test_a_missing_slot_stops_it() -> None:
    found = plan(stored(OFFSET), replace(HEALTH, slot=None))
    assert (found.verdict, found.blocks, found.slot) == ("stops", True, Slot("s", False))
    assert "when_needed" in found.remedy
    assert plan(stored(OFFSET, snapshot_mode="when_needed"), replace(HEALTH, slot=None)).verdict == "snapshot"


def test_a_snapshot_only_connector_is_finished() -> None:
    complete = {**OFFSET, "snapshot": "INITIAL", "snapshot_completed": True}
    assert plan(stored(complete, snapshot_mode="initial_only"), replace(HEALTH, streams=False, slot=None)).verdict == "finished"


def test_an_unreachable_database_is_unknown() -> None:
    found = plan(stored(OFFSET), SlotHealth("db", "s", "pgoutput", True, problem="The database did not answer."))
    assert (found.verdict, found.why, found.blocks) == ("unknown", "The database did not answer.", True)


def test_that_kafka_connect_reads_the_slot_is_no_finding() -> None:
    own = Finding("slot.name", "warning", "Replication slot s is in use by pid 1; the task waits until it is free.", "Stop that reader.")
    other = Finding("database.user", "warning", "It may not read t.", "GRANT it.")
    assert plan(stored(OFFSET), HEALTH, own, other).findings == [other]


def test_a_refusal_has_its_first_error() -> None:
    errors = [Finding("a", "error", "Wrong.", "Correct a."), Finding("b", "error", "Too.", "b.")]
    found = refused(stored(OFFSET), errors)
    assert (found.verdict, found.why, found.remedy, found.findings, found.blocks) == ("refused", "Wrong.", "Correct a.", errors, True)


def test_another_class_is_not_taken_over() -> None:
    found = stored(connector_class="com.example.Sink")
    assert not is_ours(found)
    assert is_ours(stored(connector_class="PostgresConnector"))
    assert (other_class(found).verdict, other_class(found).blocks) == ("other class", True)


def test_properties_are_told_apart() -> None:
    config = {**CONFIG, "event.deserialization.failure.handling.mode": "warn", "transforms.x.type": "t", "no.such.property": "1"}
    assert unknown(config) == ["no.such.property"]
    assert "slot.name" not in without_effect(config)
    assert without_effect({"internal.no.effect": "", "poll.interval.ms": "1"}) == [
        name for name in ("internal.no.effect", "poll.interval.ms") if name in without_effect({name: ""})
    ]


@pytest.mark.parametrize(
    ("states", "target", "shown"),
    [(("RUNNING", "FAILED"), "STARTED", "FAILED"), (("PAUSED",), "PAUSED", "PAUSED"), ((), "STOPPED", "STOPPED")],
)
def test_the_state_is_the_worst(states: tuple[str, ...], target: str, shown: str) -> None:
    assert state_of(replace(stored(), states=states, target=target)) == shown


def test_a_plan_is_json() -> None:
    found = plan(stored(OFFSET)).as_json()
    assert found["verdict"] == "resumes"
    assert found["slot"]["confirmed"] == "0/5A"


async def test_the_topics_are_read() -> None:
    configs = [
        Entry(b"connector-shop", b'{"properties":{"connector.class":"X"}}'),
        Entry(b"target-state-shop", b'{"state":"PAUSED","state.v2":"PAUSED"}'),
    ]
    offsets = [Entry(b'["shop",{"server":"shop"}]', b'{"lsn":1}')]
    states = [
        Entry(b"status-connector-shop", b'{"state":"PAUSED","trace":null,"worker_id":"w","generation":1}'),
        Entry(b"status-topic-shop.t:connector-shop", b'{"topic":{"name":"shop.t","connector":"shop","task":0,"discoverTimestamp":1}}'),
    ]
    [found] = await read_stores(*(MemoryLog(MemoryTopic(entries)) for entries in (configs, offsets, states)))
    assert found == StoredConnector("shop", {"connector.class": "X"}, "PAUSED", ["PAUSED"], [({"server": "shop"}, {"lsn": 1})], ["shop.t"])
    assert found.offset({"server": "shop"}) == {"lsn": 1}
    assert found.offset({"server": "other"}) is None
    assert await read_stores(None, None, None) == []
