"""Debezium's smaller transforms against what the real ones made of the same records."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from connector.configdef.options import OptionError, Options
from connector.emulation import emulation_of
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.json_converter import ConverterSettings, schema_json, value_json
from connector.record.json_reader import read_schema, value_reader
from connector.record.schema import Schema
from connector.transforms.debezium import (
    decode_message_content,
    enforce_record_size,
    extract_schema,
    geometry,
    header_to_value,
    schema_change_filter,
    vector_to_json,
)
from connector.transforms.debezium.enforce_record_size import EnforceRecordSize
from connector.transforms.debezium.partitions import compute_partition, partition_routing
from connector.transforms.debezium.timezone import timezone_converter
from connector.transforms.transform import TransformDefinition
from tests.support.each_case import each_case
from tests.support.format_case import RECORDED, Shared, answered, changed

MODULES: Final = (
    compute_partition,
    decode_message_content,
    enforce_record_size,
    extract_schema,
    geometry,
    header_to_value,
    partition_routing,
    schema_change_filter,
    timezone_converter,
    vector_to_json,
)
DEFINITIONS: Final[dict[str, TransformDefinition]] = {
    definition.name: definition for module in MODULES for definition in module.DEFINITIONS
}
SETTINGS: Final = ConverterSettings(replace_null_with_default=False)
STORED: Final = {path.stem: json.loads(path.read_text()) for path in sorted(RECORDED.glob("*.json"))}
SHARED: Final = {name: Shared(stored["schemas"]) for name, stored in STORED.items()}
ASKED: Final = sorted({(name, case[0]) for name, stored in STORED.items() for case in stored["cases"]})


@lru_cache
def _schema(text: str) -> Schema:
    return read_schema(text.encode())


def _data(pair: Any) -> tuple[Schema | None, Any]:
    if pair is None:
        return None, None
    reported, payload = pair
    if reported is None:
        return None, payload
    schema = _schema(json.dumps(reported))
    return schema, value_reader(schema)(payload)


def _record(reported: dict[str, Any]) -> ConnectRecord:
    key, value = _data(reported.get("key")), _data(reported.get("value"))
    headers = tuple(Header(name, *_data(pair)) for name, pair in reported.get("headers", ()))
    return ConnectRecord(reported["topic"], *key, *value, reported.get("timestamp"), headers, reported.get("partition"))


def _pair(schema: Schema | None, value: Any) -> Any:
    if schema is None:
        return None if value is None else [None, value]
    return [json.loads(schema_json(schema)), json.loads(value_json(schema, value, SETTINGS))]


def _reported(record: ConnectRecord) -> dict[str, Any]:
    found = {
        "topic": record.topic,
        "partition": record.partition,
        "key": _pair(record.key_schema, record.key),
        "value": _pair(record.value_schema, record.value),
        "timestamp": record.timestamp,
        "headers": [[header.name, _pair(header.schema, header.value)] for header in record.headers],
    }
    return {name: value for name, value in found.items() if value not in (None, [])}


def _answer(name: str, options: dict[str, str], reported: dict[str, Any], version: str) -> Any:
    definition = DEFINITIONS[name]
    try:
        transform = definition.make(Options(definition.keys_in(version), options, emulation_of(version)))
    except OptionError as error:
        return {"wrong": str(error)}
    if isinstance(transform, EnforceRecordSize):
        # The records of the recordings have no position.
        transform = replace(transform, position=0)
    record = _record(reported)
    before = repr(record)
    try:
        made = transform.apply(record)
        found = None if made is None else _reported(made)
    except DataError as error:
        return {"error": str(error)}
    except ValueError as error:
        # Null in a field that is now required: the converter refuses it.
        if "Conversion error" not in str(error):
            raise
        return {"error": str(error)}
    assert repr(record) == before, "the record that came in was changed"
    return found


def _same(reported: Any, found: Any, record: Any) -> bool:
    if isinstance(reported, dict) and "error" in reported:
        return isinstance(found, dict) and "error" in found
    if isinstance(reported, dict) and "wrong" in reported:
        text = reported["wrong"].partition(": ")[2]
        return isinstance(found, dict) and "wrong" in found and text in ("None", found["wrong"])
    return bool(found == answered(record, reported))


@each_case(("group", "name"), ASKED)
def test_every_case_is_answered_as_by_the_real_transform(group: str, name: str) -> None:
    shared, differing, asked = SHARED[group], [], 0
    for of, options, stored, answers in STORED[group]["cases"]:
        if of != name:
            continue
        record = shared.opened(stored)
        for version in DEFINITIONS[name].versions if "all" in answers else answers:
            asked += 1
            reported = shared.opened(answers["all"] if "all" in answers else answers[version])
            found = _answer(name, options, record, version)
            if not _same(reported, found, record):
                differing.append(f"{version} {options} {stored}:\n      {changed(record, found)}\n  not {reported}")
    assert asked
    assert not differing, f"{len(differing)} of {asked} differ:\n" + "\n".join(differing[:10])
