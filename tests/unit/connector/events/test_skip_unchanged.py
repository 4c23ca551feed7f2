from __future__ import annotations

from dataclasses import replace

from connector.config.connector_config import parse
from connector.events.stream_settings import StreamSettings
from connector.record.json_converter import ConverterSettings
from connector.types.codec import Column
from connector.wire.pgoutput import UNTOLD_IDENTITY
from tests.support.stream_rig import INT4, TEXT, StreamRig, catalog_table, configured, relation_of
from tests.support.wal_script import UNCHANGED, WalScript

COLUMNS = (Column("id", INT4, not_null=True), Column("a", TEXT, default="'x'::text"), Column("hidden", TEXT))
FULL = catalog_table("f", *COLUMNS, primary_key=["id"], identity="f")
R_FULL = relation_of(FULL)
DEFAULT = catalog_table("f", *COLUMNS, primary_key=["id"])
R_DEFAULT = relation_of(DEFAULT)
SKIP = StreamSettings(skip_unchanged=True)


def started(table: object = FULL, settings: StreamSettings = SKIP, properties: dict[str, str] | None = None) -> tuple[StreamRig, WalScript]:
    relation = R_FULL if table is FULL else R_DEFAULT
    config, _ = parse({**configured().raw, "column.exclude.list": "public.f.hidden", **(properties or {})})
    rig, wal = StreamRig(FULL if table is FULL else DEFAULT, settings=settings, config=config), WalScript()
    wal.begin(1)
    wal.relation(relation)
    return rig, wal


def test_update_of_an_excluded_column_alone_is_left_out() -> None:
    rig, wal = started()
    wal.update(R_FULL, "1", "a", "new", old=["1", "a", "old"])
    wal.update(R_FULL, "1", UNCHANGED, "new", old=["1", "a", "old"])
    assert rig.feed(wal.take()) == []
    wal.update(R_FULL, "1", "b", "new", old=["1", "a", "old"])
    [sent] = rig.feed(wal.take())
    assert (sent.op, sent.payload["after"]) == ("u", {"id": 1, "a": "b"})


def test_without_the_property_it_is_sent() -> None:
    rig, wal = started(settings=StreamSettings())
    wal.update(R_FULL, "1", "a", "new", old=["1", "a", "old"])
    assert len(rig.feed(wal.take())) == 1


def test_without_whole_old_rows_it_is_sent() -> None:
    rig, wal = started(DEFAULT)
    wal.update(R_DEFAULT, "1", "a", "new")
    wal.update(R_DEFAULT, "1", UNCHANGED, "new")
    assert len(rig.feed(wal.take())) == 2


def test_with_a_plugin_whose_messages_do_not_say_the_identity() -> None:
    """The catalog says it. The adapters send whole old rows as keys, like those of the other identities."""
    for table, sent in ((FULL, 0), (DEFAULT, 1)):
        rig, wal = StreamRig(table, settings=SKIP), WalScript()
        wal.begin(1)
        wal.relation(replace(relation_of(table), identity=UNTOLD_IDENTITY))
        wal.update(relation_of(table), "1", "a", None, key=["1", "a", None])
        assert len(rig.feed(wal.take())) == sent


def test_null_replaced_by_the_default_is_a_change() -> None:
    rig, wal = started()
    wal.update(R_FULL, "1", "x", None, old=["1", None, None])
    [sent] = rig.feed(wal.take())
    # In JSON both look the same; other converters tell them apart.
    assert sent.payload["before"] == sent.payload["after"]


def test_a_masked_difference_is_no_change() -> None:
    rig, wal = started(properties={"column.mask.with.2.chars": "public.f.a"})
    wal.update(R_FULL, "1", "b", None, old=["1", "a", None])
    wal.update(R_FULL, "1", "b", None, old=["1", None, None])
    assert rig.feed(wal.take()) == []


def test_new_key_is_sent_even_if_values_do_not_show_it() -> None:
    """The reference drops it when the key's column is excluded, and the row stays under its old key for ever."""
    rig, wal = started(properties={"column.exclude.list": "public.f.(id|hidden)"})
    wal.update(R_FULL, "2", "a", None, old=["1", "a", None])
    assert [sent.op for sent in rig.feed(wal.take())] == ["d", None, "c"]


def test_excluded_key_columns_are_optional_in_streamed_keys() -> None:
    config, _ = parse({**configured().raw, "column.exclude.list": "public.f.(id|hidden)"})
    rig, wal = StreamRig(FULL, config=config, converter=ConverterSettings(schemas_enable=True)), WalScript()
    wal.begin(1)
    wal.relation(R_FULL)
    wal.insert(R_FULL, "2", "a", None)
    [sent] = rig.feed(wal.take())
    assert (sent.key_json, sent.payload["after"]) == ({"id": 2}, {"a": "a"})
    assert b'{"type":"int32","optional":true,"field":"id"}' in (sent.key or b"")
    in_snapshot = rig.capture.encoder(FULL)
    assert b'{"type":"int32","optional":false,"field":"id"}' in in_snapshot.key([b"2", None, None])
