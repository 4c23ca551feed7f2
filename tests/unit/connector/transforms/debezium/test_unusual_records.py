"""Records and options that the recorded cases do not hold. The reference's answers to them were read from its classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from connector.configdef.options import OptionError, Options
from connector.emulation import DEBEZIUM_3_7_0, DEFAULT, Emulation
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.schema import BYTES, INT32, INT64, STRING, Field, Schema
from connector.transforms.catalog import TRANSFORMS
from connector.transforms.transform import Transform
from tests.support.each_case import each_case

_BITS = Schema("bytes", name="io.debezium.data.Bits", version=1)
_UUID = Schema("string", name="io.debezium.data.Uuid", version=1)
_GEOMETRY = Schema(
    "struct", name="io.debezium.data.geometry.Geometry", version=1, fields=(Field("wkb", BYTES), Field("srid", INT32.as_optional()))
)
_SPARSE = Schema(
    "struct",
    name="io.debezium.data.SparseDoubleVector",
    version=1,
    fields=(Field("dimensions", Schema("int16")), Field("vector", Schema("map", keys=Schema("int16"), values=Schema("double")))),
)
_POINT = bytes.fromhex("0101000000000000000000f83f0000000000000440")


def made(name: str, **options: str) -> Transform:
    return made_in(DEFAULT, name, **options)


def made_in(emulation: Emulation, name: str, **options: str) -> Transform:
    [definition] = [each for each in TRANSFORMS.values() if each.name.endswith(f".{name}")]
    values = {option.replace("_", "."): value for option, value in options.items()}
    return definition.make(Options(definition.keys_in(emulation.version), values, emulation))


def row(**columns: Schema) -> Schema:
    return Schema("struct", optional=True, name="s.t.Value", fields=tuple(Field(name, schema) for name, schema in columns.items()))


def event(state: Schema, before: Any, after: Any, *without: str) -> ConnectRecord:
    fields = (Field("before", state), Field("after", state), Field("op", STRING), Field("ts_ms", INT64.as_optional()))
    schema = Schema("struct", name="s.t.Envelope", fields=tuple(each for each in fields if each.name not in without))
    value = {"before": before, "after": after, "op": "u", "ts_ms": 1}
    return ConnectRecord("s.t", None, None, schema, {name: each for name, each in value.items() if name not in without})


def test_routed_records_with_a_null_key_lose_its_schema() -> None:
    record = replace(event(row(id=INT32), None, {"id": 1}), key_schema=STRING.as_optional())
    routed = made("ByLogicalTableRouter", topic_regex=".*", topic_replacement="all").apply(record)
    assert routed is not None
    assert (routed.topic, routed.key_schema) == ("all", None)


def test_routed_records_with_a_key_without_a_schema_fail() -> None:
    router = made("ByLogicalTableRouter", topic_regex=".*", topic_replacement="all")
    with pytest.raises(DataError, match="has no schema"):
        router.apply(replace(event(row(id=INT32), None, {"id": 1}), key={"id": 1}))


@each_case(
    ("name", "options"),
    [
        ("ByLogicalTableRouter", {"topic_regex": ".*", "topic_replacement": " "}),
        ("ByLogicalTableRouter", {"topic_regex": ".*", "topic_replacement": "x", "key_field_regex": "x", "key_field_replacement": " "}),
        ("HeaderToValue", {"headers": " ", "fields": "a", "operation": "copy"}),
        ("HeaderToValue", {"headers": "a b", "fields": "a", "operation": "copy"}),
        ("HeaderToValue", {"headers": "a, ", "fields": "a", "operation": "copy"}),
        ("HeaderToValue", {"headers": "a", "fields": "a", "operation": " "}),
        ("SchemaChangeEventFilter", {"schema_change_event_exclude_list": " "}),
        ("PartitionRouting", {"partition_payload_fields": " ", "partition_topic_num": "1"}),
        ("TimezoneConverter", {"converted_timezone": " "}),
        ("SwapGeometryCoordinates", {"srids": ""}),
    ],
)
def test_blanks_are_refused(name: str, options: dict[str, str]) -> None:
    with pytest.raises(OptionError):
        made(name, **options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ByLogicalTableRouter", {"topic_regex": ".*", "topic_replacement": "x", "key_field_regex": " "}),
        ("TimezoneConverter", {"converted_timezone": "UTC", "exclude_list": ",", "include_list": ","}),
        ("SwapGeometryCoordinates", {"srids": ",,"}),
    ],
)
def test_options_without_entries_have_no_effect(name: str, options: dict[str, str]) -> None:
    made(name, **options)


def test_names_of_headers_keep_their_blanks() -> None:
    record = made("ExtractChangedRecordState", header_changed_name=" changed ").apply(event(row(id=INT32), {"id": 1}, {"id": 2}))
    assert record is not None
    assert [header.name for header in record.headers] == [" changed "]
    assert made("ExtractChangedRecordState", header_changed_name=" ").apply(record) == record


@pytest.mark.parametrize(("items", "changed"), [([], []), ([None], []), ([b"\1"], ["b"])])
def test_arrays_of_bits_always_count_as_changed(items: list[bytes | None], changed: list[str]) -> None:
    state = row(b=Schema("array", items=_BITS.as_optional()))
    record = made("ExtractChangedRecordState", header_changed_name="changed").apply(event(state, {"b": items}, {"b": items}))
    assert record is not None
    assert record.headers[0].value == changed


def changed_in_3_7(earlier: Schema, later: Schema, before: Any, after: Any) -> Any:
    schema = Schema("struct", name="s.t.Envelope", fields=(Field("before", earlier), Field("after", later), Field("op", STRING)))
    transform = made_in(DEBEZIUM_3_7_0, "ExtractChangedRecordState", header_changed_name="changed")
    record = transform.apply(ConnectRecord("s.t", None, None, schema, {"before": before, "after": after, "op": "u"}))
    assert record is not None
    return record.headers[0].value


def test_version_3_7_compares_bits_by_content() -> None:
    state = row(b=_BITS, c=Schema("array", items=_BITS))
    assert changed_in_3_7(state, state, {"b": b"\1", "c": [b"\1"]}, {"b": b"\1", "c": [b"\1"]}) == []
    assert changed_in_3_7(state, state, {"b": b"\1", "c": [b"\1"]}, {"b": b"\2", "c": [b"\2"]}) == ["b", "c"]


def test_version_3_7_counts_columns_of_one_row_as_changed() -> None:
    assert changed_in_3_7(row(a=INT32, b=INT32), row(c=INT32, b=INT32), {"a": 1, "b": 1}, {"c": 1, "b": 1}) == ["c", "a"]


@pytest.mark.parametrize(
    ("name", "without"),
    [
        ("ExtractChangedRecordState", "after"),
        ("ExtractSchemaToNewRecord", "after"),
        ("ExtractSchemaToNewRecord", "before"),
        ("ExtractNewRecordState", "op"),
        ("EventRouter", "op"),
        ("ByLogicalTableRouter", "before"),
    ],
)
def test_events_without_a_field_that_the_transform_reads_fail(name: str, without: str) -> None:
    options = {"topic_regex": ".*", "topic_replacement": "all"} if name == "ByLogicalTableRouter" else {}
    with pytest.raises(DataError):
        made(name, **options).apply(event(row(id=INT32), None, {"id": 1}, without))


@pytest.mark.parametrize("name", ["ByLogicalTableRouter", "ToLogicalTopicRouter"])
@pytest.mark.parametrize("without", [("before",), ("before", "after")])
def test_version_3_7_routes_events_without_the_old_row(name: str, without: tuple[str, ...]) -> None:
    router = made_in(DEBEZIUM_3_7_0, name, topic_regex=".*", topic_replacement="all")
    routed = router.apply(event(row(id=INT32), None, {"id": 1}, *without))
    assert routed is not None
    assert routed.value_schema is not None
    assert routed.value_schema.name == "all.Envelope"
    assert [field.schema.name for field in routed.value_schema.fields if field.name == "after"] == ["all.Value"][len(without) - 1 :]


@pytest.mark.parametrize("op", [None, 5])
def test_an_outbox_event_without_an_operation_fails(op: object) -> None:
    record = event(row(id=INT32), None, {"id": 1})
    with pytest.raises(DataError, match="operation"):
        made("EventRouter").apply(replace(record, value={**record.value, "op": op}))


def test_a_name_for_keys_matters_only_if_they_get_a_field() -> None:
    options = {"topic_regex": ".*", "topic_replacement": "all", "key_field_regex": "(.*)", "key_field_replacement": "$3"}
    without_key = event(row(id=INT32), None, {"id": 1})
    with_key = replace(without_key, key_schema=row(id=INT32), key={"id": 1})
    with pytest.raises(DataError, match="No group 3"):
        made("ByLogicalTableRouter", **options).apply(with_key)
    assert made("ByLogicalTableRouter", **options).apply(without_key) is not None
    assert made("ByLogicalTableRouter", key_enforce_uniqueness="false", **options).apply(with_key) is not None


def test_a_list_of_other_things_than_names_drops_no_column() -> None:
    items = Schema("array", items=Schema("array", items=INT32))
    record = replace(event(row(id=INT32), None, {"id": 1}), headers=(Header("h", items, [[1]]),))
    unwrapped = made("ExtractNewRecordState", drop_fields_header_name="h").apply(record)
    assert unwrapped is not None
    assert unwrapped.value == {"id": 1}


def headers_in_value(field: str, *headers: Header) -> ConnectRecord | None:
    record = replace(event(row(id=INT32), None, {"id": 1}), headers=headers)
    return made("HeaderToValue", headers="h", fields=field, operation="copy").apply(record)


def test_the_first_of_several_headers_decides_the_type_and_the_last_the_value() -> None:
    record = headers_in_value("new", Header("h", STRING.as_optional(), "a"), Header("h", _UUID, "b"))
    assert record is not None
    assert record.value_schema is not None
    assert (record.value["new"], record.value_schema.fields[-1].schema) == ("b", STRING.as_optional())
    with pytest.raises(DataError, match="different types"):
        headers_in_value("new", Header("h", BYTES, b"a"), Header("h", STRING, "b"))


def test_a_null_header_has_any_type() -> None:
    record = headers_in_value("new", Header("h", STRING.as_optional(), "a"), Header("h", BYTES.as_optional(), None))
    assert record is not None
    assert record.value["new"] is None
    with pytest.raises(DataError, match="null into the required field"):
        headers_in_value("new", Header("h", STRING, "a"), Header("h", STRING.as_optional(), None), Header("h", STRING, "b"))


def test_a_header_goes_into_a_field_of_its_type_whatever_the_names_of_the_schemas() -> None:
    record = headers_in_value("op", Header("h", _UUID, "b"))
    assert record is not None
    assert record.value["op"] == "b"


def test_a_header_whose_default_is_a_list_can_be_added() -> None:
    schema = Schema("array", optional=True, items=INT32, default=[1])
    record = headers_in_value("new", Header("h", schema, None))
    assert record is not None
    assert record.value_schema is not None
    assert record.value_schema.fields[-1].schema == schema


def test_an_unknown_place_of_a_missing_column_is_skipped_with_it() -> None:
    columns = dict.fromkeys(("id", "aggregatetype", "aggregateid", "payload"), STRING)
    record = event(row(**columns), None, dict.fromkeys(columns, "x"))
    record = replace(record, value={**record.value, "op": "c"})
    options = {"table_fields_additional_placement": "none:x", "table_field_additional_missing": "ignore"}
    assert made("EventRouter", **options).apply(record) is not None
    with pytest.raises(DataError, match="unknown place"):
        made("EventRouter", **{**options, "table_fields_additional_placement": "id:x"}).apply(record)


def test_schema_changes_without_a_list_are_dropped() -> None:
    changes = Schema("array", optional=True, items=row(type=STRING))
    schema = Schema("struct", name="x.SchemaChangeValue", fields=(Field("tableChanges", changes),))
    schema_filter = made("SchemaChangeEventFilter", schema_change_event_exclude_list="DROP")
    assert schema_filter.apply(ConnectRecord("t", value_schema=schema, value={"tableChanges": None})) is None
    assert schema_filter.apply(ConnectRecord("t", value_schema=schema, value={"tableChanges": []})) is not None


def test_a_path_through_a_null_that_is_no_struct_is_no_partition() -> None:
    routing = made("PartitionRouting", partition_payload_fields="after.a.b", partition_topic_num="7")
    record = event(row(a=STRING.as_optional()), None, {"a": None})
    assert routing.apply(record) == record


def test_blanks_in_a_path_are_no_part_of_the_names() -> None:
    routing = made("PartitionRouting", partition_payload_fields="after . a", partition_topic_num="7")
    routed = routing.apply(event(row(a=STRING), None, {"a": "x"}))
    assert routed is not None
    assert routed.partition == ord("x") % 7


def test_a_value_that_is_itself_a_geometry_or_a_vector_stays() -> None:
    geometry = ConnectRecord("t", value_schema=_GEOMETRY, value={"wkb": _POINT, "srid": 4326})
    assert made("SwapGeometryCoordinates").apply(geometry) == geometry
    vector = ConnectRecord("t", value_schema=_SPARSE, value={"dimensions": 2, "vector": {1: 0.5}})
    assert made("VectorToJsonConverter").apply(vector) == vector
