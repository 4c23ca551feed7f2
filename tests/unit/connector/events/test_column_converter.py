"""User-defined column converters, compared with what Debezium 3.6.3 and 2.3.4 sent with equivalent Java converters."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

import pytest

from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig, parse
from connector.config.validation import error_lines, validate, warning_lines
from connector.errors import CdcError, ErrorKind
from connector.events.capture import Capture
from connector.events.converted_columns import ConvertedColumns, _fits
from connector.events.stream_settings import StreamSettings
from connector.record.json_converter import ConverterSettings
from connector.record.schema import BYTES, DECIMAL, INT32, STRING, Field, Schema
from connector.types.codec import Column, TypeInfo
from tests.support.each_case import each_case
from tests.support.probe_converters import Probe
from tests.support.stream_rig import INT4, PLUGINS, TEXT, TYPES, Sent, StreamRig, catalog_table, configured, relation_of
from tests.support.wal_script import UNCHANGED, Cell, WalScript
from tests.support.warned import Warned

MINIMAL = {
    "name": "c",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "nowhere",
    "database.user": "nobody",
    "database.dbname": "shop",
    "topic.prefix": "srv",
}
PROBE = "tests.support.probe_converters:Probe"
ID = Column("id", INT4, not_null=True)
TABLE = catalog_table(
    "t",
    ID,
    Column("a", TEXT, default="'A'::text"),
    Column("nn", TEXT, not_null=True, default="'N'::text"),
    Column("x", TEXT),
    primary_key=["id"],
)


def probe(name: str = "p", **properties: str) -> dict[str, str]:
    """The properties of a probe; an underscore stands for a dot."""
    return {f"{name}.type": PROBE, **{f"{name}.{key.replace('_', '.')}": value for key, value in properties.items()}}


def config(properties: dict[str, str], names: str = "p") -> ConnectorConfig:
    return parse({**MINIMAL, "converters": names, **properties})[0]


def rig(table: CatalogTable, properties: dict[str, str], names: str = "p", schemas: bool = False, **settings: Any) -> StreamRig:
    converter = ConverterSettings(schemas_enable=schemas, **settings.pop("converter", {}))
    return StreamRig(
        table,
        config=config(properties, names),
        settings=StreamSettings(**settings),
        converter=converter,
        types=settings.pop("types", None),
    )


def inserted(played: StreamRig, table: CatalogTable, *rows: tuple[Cell, ...]) -> list[Sent]:
    wal = WalScript()
    relation = relation_of(table)
    wal.begin()
    wal.relation(relation)
    for row in rows:
        wal.insert(relation, *row)
    wal.commit()
    return played.feed(wal.take())


def fields(sent: Sent) -> dict[str, Any]:
    schema = json.loads(sent.value or b"")["schema"]
    [after] = [field for field in schema["fields"] if field["field"] == "after"]
    return {field["field"]: field for field in after["fields"]}


def test_values_nulls_defaults_and_keys_are_converted() -> None:
    table = catalog_table(
        "t", ID, Column("a", TEXT), Column("nn", TEXT, not_null=True, default="'dflt'::text"), Column("o", TEXT), primary_key=["id"]
    )
    played = rig(table, probe(columns=r".*\.(id|a|nn)", schema_name="first"), schemas=True)
    first, second = inserted(played, table, ("1", "a", "nn", None), ("9", None, "dflt", None))
    assert fields(first) == {
        "id": {"type": "string", "optional": False, "name": "first", "field": "id"},
        "a": {"type": "string", "optional": True, "name": "first", "field": "a"},
        "nn": {"type": "string", "optional": False, "name": "first", "default": "text:dflt", "field": "nn"},
        "o": {"type": "string", "optional": True, "field": "o"},
    }
    assert first.payload["after"] == {"id": "text:1", "a": "text:a", "nn": "text:nn", "o": None}
    assert second.payload["after"] == {"id": "text:9", "a": "null", "nn": "text:dflt", "o": None}
    assert (first.key_json, second.key_json) == ({"id": "text:1"}, {"id": "text:9"})
    assert json.loads(first.key or b"")["schema"]["fields"] == [{"type": "string", "optional": False, "name": "first", "field": "id"}]


def test_the_first_converter_that_wants_a_column_gets_it() -> None:
    table = catalog_table("t", ID, Column("a", TEXT), Column("b", TEXT), primary_key=["id"])
    one, two = probe("p", columns=r".*\.a", schema_name="first"), probe("q", columns=r".*\.[ab]", schema_name="second")
    [sent] = inserted(rig(table, {**one, **two}, " p, q,", schemas=True), table, ("1", "a", "b"))
    assert {name: field.get("name") for name, field in fields(sent).items()} == {"id": None, "a": "first", "b": "second"}


def test_masks_and_propagated_types_work_on_what_was_converted() -> None:
    table = catalog_table("t", ID, *(Column(name, TEXT) for name in ("msk", "trc", "prop")), primary_key=["id"])
    rules = {
        "column.mask.with.3.chars": "public.t.msk",
        "column.truncate.to.4.chars": "public.t.trc",
        "column.propagate.source.type": "public.t.prop",
    }
    played = rig(table, {**probe(columns=r"(?!.*\.id$).*", schema_name="n"), **rules}, schemas=True)
    first, second = inserted(played, table, ("1", "m", "t", "p"), ("2", None, None, None))
    assert first.payload["after"] == {"id": 1, "msk": "***", "trc": "text", "prop": "text:p"}
    assert second.payload["after"] == {"id": 2, "msk": "***", "trc": "null", "prop": "null"}
    reported = fields(first)
    assert reported["msk"]["parameters"] == {"masked": "true"}
    assert reported["trc"] == {"type": "string", "optional": True, "name": "n", "parameters": {"truncateLength": "4"}, "field": "trc"}
    assert reported["prop"]["parameters"]["__debezium.source.column.type"] == "TEXT"


def test_a_failed_value_is_replaced_by_the_default_and_reported_without_the_value() -> None:
    played = rig(TABLE, probe(columns=r".*\.(a|nn)", mode="picky"))
    records = inserted(played, TABLE, ("4", "bad", "bad", None), ("5", "nil", "nil", None), ("6", None, "ok", None))
    assert [record.payload["after"] for record in records] == [
        {"id": 4, "a": "A", "nn": "N", "x": None},
        {"id": 5, "a": "A", "nn": "N", "x": None},
        {"id": 6, "a": "A", "nn": "ok", "x": None},
    ]
    assert [(table, column) for table, column, _ in played.failures.reported] == [("public.t", "a"), ("public.t", "nn")]
    for _, _, reason in played.failures.reported:
        assert reason.startswith("converter p raised RuntimeError at probe_converters.py:")
        assert "secret" not in reason


def test_updates_and_deletes_convert_the_null_of_what_was_not_sent() -> None:
    played = rig(TABLE, probe(columns=r".*\.(a|nn)", mode="picky"))
    wal, relation = WalScript(), relation_of(TABLE)
    wal.begin()
    wal.relation(relation)
    wal.update(relation, "4", "bad", "bad", "1")
    wal.delete(relation, key=["6", None, None, None])
    update, delete, _tombstone = played.feed(wal.take())
    assert update.payload["after"] == {"id": 4, "a": "A", "nn": "N", "x": "1"}
    assert delete.payload["before"] == {"id": 6, "a": "A", "nn": "N", "x": None}


def test_without_a_default_failed_values_are_null() -> None:
    table = catalog_table("t", ID, Column("a", TEXT), Column("nn", TEXT, not_null=True), primary_key=["id"])
    played = rig(table, probe(columns=r".*\.a", mode="refusing"))
    records = inserted(played, table, ("1", "a", "nn"), ("2", None, "nn"))
    assert [record.payload["after"] for record in records] == [{"id": 1, "a": None, "nn": "nn"}, {"id": 2, "a": None, "nn": "nn"}]
    # A NULL is the converter's too, and fails like any other value.
    assert [column for _, column, _ in played.failures.reported] == ["a", "a"]


def test_fail_mode_fails() -> None:
    table = catalog_table("t", ID, Column("a", TEXT), primary_key=["id"])
    with pytest.raises(
        CdcError, match=r"A value of column a of table public.t cannot be converted: converter p raised RuntimeError"
    ) as caught:
        inserted(rig(table, probe(columns=r".*\.a", mode="refusing"), conversion_failure="fail"), table, ("1", "a"))
    assert caught.value.kind is ErrorKind.VALUE


@pytest.mark.parametrize("text", ["bad", "nil"])
def test_a_required_column_without_a_value_fails_the_event(text: str) -> None:
    table = catalog_table("t", ID, Column("nn", TEXT, not_null=True), primary_key=["id"])
    properties = probe(columns=r".*\.nn", mode="picky")
    with pytest.raises(CdcError, match=r"Column nn of table public.t needs a value, and its converter has none") as caught:
        inserted(rig(table, properties), table, ("1", "ok"), ("2", text))
    assert caught.value.kind is ErrorKind.VALUE
    played = rig(table, properties, processing_failure="warn")
    records = inserted(played, table, ("1", "ok"), ("2", text), ("3", "ok"))
    assert [record.payload["after"]["id"] for record in records] == [1, 3]
    assert len(played.failures.left_out) == 1


@pytest.mark.parametrize("text", ["bad", "nil"])
def test_a_key_without_a_value_fails_the_event(text: str) -> None:
    table = catalog_table("t", Column("id", TEXT, not_null=True), primary_key=["id"])
    properties = probe(columns=r".*\.id", mode="picky")
    with pytest.raises(CdcError):
        inserted(rig(table, properties), table, ("ok",), (text,))
    records = inserted(rig(table, properties, processing_failure="warn"), table, ("ok",), (text,), ("ok2",))
    assert [record.key_json for record in records] == [{"id": "ok"}, {"id": "ok2"}]


def test_a_schema_that_is_optional_stays_so() -> None:
    table = catalog_table("t", ID, Column("nn", TEXT, not_null=True), primary_key=["id"])
    played = rig(table, probe(columns=r".*\.nn", mode="picky", optional="true"), schemas=True)
    ok, nil = inserted(played, table, ("1", "ok"), ("2", "nil"))
    assert fields(ok)["nn"]["optional"] is True
    assert nil.payload["after"] == {"id": 2, "nn": None}


def test_null_is_written_as_the_schema_has_it() -> None:
    properties = probe(columns=r".*\.(a|x)", mode="picky")
    played = rig(TABLE, properties, converter={"replace_null_with_default": False})
    [sent] = inserted(played, TABLE, ("1", "nil", "n", "nil"))
    assert sent.payload["after"] == {"id": 1, "a": None, "nn": "n", "x": None}


def updated(table: CatalogTable, properties: dict[str, str]) -> Any:
    played = rig(table, properties)
    wal, relation = WalScript(), relation_of(table)
    wal.begin()
    wal.relation(relation)
    wal.update(relation, "1", UNCHANGED)
    [sent] = played.feed(wal.take())
    return sent.payload["after"]["big"]


def test_a_large_value_that_was_not_sent_is_not_the_converter_s() -> None:
    optional = catalog_table("t", ID, Column("big", TEXT), primary_key=["id"])
    required = catalog_table("t", ID, Column("big", TEXT, not_null=True), primary_key=["id"])
    for table in (optional, required):
        assert updated(table, probe(columns=r".*\.big")) == "__debezium_unavailable_value"
        assert updated(table, probe(columns=r".*\.big", unavailable="gone")) == "gone"
    number = probe(columns=r".*\.big", schema_type="int32", mode="number")
    assert updated(optional, number) is None
    with pytest.raises(CdcError, match=r"Column big of table public.t needs a value"):
        updated(required, number)


def test_a_column_without_a_mapping_comes_in_with_its_converter() -> None:
    types = TYPES | {90: TypeInfo(90, "tsquery", "pg_catalog")}
    table = catalog_table("t", ID, Column("q", 90), Column("other", 90), primary_key=["id"])
    capture = Capture(
        Selection.of(config(probe(columns=r".*\.q"))),
        types,
        ConverterSettings(),
        ConverterSettings(schemas_enable=False),
        Warned(),
        PLUGINS,
    )
    for streamed in (False, True):
        encoder = capture.encoder(replace(table, streamed=streamed))
        assert encoder.row([b"1", b"'a' & 'b'", b"x"]) == b"""{"id":1,"q":"text:'a' & 'b'"}"""


@pytest.mark.parametrize(("version", "serial_name"), [("3.6.3.Final", "int4"), ("3.7.0.Final", "serial")])
def test_a_converter_gets_the_same_values_in_snapshot_and_stream(version: str, serial_name: str) -> None:
    types = TYPES | {91: TypeInfo(91, "price", "shop", "d", base=1700, base_modifier=(8 << 16) + 2 + 4, visible=False)}
    serial = Column("id", INT4, not_null=True, default="nextval('t_id_seq'::regclass)", serial=True)
    table = catalog_table("t", serial, Column("p", 91), Column("v", 1043, 9), Column("l", 1007), primary_key=["id"])
    settings = config({**probe(columns="none"), "connector.plugin.version": version})
    converted = ConvertedColumns(settings.column_converters, PLUGINS)
    capture = Capture(Selection.of(settings), types, ConverterSettings(), ConverterSettings(), Warned(), PLUGINS)
    seen = []
    for streamed in (False, True):
        capture._converted = converted
        probes = cast("Probe", converted._converters[0][1])
        probes.seen.clear()
        capture.encoder(replace(table, streamed=streamed))
        seen.append({column.name: column for column in probes.seen})
    assert seen[0] == seen[1]
    column = seen[0]["p"]
    assert (column.table, column.type_name, column.base_type, column.length, column.scale) == ("public.t", "price", "numeric", 8, 2)
    assert (column.optional, column.default) == (True, None)
    number = seen[0]["id"]
    assert (number.type_name, number.base_type, number.default, number.optional) == (serial_name, "int4", "0", False)
    assert (seen[0]["v"].type_name, seen[0]["v"].length) == ("varchar", 5)
    assert (seen[0]["l"].type_name, seen[0]["l"].base_type) == ("_int4", "_int4")


@each_case(
    ("oid", "modifier", "expression", "text"),
    [
        (21, -1, "3", "3"),
        (16, -1, "true", "t"),
        (16, -1, "false", "f"),
        (1700, 524294, "1.5", "1.50"),
        (TEXT, -1, "'it''s'::text", "it's"),
        (TEXT, -1, "lower('X'::text)", ""),
        (TEXT, -1, "NULL::text", None),
        (2950, -1, "'00000000-0000-0000-0000-000000000001'::uuid", "00000000-0000-0000-0000-000000000001"),
        (1082, -1, "'2020-01-02'::date", "2020-01-02"),
        (1082, -1, "'infinity'::date", "infinity"),
        (1082, -1, "CURRENT_DATE", "1970-01-01"),
        (1114, -1, "'2020-01-02 03:04:05'::timestamp without time zone", "2020-01-02 03:04:05"),
        (3802, -1, "'{}'::jsonb", "{}"),
        (701, -1, "1.5", "1.5"),
        (701, -1, "random()", "0"),
        (869, -1, "'::1'::inet", None),
    ],
)
def test_a_default_comes_as_the_text_of_its_value(oid: int, modifier: int, expression: str, text: str | None) -> None:
    table = catalog_table("t", Column("d", oid, modifier, default=expression))
    [sent] = inserted(rig(table, probe(), schemas=True), table, ("1",))
    assert fields(sent)["d"].get("default") == (None if text is None else f"text:{text}")


@each_case(
    ("does", "message"),
    [
        ("configure", r"^Converter p does not accept its properties p\.\*\. Correct them \(ValueError: does not like it\)$"),
        ("look", "^Converter p failed to look at column a of table public.t"),
        ("kind", "^Converter p gave a Schema in place of a Registration for column a of table public.t"),
        ("schema", "^Converter p registered a schema that Kafka Connect does not have for column a of table public.t"),
        ("array", "^Converter p registered a schema that Kafka Connect does not have for column a of table public.t"),
        ("unavailable", "^Converter p registered an unavailable value that does not fit the schema of column a"),
        ("default", "^Converter p cannot convert the default of column a of table public.t.*gave a str, which does not fit"),
        ("registration", "^Converter p registered an unusable schema or function for column a of table public.t.*AttributeError"),
        ("leave", "^Converter p failed to look at column a of table public.t.*SystemExit"),
        ("quit", r"^Converter p does not accept its properties p\.\*\. Correct them \(SystemExit: 3\)$"),
        ("exit", "^Converter p cannot convert the default of column a of table public.t.*raised SystemExit at "),
        ("mapping", "^Converter p cannot convert the default of column a of table public.t.*raised SystemExit at probe_converters.py"),
        ("nothing", "^Converter p gives null for the default of the required column a of table public.t"),
    ],
)
def test_a_converter_that_does_wrong_fails_the_task(does: str, message: str) -> None:
    settings = config({"p.type": "tests.support.probe_converters:Careless", "p.does": does})
    table = catalog_table("t", Column("a", TEXT, not_null=True, default="'A'::text"))
    with pytest.raises(CdcError, match=message) as caught:
        Capture(Selection.of(settings), TYPES, ConverterSettings(), ConverterSettings(), Warned(), PLUGINS).encoder(table)
    assert caught.value.kind is ErrorKind.CONFIG_INVALID


def test_optional_columns_may_have_no_value_for_their_default() -> None:
    settings = config({"p.type": "tests.support.probe_converters:Careless", "p.does": "nothing"})
    table = catalog_table("t", Column("a", TEXT, default="'A'::text"))
    encoder = Capture(Selection.of(settings), TYPES, ConverterSettings(), ConverterSettings(), Warned(), PLUGINS).encoder(table)
    assert encoder.row([b"x"]) == b'{"a":null}'


STRUCT = Schema("struct", fields=(Field("n", INT32), Field("t", STRING.as_optional()), Field("d", STRING.with_default("x"))))


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (Schema("int8"), [-128, 127], [128, -129, True, 1.0, "1", b"1"]),
        (Schema("int64"), [2**63 - 1, -(2**63)], [2**63]),
        (Schema("boolean"), [True, False], [0, "t"]),
        (Schema("double"), [1.5, 3, float("nan")], ["1.5", True, 10**400]),
        (STRING, ["", "é😀"], [1, b"x", "\ud800"]),
        (BYTES, [b"x"], ["x"]),
    ],
)
def test_values_must_fit_their_schema(schema: Schema, good: list[object], bad: list[object]) -> None:
    fits = _fits(schema)
    assert [value for value in good if not fits(value)] == []
    assert [value for value in bad if fits(value)] == []


def test_members_must_fit_their_schemas() -> None:
    numbers, named = _fits(Schema("array", items=INT32)), _fits(Schema("map", keys=STRING, values=INT32.as_optional()))
    assert [*map(numbers, ([1, 2], (1,), [1, None], "12"))] == [True, True, False, False]
    assert [*map(named, ({"a": 1, "b": None}, {1: 1}, []))] == [True, False, False]
    struct = _fits(STRUCT)
    good, bad = ({"n": 1}, {"n": 1, "t": "x", "d": "y"}), ({"t": "x"}, {"n": 1, "more": 1}, {"n": "1"})
    assert [*map(struct, (*good, *bad))] == [True, True, False, False, False]
    decimal = _fits(Schema("bytes", name=DECIMAL, parameters=(("scale", "2"),)))
    assert [*map(decimal, (Decimal("1.50"), Decimal("NaN"), 1, b"x"))] == [True, False, False, False]


@pytest.mark.parametrize("version", ["3.6.3.Final", "2.3.4.Final"])
@pytest.mark.parametrize(
    ("properties", "error"),
    [
        (
            {"geo.type": "com.example.Geo"},
            "geo.type names the Java class com.example.Geo, and Java classes cannot be loaded; write it again in",
        ),
        (
            {"geo.type": "io.debezium.connector.postgresql.converters.PostgresVectorToJsonConverter"},
            "geo.type names the Java class io.debezium",
        ),
    ],
)
def test_names_of_no_python_class_are_refused(properties: dict[str, str], error: str, version: str) -> None:
    validation = validate({**MINIMAL, "converters": "geo", "connector.plugin.version": version, **properties})
    refused, warned = (error_lines(validation), warning_lines(validation))
    # 2.3.4 loads the classes when it validates, 3.6.3 when the task starts.
    [line] = warned if version == "3.6.3.Final" else refused
    assert len(refused + warned) == 1
    assert line.startswith(f"The 'converters' value is invalid: {error}")


def test_a_name_without_a_class_is_reported_when_the_task_starts() -> None:
    given = {**MINIMAL, "converters": "geo, shape", "shape.type": PROBE}
    assert error_lines(validate(given)) == []
    with pytest.raises(CdcError, match=r"has 1 error\(s\): The 'geo\.type' value is invalid: A Python class is expected"):
        parse(given)


def test_properties_of_converters_are_not_reported_as_unknown() -> None:
    made, notices = parse({**MINIMAL, "converters": "geo", "geo.type": PROBE, "geo.form": "short", "goe.form": "?"})
    assert [(entry.name, entry.type, entry.properties) for entry in made.column_converters] == [
        ("geo", PROBE, {"type": PROBE, "form": "short"})
    ]
    assert [notice for notice in notices if "geo.form" in notice] == []
    assert [notice for notice in notices if "goe.form" in notice] != []
    assert "short" not in repr(made.column_converters)


def test_without_converters_nothing_is_asked() -> None:
    assert configured().column_converters == ()
    assert ConvertedColumns((), PLUGINS).codec(TABLE, ID, TYPES, cast("Any", None), None) is None
