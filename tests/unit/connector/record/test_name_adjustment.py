from __future__ import annotations

import json

import pytest

from connector.catalog.selection import Selection
from connector.config.connector_config import parse
from connector.errors import CdcError, ErrorKind
from connector.events.capture import Capture
from connector.record.json_converter import ConverterSettings
from connector.record.name_adjustment import name_adjuster
from connector.types.codec import Column
from tests.support.each_case import each_case
from tests.support.stream_rig import INT4, TEXT, TYPES, catalog_table, configured
from tests.support.warned import no_warning

ON = ConverterSettings(schemas_enable=True)


# Recorded from Debezium 3.6.3.
@each_case(
    ("name", "avro", "avro_unicode"),
    [
        ("id", "id", "id"),
        ("1st", "_1st", "_u0031st"),
        ("A1", "A1", "A1"),
        ("a-b", "a_b", "a_u002db"),
        ("c d", "c_d", "c_u0020d"),
        ("f.g", "f_g", "f_u002eg"),
        ("$d", "_d", "_u0024d"),
        ("_ok", "_ok", "_u005fok"),
        ("x_y", "x_y", "x_u005fy"),
        ("ünï", "_n_", "_u00fcn_u00ef"),
        ("漢字", "__", "_u6f22_u5b57"),
        ("😀x", "__x", "_ud83d_ude00x"),
        ("имя", "___", "_u438_u43c_u44f"),
        ("a\tb", "a_b", "a_u009b"),
        ("", "", ""),
    ],
)
def test_fields(name: str, avro: str, avro_unicode: str) -> None:
    assert name_adjuster("none", dots=False)(name) == name
    assert name_adjuster("avro", dots=False)(name) == avro
    assert name_adjuster("avro_unicode", dots=False)(name) == avro_unicode


def test_schemas_keep_their_dots_and_only_the_first_character_is_a_beginning() -> None:
    name = "1-p-x.y.sch-ema.1tab_le-x"
    assert name_adjuster("avro", dots=True)(name) == "_1_p_x.y.sch_ema.1tab_le_x"
    assert name_adjuster("avro_unicode", dots=True)(name) == "_u0031_u002dp_u002dx.y.sch_u002dema.1tab_u005fle_u002dx"


def capture(**properties: str) -> Capture:
    config, _ = parse({**configured().raw, **properties})
    return Capture(Selection.of(config), TYPES, ON, ON, no_warning)


def test_both_kinds_of_names_in_an_event() -> None:
    table = catalog_table("a-b", Column("k-1", INT4, not_null=True), Column("v v", TEXT), primary_key=["k-1"])
    encoder = capture(**{"field.name.adjustment.mode": "avro", "schema.name.adjustment.mode": "avro"}).encoder(table)
    assert encoder.topic == "srv.public.a-b"
    assert encoder.row([b"1", b"x"]) == b'{"k_1":1,"v_v":"x"}'
    assert encoder.key_text([b"1", None]) == b'{"k_1":1}'
    key = json.loads(encoder.key([b"1", None]))
    assert (key["schema"]["name"], key["schema"]["fields"][0]["field"], key["payload"]) == ("srv.public.a_b.Key", "k_1", {"k_1": 1})
    schema = json.loads(encoder.prefix + b"0" + encoder.closing)["schema"]
    assert (schema["name"], schema["fields"][0]["name"]) == ("srv.public.a_b.Envelope", "srv.public.a_b.Value")


def test_only_the_asked_kind_of_names() -> None:
    table = catalog_table("a-b", Column("v v", TEXT))
    fields_only = capture(**{"field.name.adjustment.mode": "avro"}).encoder(table)
    assert b"srv.public.a-b.Value" in fields_only.prefix
    assert b'"v_v"' in fields_only.prefix
    schemas_only = capture(**{"schema.name.adjustment.mode": "avro"}).encoder(table)
    assert b"srv.public.a_b.Value" in schemas_only.prefix
    assert b'"v v"' in schemas_only.prefix


def test_columns_with_the_same_adjusted_name_are_refused() -> None:
    table = catalog_table("t", Column("a-b", TEXT), Column("c", TEXT), Column("a.b", TEXT))
    with pytest.raises(CdcError, match=r"whose adjusted names are the same: a-b, a\.b") as caught:
        capture(**{"field.name.adjustment.mode": "avro"}).encoder(table)
    assert caught.value.kind is ErrorKind.SCHEMA
    assert capture(**{"field.name.adjustment.mode": "avro_unicode"}).encoder(table).row([b"1", b"2", b"3"])
    assert capture(**{"field.name.adjustment.mode": "avro", "column.exclude.list": "public.t.a-b"}).encoder(table)


def test_topics_of_the_default_strategy_leave_the_schema_out() -> None:
    table = catalog_table("t", Column("id", INT4), schema="inv")
    assert capture().encoder(table).topic == "srv.inv.t"
    strategy = "io.debezium.schema.DefaultTopicNamingStrategy"
    encoder = capture(**{"topic.naming.strategy": strategy}).encoder(table)
    assert encoder.topic == "srv.t"
    assert b'"srv.t.Value"' in encoder.prefix
    assert capture(**{"topic.naming.strategy": strategy}).topics.heartbeat() == "__debezium-heartbeat.srv"


def test_former_heartbeat_prefix_counts_where_the_present_one_is_not_set() -> None:
    config, notices = parse({**configured().raw, "heartbeat.topics.prefix": "hb"})
    assert Capture(Selection.of(config), TYPES, ON, ON, no_warning).topics.heartbeat() == "hb.srv"
    assert any("heartbeat.topics.prefix is a former name" in notice for notice in notices)
    assert capture(**{"heartbeat.topics.prefix": "hb", "topic.heartbeat.prefix": "beats"}).topics.heartbeat() == "beats.srv"


def test_comments_do_not_reach_schemas() -> None:
    table = catalog_table("t", Column("v", TEXT, comment="a comment"))
    assert b"a comment" not in capture(**{"include.schema.comments": "true"}).encoder(table).prefix
