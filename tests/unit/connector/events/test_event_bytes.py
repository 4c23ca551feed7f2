"""Our bytes against those of Debezium 3.6.3 for the same frames of a PostgreSQL 15 server, both recorded in one session."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from connector.events.capture import context_headers, key_change_headers
from connector.events.stream_settings import StreamSettings
from connector.record.batch import encode_headers
from connector.record.json_converter import ConverterSettings
from connector.types.codec import Column
from connector.wire.lsn import parse_lsn
from tests.support import wal_script
from tests.support.project import SUPPORT
from tests.support.stream_rig import Sent, StreamRig, catalog_table, configured

RECORDED: dict[str, Any] = json.loads((SUPPORT / "pgoutput_recorded.json").read_text(encoding="utf-8"))
ORDERS = catalog_table(
    "Odd Orders",
    Column("id", 23, not_null=True, default='nextval(\'"Inv"."Odd Orders_id_seq"\'::regclass)', serial=True),
    Column("customer", 1043, 44, not_null=True, default="'nobody'::character varying"),
    Column("total", 1700, 655366, not_null=True, default="9.90"),
    Column("paid", 16, default="false"),
    Column("placed", 1114, 6, not_null=True),
    Column("notes", 25),
    Column("facts", 3802, default="""'{"a": 1}'::jsonb"""),
    Column("raw", 17),
    Column("day", 1082),
    oid=50204,
    schema="Inv",
    primary_key=["id"],
    identity="f",
)
_MADE = re.compile(rb'"ts_ms":\d+,"ts_us":\d+,"ts_ns":(\d+)(\}*)$')
"""When the event was made: the last members of the payload."""


def played(schemas: str) -> list[tuple[Sent, dict[str, Any]]]:
    """Each record of ours beside the recorded one. Each frame is fed at the moment at which the reference made its first event."""
    rows = RECORDED["records"][schemas]
    run_id = dict(rows[0]["headers"])["__debezium.context.runId"]
    config = configured(topic_prefix=f"core_{schemas}", database_dbname="core_rec")
    context = list(context_headers(config, 0, run_id))
    rig = StreamRig(
        ORDERS,
        config=config,
        settings=StreamSettings(headers=encode_headers(context), key_change_headers=key_change_headers(context)),
        converter=ConverterSettings(schemas_enable=schemas == "on"),
    )
    ours: list[Sent] = []
    for frame in RECORDED["frames"]:
        if len(ours) >= len(rows):
            break
        found = _MADE.search((rows[len(ours)]["value"] or "").encode())
        now_ns = int(found.group(1)) if found else 1
        ours += rig.feed([wal_script.xlog_data(parse_lsn(frame["lsn"]), bytes.fromhex(frame["data"]))], now_ns)
    return list(zip(ours, rows, strict=True))


@pytest.mark.parametrize(("schemas", "count"), [("off", 9), ("on", 2)])
def test_keys_values_and_headers_are_byte_for_byte_the_recorded_ones(schemas: str, count: int) -> None:
    pairs = played(schemas)
    assert len(pairs) == count
    for sent, row in pairs:
        assert sent.topic == f"core_{schemas}.Inv.Odd_Orders"
        assert sent.key == row["key"].encode()
        assert sent.headers == encode_headers([(name, value.encode()) for name, value in row["headers"]])
        if row["value"] is None:
            assert sent.value is None
            continue
        assert sent.value is not None
        expected = row["value"].encode()
        made = _MADE.search(expected)
        assert made is not None
        # The create after a key change was made some microseconds after its delete; everything else is compared as it is.
        assert _MADE.sub(made.group(), sent.value) == expected
        if not any(name == "__debezium.oldkey" for name, _ in row["headers"]):
            assert sent.value == expected


FULL_EVENT = (
    b'{"before":{"id":1,"customer":"Zo\xc3\xab \\"Z\\" \\\\ \xe6\xbc\xa2\xe5\xad\x97 \\uD83D\\uDE00","total":"AeI6","paid":false,'
    b'"placed":1709251199123456,"notes":"long ","facts":"{\\"a\\": 1}","raw":"3q2+7w==","day":10956},'
    b'"after":{"id":1,"customer":"Zo\xc3\xab \\"Z\\" \\\\ \xe6\xbc\xa2\xe5\xad\x97 \\uD83D\\uDE00","total":"+w==","paid":false,'
    b'"placed":1709251199123456,"notes":"tab\\tnew\\nline","facts":"{\\"a\\": 1}","raw":"3q2+7w==","day":10956},'
    b'"source":{"version":"3.6.3.Final","connector":"postgresql","name":"core_off","ts_ms":1795254354045,"snapshot":"false",'
    b'"db":"core_rec","sequence":"[null,\\"571605280\\"]","ts_us":1795254354045758,"ts_ns":1795254354045758000,"schema":"Inv",'
    b'"table":"Odd Orders","txId":9456,"lsn":571605280,"xmin":null,"origin":null,"origin_lsn":null},"transaction":null,"op":"u",'
    b'"ts_ms":1795254354425,"ts_us":1795254354425478,"ts_ns":1795254354425478097}'
)


def test_one_event_spelled_out() -> None:
    assert played("off")[1][0].value == FULL_EVENT
    value, row = played("on")[1]
    envelope = json.loads(value.value or b"")
    assert list(envelope) == ["schema", "payload"]
    assert [field["field"] for field in envelope["schema"]["fields"]] == [
        "before",
        "after",
        "source",
        "transaction",
        "op",
        "ts_ms",
        "ts_us",
        "ts_ns",
    ]
    assert envelope == json.loads(row["value"])


def test_ops_are_those_of_the_session() -> None:
    ops = [sent.op for sent, _ in played("off")]
    # A null for the update of a column with a default shows the default (paid), a key change becomes three records.
    assert ops == ["c", "u", "d", None, "c", "d", None, "c", "c"]
    assert [sent.key_json["id"] for sent, _ in played("off")] == [1, 1, 1, 1, 77, 77, 77, 2, 3]
