"""What Understudy makes of a case, in the form in which the Java program answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from connector.config.keys.transforms import step_keys
from connector.converters.json import JsonConverter
from connector.emulation import Emulation
from connector.errors import CdcError
from connector.plugins.allowed import NO_PLUGINS
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.json_converter import ConverterSettings
from connector.record.json_reader import read_schema, value_reader
from connector.record.schema import Schema
from connector.transforms.chain import Chain, StepError
from connector.transforms.steps import make_steps
from tests.differential.transforms.records import Record

_KEEPS_NULL: Final = ConverterSettings(replace_null_with_default=False)
_OF_CONVERTER: Final = (DataError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError)
"""What fails a record and not the task's program (:mod:`connector.delivery.record_conversion`)."""
Answer = dict[str, Any]


class Understudy:
    """Answers cases for one version of Debezium."""

    def __init__(self, emulation: Emulation) -> None:
        self._emulation: Final = emulation
        # The reference runs without OpenTelemetry's jars, so that EventRouter does not trace.
        sys.modules["opentelemetry.trace"] = None  # type: ignore[assignment]

    def answer(self, config: Mapping[str, str], records: Sequence[Record]) -> Answer:
        """Return what the validation says; without errors, also each record after the steps, or why the steps cannot be made."""
        rows = step_keys(config, self._emulation.version)
        answer: Answer = {"validated": {row.key.name: [row.value, list(row.errors)] for row in rows}}
        if any(row.errors for row in rows):
            return answer
        try:
            chain = Chain(make_steps(config, self._emulation, NO_PLUGINS))
        except CdcError as error:
            return answer | {"refused": str(error)}
        reader = _Reader()
        return answer | {"records": [_outcome(chain, reader.record(each)) for each in records]}


class _Reader:
    """Reads records; each schema becomes one object."""

    def __init__(self) -> None:
        self._schemas: Final[dict[str, Schema]] = {}

    def record(self, record: Record) -> ConnectRecord:
        headers = tuple(Header(name, *self._part(text)) for name, text in record["headers"])
        key, value = self._part(record["key"]), self._part(record["value"])
        return ConnectRecord(record["topic"], *key, *value, record["timestamp"], headers, record["partition"])

    def _part(self, text: str | None) -> tuple[Schema | None, Any]:
        if text is None:
            return None, None
        document = json.loads(text)
        if document["schema"] is None:
            return None, document["payload"]
        name = json.dumps(document["schema"])
        if name not in self._schemas:
            self._schemas[name] = read_schema(name.encode())
        return self._schemas[name], value_reader(self._schemas[name])(document["payload"])


def _outcome(chain: Chain, record: ConnectRecord) -> Answer:
    try:
        made = chain.apply(record)
    except StepError as error:
        return {"step": chain.steps.index(error.step), "failed": str(error)}
    if made is None:
        return {"dropped": True}
    try:
        return {
            "topic": made.topic,
            "partition": made.partition,
            "key": _text(made.key_schema, made.key),
            "value": _text(made.value_schema, made.value),
            "timestamp": made.timestamp,
            "headers": [[header.name, _text(header.schema, header.value)] for header in made.headers],
        }
    except _OF_CONVERTER as error:
        return {"step": len(chain.steps), "failed": f"{type(error).__name__}: {error}"}


def _text(schema: Schema | None, value: Any) -> str | None:
    written = JsonConverter(_KEEPS_NULL).convert("t", schema, value, ())
    return None if written.payload is None else (written.prefix + written.payload).decode()
