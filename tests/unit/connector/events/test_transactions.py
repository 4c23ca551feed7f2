from __future__ import annotations

import json
from typing import Any

import pytest

from connector.config.connector_config import ConnectorConfig
from connector.delivery.offsets import Position, StoredOffset, TransactionCounts
from connector.events.stream_settings import StreamSettings
from connector.java.hash_map import java_order
from connector.record.json_converter import ConverterSettings
from connector.types.codec import Column
from tests.support.stream_rig import INT4, NOW_NS, TEXT, StreamRig, catalog_table, configured, relation_of
from tests.support.wal_script import UNCHANGED, WalScript

ID, NOTE = Column("id", INT4, not_null=True), Column("note", TEXT)
A = catalog_table("a", ID, NOTE, primary_key=["id"])
B = catalog_table("b", ID, NOTE, oid=5001, primary_key=["id"])
PRICED = catalog_table("a", ID, Column("price", 1700, modifier=(10 << 16 | 2) + 4, not_null=True), primary_key=["id"])
OTHER = catalog_table("other", ID, oid=5002, schema="hidden", primary_key=["id"])
R_A, R_B, R_OTHER = relation_of(A), relation_of(B), relation_of(OTHER)
TOPIC = "srv.transaction"
COMMIT_US = 1_700_000_000_123_456
ALL = StreamSettings(skipped=frozenset())


def metadata(**properties: str) -> ConnectorConfig:
    return configured(provide_transaction_metadata="true", schema_exclude_list="hidden", **properties)


def started(*, offset: StoredOffset | None = None, settings: StreamSettings = ALL, messages: bool = False) -> tuple[StreamRig, WalScript]:
    return StreamRig(A, B, OTHER, config=metadata(), settings=settings, offset=offset, messages=messages), WalScript()


def boundaries(rig: StreamRig) -> list[Any]:
    return [sent.payload for sent in rig.sent.get(TOPIC, [])]


def blocks(rig: StreamRig, topic: str) -> list[tuple[str, int, int]]:
    found = [sent.payload["transaction"] for sent in rig.sent.get(topic, []) if sent.value is not None]
    return [(block["id"], block["total_order"], block["data_collection_order"]) for block in found]


def counted(**counts: int) -> list[dict[str, Any]]:
    return [{"data_collection": f"public.{name}", "event_count": count} for name, count in counts.items()]


def test_records_and_blocks_of_a_transaction() -> None:
    rig, wal = started()
    begun = wal.lsn
    wal.begin(42, commit_us=COMMIT_US)
    wal.relation(R_A)
    wal.relation(R_B)
    lsns = [
        wal.insert(R_A, "1", "x"),
        wal.insert(R_B, "1", "x"),
        wal.insert(R_A, "2", "x"),
        wal.update(R_A, "1", UNCHANGED),
        wal.delete(R_B, key=("1", None)),
        wal.update(R_A, "20", "x", key=("2", None)),
    ]
    end = wal.commit()
    rig.feed(wal.take())
    assert blocks(rig, "srv.public.a") == [
        (f"42:{lsns[0]}", 1, 1),
        (f"42:{lsns[2]}", 3, 2),
        (f"42:{lsns[3]}", 4, 3),
        # A new key is two events.
        (f"42:{lsns[5]}", 6, 4),
        (f"42:{lsns[5]}", 7, 5),
    ]
    assert blocks(rig, "srv.public.b") == [(f"42:{lsns[1]}", 2, 1), (f"42:{lsns[4]}", 5, 2)]
    first, last = rig.sent[TOPIC]
    assert first.key == b'{"id":"42:%d"}' % begun
    assert first.value == (b'{"status":"BEGIN","id":"42:%d","event_count":null,"data_collections":null,"ts_ms":1700000000123}' % begun)
    assert last.key == b'{"id":"42:%d"}' % end
    assert last.value == (
        b'{"status":"END","id":"42:%d","event_count":7,"data_collections":[{"data_collection":"public.a","event_count":5},'
        b'{"data_collection":"public.b","event_count":2}],"ts_ms":1700000000123}' % end
    )
    assert (first.headers, first.timestamp) == (b"\0", NOW_NS // 1_000_000)
    assert rig.stream.events == sum(map(len, rig.sent.values()))


def test_schemas_of_the_transaction_topic() -> None:
    rig = StreamRig(A, config=metadata(), converter=ConverterSettings())
    wal = WalScript()
    wal.begin()
    wal.commit()
    rig.feed(wal.take())
    key, value = json.loads(rig.sent[TOPIC][0].key or b""), json.loads(rig.sent[TOPIC][0].value or b"")
    assert key["schema"] == {
        "type": "struct",
        "fields": [{"type": "string", "optional": False, "field": "id"}],
        "optional": False,
        "name": "io.debezium.connector.common.TransactionMetadataKey",
        "version": 1,
    }
    assert [(field["field"], field["type"], field["optional"]) for field in value["schema"]["fields"]] == [
        ("status", "string", False),
        ("id", "string", False),
        ("event_count", "int64", True),
        ("data_collections", "array", True),
        ("ts_ms", "int64", False),
    ]
    assert value["schema"]["fields"][3]["items"] == {
        "type": "struct",
        "fields": [
            {"type": "string", "optional": False, "field": "data_collection"},
            {"type": "int64", "optional": False, "field": "event_count"},
        ],
        "optional": True,
        "name": "event.collection",
        "version": 1,
    }
    assert (value["schema"]["name"], value["schema"]["version"]) == ("io.debezium.connector.common.TransactionMetadataValue", 1)


def test_a_transaction_of_other_tables_has_both_its_records() -> None:
    rig, wal = started()
    wal.begin(42)
    wal.relation(R_OTHER)
    wal.insert(R_OTHER, "1")
    wal.commit()
    rig.feed(wal.take())
    assert [(made["status"], made["event_count"], made["data_collections"]) for made in boundaries(rig)] == [
        ("BEGIN", None, None),
        ("END", 0, []),
    ]


def test_counts_begin_again_with_each_transaction() -> None:
    rig, wal = started()
    for xid in (42, 43):
        wal.begin(xid)
        wal.relation(R_A)
        wal.insert(R_A, "1", None)
        wal.commit()
    rig.feed(wal.take())
    assert [(total, order) for _, total, order in blocks(rig, "srv.public.a")] == [(1, 1), (1, 1)]
    assert [made["event_count"] for made in boundaries(rig)] == [None, 1, None, 1]


@pytest.mark.parametrize(
    ("skipped", "total", "collections"),
    [
        ("", 6, counted(a=5, b=1)),
        ("t", 4, counted(a=4)),
        ("c", 4, counted(a=3, b=1)),
        ("d", 5, counted(a=4, b=1)),
        ("cudt", 0, []),
    ],
)
def test_skipped_changes_do_not_count_and_a_truncate_counts_for_each_table(
    skipped: str, total: int, collections: list[dict[str, Any]]
) -> None:
    rig, wal = started(settings=StreamSettings(skipped=frozenset(skipped)))
    wal.begin()
    wal.relation(R_A)
    wal.relation(R_B)
    wal.truncate(R_A, R_B)
    wal.insert(R_A, "1", "x")
    wal.update(R_A, "1", "y")
    wal.delete(R_A, key=("1", None))
    wal.insert(R_A, "2", "x")
    wal.commit()
    rig.feed(wal.take())
    assert boundaries(rig)[-1]["event_count"] == total
    assert boundaries(rig)[-1]["data_collections"] == collections


def test_messages_count_too() -> None:
    rig, wal = started(messages=True)
    wal.begin(42)
    wal.relation(R_A)
    wal.insert(R_A, "1", "x")
    lsn = wal.message("p", b"")
    wal.insert(R_A, "2", "x")
    wal.commit()
    wal.message("p", b"", transactional=False)
    rig.feed(wal.take())
    inside, outside = (sent.payload["transaction"] for sent in rig.sent["srv.message"])
    assert inside == {"id": f"42:{lsn}", "total_order": 2, "data_collection_order": 1}
    assert outside is None
    assert [order for _, order, _ in blocks(rig, "srv.public.a")] == [1, 3]
    assert boundaries(rig)[-1]["event_count"] == 3
    names = [made["data_collection"] for made in boundaries(rig)[-1]["data_collections"]]
    assert sorted(names) == ["LOGICAL_DECODING_MESSAGE", "public.a"]


def test_collections_are_listed_as_a_map_of_java_does_that_has_once_grown() -> None:
    tables = [catalog_table(f"m{number}", ID, oid=6000 + number, primary_key=["id"]) for number in range(1, 21)]
    rig, wal = StreamRig(*tables, config=metadata(), settings=ALL), WalScript()
    names = [table.name for table in tables]
    for chosen in (tables[:12], tables, tables[:12]):
        wal.begin()
        for table in chosen:
            wal.relation(relation_of(table))
            wal.insert(relation_of(table), "1")
        wal.commit()
    rig.feed(wal.take())
    listed = [[made["data_collection"] for made in end["data_collections"]] for end in boundaries(rig) if end["status"] == "END"]
    assert listed == [java_order(names[:12]), java_order(names), java_order(names[:12], 32)]
    assert listed[0] != listed[2]


@pytest.mark.parametrize("burst", [1, 2, 5, 100])
def test_the_size_of_bursts_changes_nothing(burst: int) -> None:
    rig, wal = started()
    whole, _ = started()
    for xid in (42, 43):
        wal.begin(xid)
        wal.relation(R_A)
        wal.relation(R_B)
        for number in range(6):
            wal.insert(R_A if number % 2 else R_B, str(number), "x")
            wal.update(R_A, str(number), "y" if number % 3 else UNCHANGED)
        wal.commit()
    frames = wal.take()
    for at in range(0, len(frames), burst):
        rig.feed(frames[at : at + burst])
    whole.feed(frames)
    assert rig.sent == whole.sent
    assert rig.stream.position == whole.stream.position


def first_part(sent: int) -> tuple[list[bytes], StreamRig, int]:
    """Frames of a transaction of six inserts, a rig that has been fed ``sent`` of them, and the transaction's end."""
    rig, wal = started()
    wal.begin(42)
    wal.relation(R_A)
    wal.relation(R_B)
    for number in range(6):
        wal.insert(R_A if number % 2 else R_B, str(number), None)
    end = wal.commit()
    frames = wal.take()
    rig.feed(frames[: 3 + sent])
    return frames, rig, end


def stored(rig: StreamRig) -> StoredOffset:
    assert rig.stream.position is not None
    return StoredOffset.parse(json.loads(json.dumps(rig.stream.position.to_offset())))


@pytest.mark.parametrize("sent", [1, 3, 6])
def test_counters_continue_after_a_restart_inside_a_transaction(sent: int) -> None:
    frames, first, end = first_part(sent)
    second, _ = started(offset=stored(first))
    second.feed(frames)
    orders = [*blocks(first, "srv.public.a"), *blocks(second, "srv.public.a")]
    assert [order for _, _, order in orders] == [1, 2, 3]
    both = [block for rig in (first, second) for topic in ("srv.public.a", "srv.public.b") for block in blocks(rig, topic)]
    assert sorted(total for _, total, _ in both) == [1, 2, 3, 4, 5, 6]
    # The first run reported the begin, the second one the end.
    assert [made["status"] for made in boundaries(first)] == ["BEGIN"]
    (last,) = boundaries(second)
    assert (last["status"], last["id"], last["event_count"], last["data_collections"]) == ("END", f"42:{end}", 6, counted(a=3, b=3))


def test_without_stored_counts_the_transaction_begins_with_its_first_event() -> None:
    frames, first, _ = first_part(4)
    assert first.stream.position is not None
    offset = {name: value for name, value in first.stream.position.to_offset().items() if not name.startswith("transaction_")}
    second, _ = started(offset=StoredOffset.parse(offset))
    second.feed(frames)
    (event,) = blocks(second, "srv.public.b")
    assert (event[1], event[2]) == (1, 1)
    assert [(made["status"], made["event_count"]) for made in boundaries(second)] == [("BEGIN", None), ("END", 2)]
    assert boundaries(second)[0]["id"] == event[0]


def test_counts_of_another_transaction_do_not_matter() -> None:
    offset = StoredOffset.parse(
        {"lsn": 90, "lsn_commit": 90, "messageType": "COMMIT", "txId": 41, "transaction_id": "41"}
        | {"transaction_data_collection_order_public.a": 7}
    )
    assert offset.counts == TransactionCounts("41", (("public.a", 7),))
    frames, _, _ = first_part(0)
    second, _ = started(offset=offset)
    second.feed(frames)
    assert [(made["status"], made["event_count"]) for made in boundaries(second)] == [("BEGIN", None), ("END", 6)]


def test_stored_counts_belong_to_the_transaction_they_name() -> None:
    frames, first, _ = first_part(1)
    assert first.stream.position is not None
    offset = first.stream.position.to_offset() | {"transaction_id": "41"}
    second, _ = started(offset=StoredOffset.parse(offset))
    second.feed(frames)
    assert [(made["status"], made["event_count"]) for made in boundaries(second)] == [("BEGIN", None), ("END", 5)]


def test_offsets_are_the_recorded_ones() -> None:
    _, rig, _ = first_part(3)
    position = rig.stream.position
    assert position is not None
    # As GET /connectors/{name}/offsets of Debezium 3.6.3 showed them: the order is that of the members.
    wanted = {
        "transaction_id": "42",
        "lsn_proc": position.event,
        "messageType": "INSERT",
        "transaction_data_collection_order_public.a": 1,
        "transaction_data_collection_order_public.b": 2,
        "lsn": position.event,
        "txId": 42,
        "ts_usec": COMMIT_US,
    }
    assert json.dumps(position.to_offset()) == json.dumps(wanted)
    committed = Position(977646080, 977646080, "COMMIT", 19100, 5, counts=TransactionCounts("19100", (("public.b", 1), ("public.a", 1))))
    assert list(committed.to_offset()) == [
        "transaction_id",
        "lsn_proc",
        "messageType",
        "transaction_data_collection_order_public.a",
        "lsn_commit",
        "transaction_data_collection_order_public.b",
        "lsn",
        "txId",
        "ts_usec",
    ]


def test_offset_after_a_transaction_keeps_its_counts_until_the_server_has_come_further() -> None:
    frames, rig, end = first_part(6)
    rig.feed(frames[9:])
    assert rig.stream.position is not None
    assert rig.stream.position.counts == TransactionCounts("42", (("public.b", 3), ("public.a", 3)))
    wal = WalScript(end)
    wal.keepalive(end + 100)
    rig.feed(wal.take())
    idle = rig.stream.idle_position()
    assert idle is not None
    assert (idle.event, idle.counts) == (end + 100, None)


def test_without_metadata_there_is_neither_topic_nor_block() -> None:
    rig, wal = StreamRig(A), WalScript()
    wal.begin()
    wal.relation(R_A)
    wal.insert(R_A, "1", None)
    wal.commit()
    rig.feed(wal.take())
    assert TOPIC not in rig.sent
    assert rig.sent["srv.public.a"][0].payload["transaction"] is None
    assert rig.stream.position is not None
    assert rig.stream.position.counts is None


@pytest.mark.parametrize("mode", ["warn", "skip", "ignore"])
def test_events_that_are_left_out_are_not_counted(mode: str) -> None:
    settings = StreamSettings(processing_failure=mode)
    rig, wal, relation = StreamRig(PRICED, B, config=metadata(), settings=settings), WalScript(), relation_of(PRICED)
    wal.begin(42)
    wal.relation(relation)
    wal.relation(R_B)
    first = wal.insert(relation, "1", "1.00")
    wal.insert(relation, "2", "NaN")
    second = wal.insert(relation, "3", "1.00")
    wal.update(relation, "3", "NaN")
    other = wal.insert(R_B, "1", "x")
    third = wal.update(relation, "3", "2.00")
    wal.commit()
    rig.feed(wal.take())
    assert blocks(rig, "srv.public.a") == [(f"42:{first}", 1, 1), (f"42:{second}", 2, 2), (f"42:{third}", 4, 3)]
    assert blocks(rig, "srv.public.b") == [(f"42:{other}", 3, 1)]
    assert [sent.op for sent in rig.sent["srv.public.a"]] == ["c", "c", "u"]
    end = boundaries(rig)[-1]
    assert (end["event_count"], end["data_collections"]) == (4, counted(a=3, b=1))
    assert rig.meter.erroneous == 2
