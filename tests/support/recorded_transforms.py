"""Plays what was recorded of a JVM's transforms against ours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from connector.configdef.key import Key
from connector.configdef.options import Options
from connector.emulation import Emulation
from connector.record.connect_record import ConnectRecord, Header
from connector.record.java_date import JavaDate
from connector.record.json_converter import ConverterSettings, schema_json, value_json
from connector.record.json_reader import read_schema, value_reader
from connector.record.schema import Schema

_KEEP_NULL: Final = ConverterSettings(replace_null_with_default=False)
UNREADABLE: Final = "unreadable"
"""Stands for a value that does not fit its schema, which JsonConverter refuses."""
_SCHEMAS: Final[dict[str, Schema]] = {}


def read(text: str | None) -> tuple[Schema | None, Any]:
    """Read a value with its schema."""
    if text is None:
        return None, None
    whole = json.loads(text)
    if whole["schema"] is None:
        return None, whole["payload"]
    name = json.dumps(whole["schema"])
    schema = _SCHEMAS.setdefault(name, _SCHEMAS.get(name) or read_schema(name.encode()))
    return schema, value_reader(schema)(whole["payload"])


def record_of(spec: Mapping[str, Any]) -> ConnectRecord:
    """Build a record of its description."""
    key_schema, key = read(spec.get("key"))
    value_schema, value = read(spec.get("value"))
    headers = tuple(Header(name, *read(text)) for name, text in spec.get("headers", ()))
    topic = spec.get("topic", "s.public.t")
    return ConnectRecord(topic, key_schema, key, value_schema, value, spec.get("timestamp"), headers, spec.get("partition"))


def reported(record: ConnectRecord, texts: Mapping[str, int]) -> dict[str, Any]:
    """Tell a record as the recording does. ``texts`` are the recording's, with their places."""
    found = {
        "topic": record.topic,
        "partition": record.partition,
        "timestamp": record.timestamp,
        "key": reported_value(record.key_schema, record.key, texts),
        "value": reported_value(record.value_schema, record.value, texts),
        "headers": [[header.name, *reported_value(header.schema, header.value, texts)] for header in record.headers],
    }
    return {name: each for name, each in found.items() if each is not None and each != []}


def reported_value(schema: Schema | None, value: Any, texts: Mapping[str, int]) -> list[Any]:
    """Tell a value and its schema by the places of their texts; in full where the recording does not hold them."""
    if schema is None:
        return [None, _plain(value)]
    name = schema_json(schema, None, _KEEP_NULL).decode()
    try:
        text = "null" if value is None else value_json(schema, value, _KEEP_NULL).decode()
    except ValueError:
        return [texts.get(name, name), UNREADABLE]
    return [texts.get(name, name), texts.get(text, text)]


def fits(wanted: Mapping[str, Any] | None, before: ConnectRecord, after: ConnectRecord | None, texts: Mapping[str, int]) -> bool:
    """Whether what became of a record is what was recorded: what is new in it. A value that JsonConverter refused is refused here too."""
    if wanted is None or after is None:
        return wanted is None and after is None
    expected = reported(before, texts) | dict(wanted)
    found = reported(after, texts)
    return found == {name: each for name, each in expected.items() if each is not None}


def is_unreadable(wanted: Mapping[str, Any] | None) -> bool:
    """Whether JsonConverter refused the value that was recorded."""
    return wanted is not None and (wanted.get("value") or [None, None])[1] == UNREADABLE


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, JavaDate):
        return {"date": value.ms}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(each) for each in value]
    return value


def problems(keys: Iterable[Key], options: Mapping[str, str], emulation: Emulation) -> dict[str, list[str]]:
    """Return what the checks of options find, as Connect's validation lists it. Missing and unreadable options are not looked for."""
    listed = [key for key in keys if emulation.version in key.versions]
    values = Options(listed, options, emulation)
    found: dict[str, list[str]] = {}
    for key in listed:
        value = values.text(key.name) if key.name in options or not key.required else None
        lines = [line for validator in key.validators_in(emulation.version) for line in validator(key, value, options)]
        if lines:
            found[key.name] = lines
    return found


def of_checks(errors: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the errors that checks find, without those of missing and unreadable options."""
    kept = {name: [line for line in lines if not _of_framework(line)] for name, lines in errors.items()}
    return {name: lines for name, lines in kept.items() if lines}


def _of_framework(line: str) -> bool:
    return line.startswith("Missing required configuration") or "Expected value to be" in line or "Not a number of type" in line
