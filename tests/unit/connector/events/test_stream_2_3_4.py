"""Events as Debezium 2.3.4 sends them (``connector.plugin.version``), from its recordings."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from connector.config.connector_config import ConnectorConfig
from connector.delivery.offsets import Position, StoredOffset, snapshot_offset
from connector.emulation import DEBEZIUM_2_3_4
from connector.events.capture import context_headers
from connector.events.envelope import event_form
from connector.record.json_converter import ConverterSettings
from connector.record.schema import Schema
from connector.types.codec import Column
from tests.support.stream_rig import INT4, NOW_NS, TEXT, StreamRig, catalog_table, configured, relation_of
from tests.support.wal_script import WalScript

ORDERS = catalog_table("orders", Column("id", INT4, not_null=True), Column("note", TEXT), primary_key=["id"])
R_ORDERS = relation_of(ORDERS)
NOW_MS = NOW_NS // 1_000_000


def former(**properties: str) -> ConnectorConfig:
    return configured(connector_plugin_version="2.3.4.Final", **properties)


def test_an_event_byte_for_byte() -> None:
    rig, wal = StreamRig(ORDERS, config=former(), last_commit=77), WalScript()
    wal.begin(42, commit_us=1_700_000_000_123_456)
    wal.origin(5, "node")
    wal.relation(R_ORDERS)
    lsn = wal.insert(R_ORDERS, "1", "x")
    (sent,) = rig.feed(wal.take())
    assert sent.value == (
        b'{"before":null,"after":{"id":1,"note":"x"},"source":{"version":"2.3.4.Final","connector":"postgresql","name":"srv",'
        b'"ts_ms":1700000000123,"snapshot":"false","db":"shop","sequence":"[\\"77\\",\\"%d\\"]","schema":"public","table":"orders",'
        b'"txId":42,"lsn":%d,"xmin":null},"op":"c","ts_ms":%d,"transaction":null}' % (lsn, lsn, NOW_MS)
    )


def test_the_transaction_comes_last() -> None:
    rig, wal = StreamRig(ORDERS, config=former(provide_transaction_metadata="true"), messages=True), WalScript()
    wal.begin(42)
    wal.relation(R_ORDERS)
    wal.message("p", b"")
    lsn = wal.insert(R_ORDERS, "1", "x")
    wal.commit()
    rig.feed(wal.take())
    (event,) = rig.sent["srv.public.orders"]
    end = b'"op":"c","ts_ms":%d,"transaction":{"id":"42:%d","total_order":1,"data_collection_order":1}}' % (NOW_MS, lsn)
    assert event.value is not None
    assert event.value.endswith(end)
    # Messages have no block, and do not count.
    assert list(rig.sent["srv.message"][0].payload) == ["op", "ts_ms", "source", "message"]
    assert rig.sent["srv.transaction"][-1].payload["event_count"] == 1


def fields(schema: dict[str, Any]) -> list[str]:
    return [field["field"] for field in schema["fields"]]


def test_schemas() -> None:
    rig, wal = StreamRig(ORDERS, config=former(), converter=ConverterSettings(), messages=True), WalScript()
    wal.begin(42)
    wal.relation(R_ORDERS)
    wal.insert(R_ORDERS, "1", "x")
    wal.message("p", b"")
    rig.feed(wal.take())
    envelope = json.loads(rig.sent["srv.public.orders"][0].value or b"")["schema"]
    assert (envelope["name"], envelope["version"]) == ("srv.public.orders.Envelope", 1)
    assert fields(envelope) == ["before", "after", "source", "op", "ts_ms", "transaction"]
    source = envelope["fields"][2]
    assert "version" not in source
    assert fields(source) == [
        *["version", "connector", "name", "ts_ms", "snapshot", "db", "sequence", "schema", "table", "txId", "lsn", "xmin"]
    ]
    assert source["fields"][4]["parameters"] == {"allowed": "true,last,false,incremental"}
    message = json.loads(rig.sent["srv.message"][0].value or b"")["schema"]
    assert fields(message) == ["op", "ts_ms", "source", "message"]


def test_schema_and_payload_agree_in_both_forms() -> None:
    def names(schema: Schema) -> list[str]:
        return [field.name for field in schema.fields]

    for config in (configured(), former()):
        form = event_form(config.emulation)
        rig, wal = StreamRig(ORDERS, config=config), WalScript()
        wal.begin()
        wal.relation(R_ORDERS)
        wal.insert(R_ORDERS, "1", "x")
        (sent,) = rig.feed(wal.take())
        assert list(sent.payload) == names(form.envelope("t", Schema("struct")))
        assert list(sent.payload["source"]) == names(form.source)
        assert sent.payload["source"]["version"] == form.emulation.version


def test_names_beyond_ascii_are_read_byte_by_byte() -> None:
    known = catalog_table("t", Column("id", INT4, not_null=True), Column("ünï", TEXT), primary_key=["id"])
    key_beyond = catalog_table("u", Column("kéy", INT4, not_null=True), oid=5001, primary_key=["kéy"])
    table_beyond = catalog_table("tä", Column("id", INT4, not_null=True), oid=5002, primary_key=["id"])
    rig, wal = StreamRig(known, key_beyond, table_beyond, config=former(), messages=True), WalScript()
    wal.begin()
    for table, row in ((known, ("1", "ü")), (key_beyond, ("1",)), (table_beyond, ("1",))):
        wal.relation(relation_of(table))
        wal.insert(relation_of(table), *row)
    wal.message("pré", b"")
    rig.feed(wal.take())
    assert rig.sent["srv.public.t"][0].payload["after"] == {"id": 1, "ￃﾼnￃﾯ": "ü"}
    assert rig.sent["srv.public.t"][0].key_json == {"id": 1}
    # The catalog knows no such column and no such table: there is no key then.
    assert (rig.sent["srv.public.u"][0].key, rig.sent["srv.public.u"][0].payload["after"]) == (None, {"kￃﾩy": 1})
    assert (rig.sent["srv.public.t__"][0].key, rig.sent["srv.public.t__"][0].payload["source"]["table"]) == (None, "tￃﾤ")
    assert rig.sent["srv.message"][0].key_json == {"prefix": "prￃﾩ"}


def test_offsets_have_a_transaction_id_always() -> None:
    position = Position(1142019488, 1142019488, "INSERT", 19539, 1795255468602353, xmin=19506)
    # As GET /connectors/{name}/offsets of Debezium 2.3.4 showed it.
    assert json.dumps(position.to_offset(emulation=DEBEZIUM_2_3_4)) == (
        '{"transaction_id": null, "lsn_proc": 1142019488, "xmin": 19506, "messageType": "INSERT", "lsn_commit": 1142019488, '
        '"lsn": 1142019488, "txId": 19539, "ts_usec": 1795255468602353}'
    )
    assert "transaction_id" not in position.to_offset()


def test_snapshot_offset() -> None:
    offset = snapshot_offset(1075775536, 19404, 1795255388704512, completed=True, emulation=DEBEZIUM_2_3_4)
    assert json.dumps(offset) == (
        '{"last_snapshot_record": true, "lsn": 1075775536, "txId": 19404, "ts_usec": 1795255388704512, "snapshot": true}'
    )
    assert StoredOffset.parse(offset).snapshot_running is False
    assert StoredOffset.parse(snapshot_offset(1, 2, 3, completed=False, emulation=DEBEZIUM_2_3_4)).snapshot_running is True


def test_a_heartbeat_of_2_3_4_after_filtered_changes_is_between_transactions() -> None:
    offset = StoredOffset.parse({"transaction_id": None, "lsn_proc": 90, "messageType": "NOOP", "lsn_commit": 90, "lsn": 90, "txId": 7})
    assert (offset.inside, offset.start, offset.counts) == (False, 90, None)


def test_records_have_no_context_headers() -> None:
    assert context_headers(former(), 0, "run") == ()
    assert len(context_headers(configured(), 0, "run")) == 4


def test_the_marker_is_left_to_the_schema_where_the_converter_fills_in_no_defaults() -> None:
    for config in (configured(), former()):
        rig, wal = StreamRig(ORDERS, config=config, converter=ConverterSettings(False, replace_null_with_default=False)), WalScript()
        source = rig.capture.source(replace(ORDERS, table="t"))
        assert source.defaults is False
        wal.begin()
        wal.relation(R_ORDERS)
        wal.insert(R_ORDERS, "1", "x")
        (sent,) = rig.feed(wal.take())
        assert sent.payload["source"]["snapshot"] is None
