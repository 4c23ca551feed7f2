"""Other output plugins' messages make the events that pgoutput's make: recorded sessions, and messages built by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from connector.errors import CdcError, ErrorKind
from connector.events.relation import join_relation, same_shape
from connector.types.codec import Column
from connector.wire.decoderbufs import Decoderbufs, split_name
from connector.wire.output_plugin import PLUGINS, adapter, start_options
from connector.wire.pgoutput import UNTOLD_MODIFIER, Relation, RelationColumn, parse_message, parse_relation
from connector.wire.pgoutput_writer import relation
from tests.support.each_case import each_case
from tests.support.plugin_rig import catalog_of, events, translated
from tests.support.plugin_session import OPTIONS, frames
from tests.support.stream_rig import catalog_table
from tests.support.wal_script import keepalive, xlog_data

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("output_plugin_recorded.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "pgoutput"])
def test_recorded_session_makes_the_same_events(name: str) -> None:
    expected = events(RECORDED, "pgoutput")
    assert {topic: len(records) for topic, records in expected.items()} == {
        "srv.Odd__S.T.able": 3,
        "srv.public.big": 8,
        "srv.public.pairs": 16,
        "srv.public.values_": 11,
        "srv.public.whole": 12,
    }
    got = events(RECORDED, name)
    for topic, records in expected.items():
        assert got[topic] == records
    assert set(got) == set(expected)


@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "pgoutput"])
def test_a_session_does_not_depend_on_where_bursts_end(name: str) -> None:
    taken = [frame for frame in frames(RECORDED["messages"][name]) if int.from_bytes(frame[1:9], "big") < _shapes_begin()]
    catalog = catalog_of(RECORDED["catalogs"][0][1])
    plugin = name.split(" ", 1)[0]
    at_once = adapter(plugin, "UTF8")
    one_by_one = adapter(plugin, "UTF8")
    assert at_once is not None
    assert one_by_one is not None
    expected = translated(at_once, taken, catalog)
    assert [made for frame in taken for made in translated(one_by_one, [frame], catalog)] == expected


def _shapes_begin() -> int:
    high, _, low = RECORDED["catalogs"][1][0].partition("/")
    return int(high, 16) << 32 | int(low, 16)


@pytest.mark.parametrize("plugin", [plugin for plugin in PLUGINS if plugin != "pgoutput"])
def test_keepalives_pass(plugin: str) -> None:
    reader = adapter(plugin, "UTF8")
    assert reader is not None
    assert translated(reader, [keepalive(77, reply=True)], {}) == [keepalive(77, reply=True)]


def test_pgoutput_needs_no_reader() -> None:
    assert adapter("pgoutput", "EUC_TW") is None


def test_an_unsupported_encoding_is_reported() -> None:
    with pytest.raises(CdcError) as caught:
        adapter("decoderbufs", "EUC_TW")
    assert caught.value.kind is ErrorKind.SOURCE_SETTING
    assert "EUC_TW" in caught.value.message


@each_case("encoding", ["UTF8", "SQL_ASCII", "LATIN1", "LATIN10", "WIN1252", "WIN1258", "KOI8R", "EUC_JP", "ISO_8859_8"])
def test_texts_in_these_encodings_can_be_read(encoding: str) -> None:
    reader = adapter("wal2json", encoding)
    assert reader is not None
    body = b'{"action":"M","transactional":true,"prefix":"p","content":"ascii"}'
    [made] = translated(reader, [xlog_data(1, body)], {})
    assert parse_message(made).content == b"ascii"


@pytest.mark.parametrize(("encoding", "text"), [("SQL_ASCII", "x\ufffd"), ("sql_ascii", "x\ufffd"), ("LATIN1", "xé")])
def test_only_sql_ascii_does_not_check_texts(encoding: str, text: str) -> None:
    reader = adapter("decoderbufs", encoding)
    assert isinstance(reader, Decoderbufs)
    assert reader.text(b"x\xe9") == text.encode()


def test_options_of_pgoutput() -> None:
    assert start_options("pgoutput", 130_000, "pub", {}) == [{"proto_version": "1", "publication_names": '"pub"'}]
    assert start_options("pgoutput", 140_000, "pub", {"messages": "false", "origin": "none"}) == [
        {"proto_version": "1", "publication_names": '"pub"', "messages": "false", "origin": "none"}
    ]


def test_the_publication_is_named_as_an_identifier() -> None:
    # pgoutput reads a list of identifiers: unquoted ones lose their capitals, and end at a comma or a blank.
    [options] = start_options("pgoutput", 130_000, """We"ird,'Pub""", {})
    assert options["publication_names"] == """"We""ird,'Pub\""""


def test_options_of_decoderbufs_are_the_wished_ones() -> None:
    assert start_options("decoderbufs", 150_000, "pub", {}) == [{}]
    assert start_options("decoderbufs", 150_000, "pub", {"a": "b"}) == [{"a": "b"}]


def test_options_of_wal2json_go_from_the_newest_release_to_the_oldest() -> None:
    choices = start_options("wal2json", 150_000, "pub", {"add-tables": "public.a"})
    assert [choice.get("format-version") for choice in choices] == ["2", "2", None]
    assert [choice.get("numeric-data-types-as-string") for choice in choices] == ["1", None, None]
    assert choices[2]["write-in-chunks"] == "1"
    assert {choice["add-tables"] for choice in choices} == {"public.a"}


@pytest.mark.parametrize(
    ("qualified", "parts"),
    [
        ("public.t", ("public", "t")),
        ('"Odd ""S"."T.able"', ('Odd "S', "T.able")),
        ('"a.b".c', ("a.b", "c")),
        ('s."""x"""', ("s", '"x"')),
    ],
)
def test_qualified_names_are_taken_apart(qualified: str, parts: tuple[str, str]) -> None:
    assert split_name(qualified) == parts


def test_a_description_overrides_the_catalog_which_supplies_the_rest() -> None:
    columns = (
        RelationColumn("told", 25, 7, key=False, not_null=False),
        RelationColumn("required", 25, -1, key=True, not_null=True),
        RelationColumn("untold", 25, UNTOLD_MODIFIER, key=False),
    )
    described = Relation(9, "public", "t", "d", columns)
    assert parse_relation(xlog_data(1, relation(described))) == described
    catalog = catalog_table("t", *(Column(column.name, 25, 3, not_null=column.name != "required") for column in columns))
    joined = join_relation(described, catalog)
    assert [(column.modifier, column.not_null) for column in joined.columns] == [(7, False), (-1, True), (3, True)]
    assert same_shape(described, joined)
    assert [column.modifier for column in join_relation(described, None).columns] == [7, -1, -1]


def test_shapes_differ_by_number_name_type_and_sent_modifier() -> None:
    described = Relation(9, "public", "t", "d", (RelationColumn("a", 25, 7, key=False),))
    assert same_shape(described, catalog_table("t", Column("a", 25, 7)))
    for other in (Column("b", 25, 7), Column("a", 23, 7), Column("a", 25, 8)):
        assert not same_shape(described, catalog_table("t", other))
    assert not same_shape(described, catalog_table("t"))
