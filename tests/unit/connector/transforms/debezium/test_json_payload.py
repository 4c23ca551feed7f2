from __future__ import annotations

from typing import Any

import pytest

from connector.record.connect_record import DataError
from connector.record.schema import Schema
from connector.transforms.debezium.outbox.json_payload import PayloadSchemas, Unexpandable, converted, parsed

INFER = PayloadSchemas(keeps_nulls=False, names_nested_arrays_null=False)


def shown(schema: Schema | None) -> Any:
    if schema is None:
        return None
    if schema.type == "struct":
        return {field.name: shown(field.schema) for field in schema.fields}
    return [shown(schema.items)] if schema.type == "array" else schema.type


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        # The reference orders such fields, and chooses between such structs, by the hash codes of its process.
        ('{"a": [{"x": 1}, {"y": "z"}]}', {"x": "int32", "y": "string"}, [{"x": 1, "y": None}, {"x": None, "y": "z"}]),
        ('{"a": [{"y": 1}, {"x": 1, "y": 2}]}', {"y": "int32", "x": "int32"}, [{"y": 1, "x": None}, {"y": 2, "x": 1}]),
        (
            '{"a": [{"x": {"y": 1}}, {"x": {"z": 1}}]}',
            {"x": {"y": "int32", "z": "int32"}},
            [{"x": {"y": 1, "z": None}}, {"x": {"y": None, "z": 1}}],
        ),
        (
            '{"a": [{"x": [{"p": 1}]}, {"x": [{"q": 1}]}]}',
            {"x": [{"p": "int32", "q": "int32"}]},
            [{"x": [{"p": 1, "q": None}]}, {"x": [{"p": None, "q": 1}]}],
        ),
        ('{"a": [{"x": {}}, {"x": {"y": 1}}]}', {"x": {"y": "int32"}}, [{"x": {"y": None}}, {"x": {"y": 1}}]),
    ],
)
def test_objects_of_an_array_share_all_their_fields(text: str, schema: Any, value: Any) -> None:
    node = parsed(text)
    inferred = INFER.schema("payload", node)
    assert inferred is not None
    assert shown(inferred) == {"a": [schema]}
    assert converted(inferred, node) == {"a": value}


def test_an_array_of_bytes_for_nulls_gives_way_to_any_other() -> None:
    infer = PayloadSchemas(keeps_nulls=True, names_nested_arrays_null=False)
    node = parsed('{"a": [{"x": [null]}, {"x": [1]}]}')
    inferred = infer.schema("payload", node)
    assert inferred is not None
    assert shown(inferred) == {"a": [{"x": ["int32"]}]}
    assert converted(inferred, node) == node


def test_text_nested_too_deeply_stays_text() -> None:
    with pytest.raises(Unexpandable):
        parsed('{"a":' * 100_000)


def test_an_error_about_a_payload_holds_no_value() -> None:
    node = parsed('{"a": [{"x": 1}, {"x": "secret"}]}')
    inferred = INFER.schema("payload", node)
    assert inferred is not None
    with pytest.raises(DataError) as raised:
        converted(inferred, node)
    assert "secret" not in str(raised.value)
