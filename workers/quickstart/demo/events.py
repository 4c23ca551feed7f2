"""Formats change events as readable lines."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
KINDS: Final = {"r": "read", "c": "create", "u": "update", "d": "delete", "t": "truncate"}

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """A record of a change topic, key and value as Kafka's JsonConverter writes them with schemas; ``arrived`` in ms."""

    topic: str
    key: bytes | None
    value: bytes | None
    arrived: int


def line(event: Event) -> str:
    """The event in one line: time of arrival, topic, kind, key, changed values, and milliseconds since the commit."""
    time = datetime.fromtimestamp(event.arrived / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
    key = _words(_struct(event.key)) or "(no key)"
    if event.value is None:
        return f"{time}  {event.topic:<24} {'tombstone':<9} {key}"
    document: Json = json.loads(event.value)
    payload: Json = document["payload"]
    schemas = {field["field"]: field for field in document["schema"]["fields"]}
    before = _readable(schemas.get("before"), payload.get("before"))
    after = _readable(schemas.get("after"), payload.get("after"))
    kind = KINDS.get(payload["op"], payload["op"])
    since = "" if payload["op"] == "r" else f"   +{max(0, event.arrived - payload['source']['ts_ms'])} ms"
    return f"{time}  {event.topic:<24} {kind:<9} {key}  {_change(before, after)}{since}"


def _change(before: Json | None, after: Json | None) -> str:
    if before is None:
        return f"-> {_words(after)}"
    if after is None:
        return f"{_words(before)} ->"
    changed = [name for name in after if before.get(name) != after[name]]
    return ", ".join(f"{name}: {_word(before.get(name))} -> {_word(after[name])}" for name in changed)


def _struct(document: bytes | None) -> Json | None:
    if document is None:
        return None
    read: Json = json.loads(document)
    return _readable(read["schema"], read["payload"])


def _readable(schema: Json | None, values: Json | None) -> Json | None:
    """The struct with its decimals as numbers. Other values stay as they are in the topic."""
    if schema is None or values is None:
        return None
    fields = {field["field"]: field for field in schema["fields"]}
    return {name: _value(fields[name], value) for name, value in values.items()}


def _value(schema: Json, value: object) -> object:
    if schema.get("name") == DECIMAL and isinstance(value, str):
        unscaled = int.from_bytes(base64.b64decode(value), signed=True)
        return Decimal(unscaled).scaleb(-int(schema["parameters"]["scale"]))
    return value


def _words(values: Json | None) -> str:
    return " ".join(f"{name}={_word(value)}" for name, value in (values or {}).items())


def _word(value: object) -> str:
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)
