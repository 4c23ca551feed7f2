from __future__ import annotations

import json
from typing import Any

import pytest

from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable
from connector.config.connector_config import parse
from connector.events.capture import Capture
from connector.record.json_converter import ConverterSettings
from connector.types.codec import Column, TypeInfo
from tests.support.stream_rig import INT4, TEXT, TYPES, StreamRig, catalog_table, configured, relation_of
from tests.support.wal_script import WalScript
from tests.support.warned import Warned, no_warning

VARCHAR = 1043
TABLE = CatalogTable(
    5000, "public", "t", (Column("id", INT4, not_null=True, default="nextval('s')"), Column("v", VARCHAR, 44), Column("w", TEXT)), ("id",)
)
TYPE = "__debezium.source.column.type"
TRUNCATE, MASK = {"column.truncate.to.2.chars": "public.t.v"}, {"column.mask.with.3.chars": "public.t.v"}
BY_COLUMN, BY_TYPE = {"column.propagate.source.type": "public.t.v"}, {"datatype.propagate.source.type": r"public\.t\.varchar"}
HASH, HASH_V2 = {"column.mask.hash.MD5.with.salt.s": "public.t.v"}, {"column.mask.hash.v2.MD5.with.salt.s": "public.t.v"}
ORDER = [TRUNCATE, MASK, BY_COLUMN, BY_TYPE, HASH, HASH_V2]


def value_schema(table: CatalogTable, warnings: Warned, **properties: str) -> dict[str, dict[str, Any]]:
    """The fields of the row in the value's schema, by name."""
    config, _ = parse({**configured().raw, **properties})
    converter = ConverterSettings(schemas_enable=True)
    encoder = Capture(Selection.of(config), TYPES, converter, converter, warnings).encoder(table)
    schema = json.loads(encoder.prefix + b"0" + encoder.closing)["schema"]
    [row] = [field for field in schema["fields"] if field["field"] == "after"]
    return {field["field"]: field for field in row["fields"]}


def parameters(rules: dict[str, str], warnings: Warned) -> list[str]:
    return list(value_schema(TABLE, warnings, **rules)["v"].get("parameters", {}))


@pytest.mark.parametrize("first", range(len(ORDER) - 1))
def test_only_the_first_kind_of_rule_counts(first: int) -> None:
    alone = parameters(ORDER[first], Warned())
    assert alone
    for later in ORDER[first + 1 :]:
        warnings = Warned()
        assert parameters({**later, **ORDER[first]}, warnings) == alone
        hides = later not in (BY_COLUMN, BY_TYPE)
        assert len(warnings) == hides, warnings
        assert not hides or "table=public.t column=v rule=column.mask" in warnings[0]


def test_parameters_of_the_source_type_in_their_order() -> None:
    [shown] = [value_schema(TABLE, Warned(), **BY_COLUMN)["v"]["parameters"]]
    assert list(shown.items()) == [
        (TYPE, "VARCHAR"),
        ("__debezium.source.column.length", "40"),
        ("__debezium.source.column.scale", "0"),
        ("__debezium.source.column.name", "v"),
    ]


def test_version_2_did_not_show_the_columns_name() -> None:
    fields = value_schema(TABLE, Warned(), **{**BY_COLUMN, "connector.plugin.version": "2.3.4.Final"})
    assert list(fields["v"]["parameters"]) == [TYPE, "__debezium.source.column.length", "__debezium.source.column.scale"]


@pytest.mark.parametrize(
    ("pattern", "columns"),
    [
        ("public.t.text", ["w"]),
        (r".+\.VARCHAR", ["v"]),
        (r".+\.SERIAL", ["id"]),
        ("text", Warned()),
        ("public.text", Warned()),
        # As the documentation of 1.x writes it; the reference matches it no more.
        ("shop.public.t.text", ["w"]),
        ("store.public.t.text", Warned()),
    ],
)
def test_types_are_matched_after_the_table(pattern: str, columns: list[str]) -> None:
    fields = value_schema(TABLE, Warned(), **{"datatype.propagate.source.type": pattern})
    assert [name for name, field in fields.items() if TYPE in field.get("parameters", {})] == columns


def test_keys_have_no_source_type() -> None:
    config, _ = parse({**configured().raw, "column.propagate.source.type": ".*"})
    converter = ConverterSettings(schemas_enable=True)
    encoder = Capture(Selection.of(config), TYPES, converter, converter, no_warning).encoder(TABLE)
    assert b"__debezium" not in encoder.key([b"1", None, None])
    assert b"__debezium" in encoder.prefix


def test_a_rule_that_hides_nothing_is_reported() -> None:
    warnings = Warned()
    fields = value_schema(TABLE, warnings, **{"column.mask.with.3.chars": "public.t.id"})
    assert fields["id"]["parameters"] == {"masked": "true"}
    assert warnings == ["column is not masked table=public.t column=id type=serial reason=its type is not a text type"]


def test_rules_ask_for_whole_names_without_regard_to_case() -> None:
    for pattern, matches in (("PUBLIC.T.V", True), ("t.v", False), ("v", False), ("shop.public.t.v", True), ("store.public.t.v", False)):
        assert ("parameters" in value_schema(TABLE, Warned(), **{"column.mask.with.3.chars": pattern})["v"]) is matches, pattern


def test_name_columns_are_read_only_in_snapshots() -> None:
    """As recorded: the reference's decoder has no reader for the type, unless unknown types are asked for."""
    types = {**TYPES, 19: TypeInfo(19, "name", "pg_catalog")}
    table = catalog_table("t", Column("id", INT4, not_null=True), Column("n", 19), Column("r", 19, not_null=True), primary_key=["id"])
    relation = relation_of(table)
    for include, streamed in (("false", {"id": 1, "n": None, "r": ""}), ("true", {"id": 1, "n": "x", "r": "y"})):
        config, _ = parse({**configured().raw, "include.unknown.datatypes": include})
        rig, wal = StreamRig(table, config=config, types=types), WalScript()
        wal.begin(1)
        wal.relation(relation)
        wal.insert(relation, "1", "x", "y")
        [sent] = rig.feed(wal.take())
        assert sent.payload["after"] == streamed
        assert rig.capture.encoder(table).row([b"1", b"x", b"y"]) == b'{"id":1,"n":"x","r":"y"}'
