from __future__ import annotations

import json

import pytest

from connector.delivery.offsets import Position, StoredOffset
from connector.record.json_converter import ConverterSettings
from connector.types.codec import Column
from tests.support import wal_script
from tests.support.stream_rig import INT4, NOW_NS, TEXT, Sent, StreamRig, catalog_table, configured, relation_of
from tests.support.wal_script import WalScript

ORDERS = catalog_table("orders", Column("id", INT4, not_null=True), Column("note", TEXT), primary_key=["id"])
R_ORDERS = relation_of(ORDERS)
COMMIT_US = 1_700_000_000_123_456
TOPIC = "srv.message"


def outside(wal: WalScript, prefix: str = "p", content: bytes = b"m") -> int:
    return wal.message(prefix, content, transactional=False)


def messages(rig: StreamRig) -> list[Sent]:
    return rig.sent.get(TOPIC, [])


def prefixes(rig: StreamRig) -> list[str]:
    return [sent.key_json["prefix"] for sent in messages(rig)]


def test_message_of_a_transaction_has_the_recorded_form() -> None:
    rig, wal = StreamRig(ORDERS, messages=True, last_commit=77), WalScript()
    wal.begin(42, commit_us=COMMIT_US)
    lsn = wal.message('a "b" é', b"\x00\xff")
    rig.feed(wal.take())
    (sent,) = messages(rig)
    assert (sent.topic, sent.headers, sent.timestamp) == (TOPIC, b"\0", NOW_NS // 1_000_000)
    assert sent.key == '{"prefix":"a \\"b\\" é"}'.encode()
    assert sent.value == (
        b'{"op":"m","ts_ms":%d,"source":{"version":"3.6.3.Final","connector":"postgresql","name":"srv","ts_ms":1700000000123,'
        b'"snapshot":"false","db":"shop","sequence":"[\\"77\\",\\"%d\\"]","ts_us":1700000000123456,"ts_ns":1700000000123456000,'
        b'"schema":"","table":"","txId":42,"lsn":%d,"xmin":null,"origin":null,"origin_lsn":null},"transaction":null,'
        b'"message":{"prefix":"a \\"b\\" \xc3\xa9","content":"AP8="}}' % (NOW_NS // 1_000_000, lsn, lsn)
    )
    assert rig.stream.position == Position(lsn, 77, "MESSAGE", 42, COMMIT_US, 1)
    assert rig.stream.events == 1


@pytest.mark.parametrize(
    ("mode", "content", "kind"),
    [("bytes", "++8=", "bytes"), ("base64", "++8=", "string"), ("base64-url-safe", "--8=", "string"), ("hex", "fbef", "string")],
)
def test_content_by_binary_handling_mode(mode: str, content: str, kind: str) -> None:
    config = configured(binary_handling_mode=mode)
    rig, wal = StreamRig(messages=True, config=config, converter=ConverterSettings()), WalScript()
    outside(wal, content=b"\xfb\xef")
    rig.feed(wal.take())
    value = json.loads(messages(rig)[0].value or b"")
    assert value["payload"]["message"]["content"] == content
    schema = value["schema"]
    assert [field["field"] for field in schema["fields"]] == ["op", "ts_ms", "source", "transaction", "message"]
    assert (schema["name"], schema["version"]) == ("io.debezium.connector.postgresql.MessageValue", 1)
    message = schema["fields"][-1]
    assert (message["name"], message["version"], message["optional"]) == ("io.debezium.connector.postgresql.Message", 1, False)
    assert message["fields"] == [
        {"type": "string", "optional": True, "field": "prefix"},
        {"type": kind, "optional": True, "field": "content"},
    ]


def test_key_schema() -> None:
    rig, wal = StreamRig(messages=True, converter=ConverterSettings()), WalScript()
    outside(wal)
    rig.feed(wal.take())
    assert messages(rig)[0].key == (
        b'{"schema":{"type":"struct","fields":[{"type":"string","optional":true,"field":"prefix"}],"optional":false,'
        b'"name":"io.debezium.connector.postgresql.MessageKey","version":1},"payload":{"prefix":"p"}}'
    )


def test_the_topic_has_a_dot_for_any_delimiter() -> None:
    rig, wal = StreamRig(messages=True, config=configured(topic_delimiter="_")), WalScript()
    outside(wal)
    assert [sent.topic for sent in rig.feed(wal.take())] == [TOPIC]


@pytest.mark.parametrize(
    ("include", "exclude", "wanted"),
    [
        ("", "", ["foo", "FOO1", "bar", ""]),
        ("foo.*", "", ["foo", "FOO1"]),
        ("fo", "", []),
        ("bar,foo", "", ["foo", "bar"]),
        ("", "foo.*", ["bar", ""]),
        ("", "bar, foo", ["FOO1", ""]),
        ("", ".*", []),
    ],
)
def test_prefixes_are_matched_whole_and_without_case(include: str, exclude: str, wanted: list[str]) -> None:
    lists = {name: value for name, value in (("include", include), ("exclude", exclude)) if value}
    config = configured(**{f"message_prefix_{name}_list": value for name, value in lists.items()})
    rig, wal = StreamRig(messages=True, config=config), WalScript()
    wal.begin()
    for prefix in ("foo", "FOO1", "bar", ""):
        wal.message(prefix, b"")
    rig.feed(wal.take())
    assert prefixes(rig) == wanted


def test_a_message_outside_of_transactions_is_a_separate_commit() -> None:
    rig, wal = StreamRig(ORDERS, messages=True, last_commit=77), WalScript()
    wal.begin(42, commit_us=COMMIT_US)
    wal.origin(5, "node")
    wal.relation(R_ORDERS)
    wal.commit()
    lsn = outside(wal)
    rig.feed(wal.take())
    source = messages(rig)[0].payload["source"]
    # The time and the origin of the last transaction stay, as recorded.
    assert (source["ts_us"], source["origin"], source["origin_lsn"]) == (COMMIT_US, "node", 5)
    assert (source["txId"], source["sequence"], source["lsn"]) == (None, f'["{lsn}","{lsn}"]', lsn)
    assert rig.stream.position == Position(lsn, lsn, "MESSAGE", None, COMMIT_US)
    assert (rig.stream.between, rig.stream.position.inside, rig.stream.position.confirmable) == (True, False, lsn)
    assert json.dumps(rig.stream.position.to_offset()) == json.dumps(
        {"lsn_proc": lsn, "messageType": "MESSAGE", "lsn_commit": lsn, "lsn": lsn, "ts_usec": COMMIT_US}
    )
    wal.begin(43)
    event = wal.insert(R_ORDERS, "1", None, lsn=lsn - 8)
    rig.feed(wal.take())
    # A transaction that was open meanwhile: its changes lie before the message.
    assert rig.sent["srv.public.orders"][-1].payload["source"]["sequence"] == f'["{lsn}","{event}"]'
    assert rig.sent["srv.public.orders"][-1].payload["source"]["origin"] is None


def test_a_message_that_is_filtered_out_moves_the_position_all_the_same() -> None:
    rig, wal = StreamRig(messages=True, config=configured(message_prefix_exclude_list="p")), WalScript()
    lsn = outside(wal)
    assert rig.feed(wal.take()) == []
    assert rig.stream.position == Position(lsn, lsn, "MESSAGE", None, 0)
    assert rig.stream.events == 0


def test_first_message_of_all_has_the_time_of_the_snapshot() -> None:
    offset = StoredOffset.parse({"lsn": 5, "ts_usec": 1234567, "snapshot": "INITIAL", "snapshot_completed": True})
    rig, wal = StreamRig(messages=True, offset=offset), WalScript()
    outside(wal)
    rig.feed(wal.take())
    assert messages(rig)[0].payload["source"]["ts_ms"] == 1234


def stored(rig: StreamRig) -> StoredOffset:
    assert rig.stream.position is not None
    return StoredOffset.parse(json.loads(json.dumps(rig.stream.position.to_offset())))


def test_restart_after_a_message_passes_over_it_and_nothing_else() -> None:
    wal = WalScript()
    open_change = wal.lsn
    wal.lsn += 0x100
    outside(wal, "sent")
    first_frames = wal.take()
    first = StreamRig(ORDERS, messages=True)
    first.feed(first_frames)
    offset = stored(first)
    assert (offset.inside, offset.after_message) == (False, True)
    # The server sends the last message again, then later ones, including a transaction whose change precedes the message.
    second = StreamRig(ORDERS, messages=True, offset=offset)
    outside(wal, "next")
    wal.begin(9)
    wal.relation(R_ORDERS)
    wal.insert(R_ORDERS, "1", None, lsn=open_change)
    wal.commit()
    second.feed([*first_frames, *wal.take()])
    assert prefixes(second) == ["next"]
    assert [sent.op for sent in second.sent["srv.public.orders"]] == ["c"]


def test_restart_inside_a_transaction_passes_over_the_message_before_it() -> None:
    wal = WalScript()
    outside(wal, "sent")
    wal.begin(9)
    wal.relation(R_ORDERS)
    wal.insert(R_ORDERS, "1", None)
    wal.message("inside", b"")
    frames = wal.take()
    first = StreamRig(ORDERS, messages=True)
    first.feed(frames)
    assert prefixes(first) == ["sent", "inside"]
    offset = stored(first)
    assert (offset.inside, offset.after_message, offset.start) == (True, False, offset.commit)
    wal.message("new", b"")
    second = StreamRig(ORDERS, messages=True, offset=offset)
    second.feed([*frames, *wal.take()])
    assert prefixes(second) == ["new"]
    assert second.sent["srv.public.orders"] == []


def test_restart_between_transactions_sends_a_message_that_begins_where_the_last_one_ended() -> None:
    wal = WalScript()
    wal.begin(9)
    end = wal.commit()
    first = StreamRig(messages=True)
    first.feed(wal.take())
    assert outside(wal) == end
    second = StreamRig(messages=True, offset=stored(first))
    second.feed(wal.take())
    assert prefixes(second) == ["p"]


def test_idle_position_after_a_message() -> None:
    rig, wal = StreamRig(messages=True), WalScript()
    lsn = outside(wal)
    rig.feed(wal.take())
    assert rig.stream.idle_position() is None
    later = wal.keepalive(lsn + 4096)
    rig.feed(wal.take())
    assert rig.stream.idle_position() == Position(later, lsn, "COMMIT", None, 0)


def test_messages_without_a_topic_to_go_to_still_count() -> None:
    rig, wal = StreamRig(), WalScript()
    wal.begin(9)
    lsn = wal.message("p", b"x")
    assert rig.feed(wal.take()) == []
    assert rig.stream.position == Position(lsn, None, "MESSAGE", 9, COMMIT_US)


def test_a_message_outside_while_a_transaction_is_read_is_still_a_message() -> None:
    # pgoutput never does this without streaming; the table of transitions allows it.
    rig, wal = StreamRig(ORDERS, messages=True), WalScript()
    wal.begin(9)
    wal.relation(R_ORDERS)
    rig.feed([*wal.take(), wal_script.xlog_data(500, wal_script.message("p", b"", lsn=500, transactional=False))])
    assert (prefixes(rig), rig.stream.between, rig.stream.position) == (["p"], False, None)
    wal.insert(R_ORDERS, "1", None)
    rig.feed(wal.take())
    assert rig.sent["srv.public.orders"][0].payload["source"]["txId"] == 9
