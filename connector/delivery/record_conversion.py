"""From the project's own records to what is written: transforms, then converters (``AbstractWorkerSourceTask.sendRecords``).

The core makes every record as JSON with its schema (:data:`INTERNAL`). A connector with transforms, or with other converters than
JsonConverter, has its records read back, transformed and converted here; all others never come here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Protocol

import orjson

from connector.configdef.options import Options
from connector.converters import json as json_converter
from connector.converters import simple_header, string
from connector.converters.avro.converter import AvroConverter
from connector.converters.catalog import make_converter, make_header_converter
from connector.converters.converter import Converter, ConverterChoice, HeaderConverter, RawHeader
from connector.delivery.chain_outline import is_outlined
from connector.delivery.compiled_avro import AvroConverters, AvroPath, avro_path
from connector.delivery.compiled_outbox import OutboxPath, outbox_path, routes_outbox
from connector.delivery.compiled_path import CompiledPath, compiled_path
from connector.delivery.moved_key_headers import OTHER_KEYS
from connector.delivery.outbox_message import Converters
from connector.emulation import DEFAULT, Emulation
from connector.errors import CdcError, ErrorKind
from connector.log import Warn
from connector.plugins.allowed import NO_PLUGINS, AllowedPlugins
from connector.ports import Backtracking, no_backtracking
from connector.record.batch import NO_HEADERS, encode_headers, read_headers
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.json_converter import ConverterSettings
from connector.record.json_reader import opening_of, read_schema, split_opening, value_reader
from connector.record.schema import STRING, Schema
from connector.transforms.chain import Chain, StepError
from connector.transforms.reports import Reporting
from connector.transforms.steps import listed, make_steps

INTERNAL: Final = ConverterSettings(schemas_enable=True, decimal_format="BASE64", replace_null_with_default=False)
"""How the core writes records that are to be transformed or converted: nothing of a value is lost."""
_SHORT: Final = frozenset(
    {
        "org.apache.kafka.connect.transforms.RegexRouter",
        "RegexRouter",
        "io.debezium.transforms.ExtractNewRecordState",
        "ExtractNewRecordState",
        "io.debezium.transforms.ByLogicalTableRouter",
        "ByLogicalTableRouter",
        "io.debezium.transforms.ToLogicalTopicRouter",
        "ToLogicalTopicRouter",
    }
)


class RecordFailed(Protocol):
    """Called for each record that a transform or converter fails on."""

    def __call__(self, *, left_out: bool, logged: bool) -> None:
        """Take note of it. ``left_out``: ``errors.tolerance=all`` leaves it out; otherwise the task fails. ``logged``: the log names it."""


def ignore_failure(*, left_out: bool, logged: bool) -> None:
    """No-op."""


@dataclass(frozen=True, slots=True)
class ConversionPlan:
    """What a task does to its records; a process that reads a snapshot is given it too. ``config`` has its secrets resolved."""

    config: Mapping[str, str]
    key: ConverterChoice
    value: ConverterChoice
    header: ConverterChoice
    emulation: Emulation = DEFAULT
    plugins: AllowedPlugins = NO_PLUGINS

    @property
    def tolerant(self) -> bool:
        """Whether a record that fails is left out (``errors.tolerance=all``)."""
        return tolerates_errors(self.config)

    def core_settings(self) -> tuple[ConverterSettings, ConverterSettings]:
        """Return how the core writes keys and values for this plan. Raises CdcError(CONFIG_INVALID).

        Where events take the fast path, nulls are written as the converters want them: with these steps it makes no difference who puts a
        default in place of null.
        """
        short = self.fast_path()
        if short is None:
            return INTERNAL, INTERNAL
        key, value = (replace(INTERNAL, replace_null_with_default=each.replace_null_with_default) for each in short)
        return key, value

    def fast_path(self) -> tuple[ConverterSettings, ConverterSettings] | None:
        """Return the converters' settings where events may take the fast path (:mod:`connector.delivery.compiled_path`), else None.

        Raises CdcError(CONFIG_INVALID) for options of a step that it cannot be made of.
        """
        if (self.key.name, self.value.name, self.header.name) != (json_converter.NAME, json_converter.NAME, simple_header.NAME):
            return None
        if not all(self.config.get(f"transforms.{alias}.type", "").strip() in _SHORT for alias in listed(self.config, "transforms")):
            return None
        if not is_outlined(Chain(make_steps(self.config, self.emulation, self.plugins))):
            return None
        key, value = (
            json_converter.settings_of(Options(json_converter.KEYS, choice.options, self.emulation)) for choice in (self.key, self.value)
        )
        return (key, value) if key.decimal_format == value.decimal_format == "BASE64" else None

    def outbox_converters(self, key: Converter, value: Converter) -> Converters | None:
        """Return the converters where rows may take the outbox's fast path (:mod:`connector.delivery.compiled_outbox`), else None.

        These write a value without asking a registry, and the same whatever the topic is.
        """
        if self.header.name != simple_header.NAME or not {self.key.name, self.value.name} <= {json_converter.NAME, string.NAME}:
            return None
        of_key, of_value = (
            json_converter.settings_of(Options(json_converter.KEYS, choice.options, self.emulation))
            if choice.name == json_converter.NAME
            else None
            for choice in (self.key, self.value)
        )
        return Converters(key, value, of_key, of_value)


def tolerates_errors(config: Mapping[str, str]) -> bool:
    """Whether a record that fails is left out."""
    return config.get("errors.tolerance", "none").strip().lower() == "all"


class Written(NamedTuple):
    """A record as it goes to Kafka. ``partition`` is None where the key decides; ``timestamp`` None for the time of sending."""

    topic: str
    partition: int | None
    key: bytes | None
    prefix: bytes
    payload: bytes | None
    headers: bytes
    timestamp: int | None


class _Shape(NamedTuple):
    """A schema, and what reads its values."""

    schema: Schema
    read: Callable[[Any], Any]


@dataclass(slots=True)
class RecordReader:
    """Reads the core's records back. One for a topic's records, which have few schemas."""

    _values: dict[bytes, _Shape] = field(default_factory=dict)
    _keys: dict[bytes, _Shape] = field(default_factory=dict)
    _usual: tuple[bytes, tuple[Header, ...]] = (NO_HEADERS, ())
    """The headers of most records, encoded and read: all records of a run have the same but for changes of keys."""

    def read(self, topic: str, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes) -> ConnectRecord:
        """Return the record that the core wrote as these bytes."""
        key_shape, key_value = (None, None) if key is None else self._key(key)
        if payload is None:
            value_schema = value = None
        else:
            shape = self._values.get(prefix)
            if shape is None:
                shape = self._values[prefix] = _shape(prefix)
            # The closing brace of the document ends the payload.
            value_schema, value = shape.schema, shape.read(orjson.loads(memoryview(payload)[:-1]))
        key_schema = None if key_shape is None else key_shape.schema
        return ConnectRecord(topic, key_schema, key_value, value_schema, value, None, self._headers(headers))

    def _key(self, key: bytes) -> tuple[_Shape, Any]:
        opening = next((known for known in self._keys if key.startswith(known)), None)
        if opening is None:
            opening = opening_of(key)
            self._keys[opening] = _shape(opening)
        shape = self._keys[opening]
        return shape, shape.read(orjson.loads(memoryview(key)[len(opening) : -1]))

    def _headers(self, headers: bytes) -> tuple[Header, ...]:
        encoded, usual = self._usual
        if headers == encoded:
            return usual
        found = tuple(self._header(name, value) for name, value in read_headers(headers))
        if not any(header.name in OTHER_KEYS for header in found):
            self._usual = headers, found
        return found

    def _header(self, name: str, value: bytes | None) -> Header:
        """Debezium's headers are texts, but for the other key of a row whose key changed."""
        if name in OTHER_KEYS and value is not None:
            shape, key = self._key(value)
            return Header(name, shape.schema, key)
        return Header(name, STRING, None if value is None else value.decode())


def _shape(opening: bytes) -> _Shape:
    schema = read_schema(split_opening(opening))
    return _Shape(schema, value_reader(schema))


class RecordConversion:
    """The chain and the converters of one task. Raises CdcError(CONFIG_INVALID) when they cannot be made."""

    def __init__(
        self,
        plan: ConversionPlan,
        warn: Warn,
        error: Warn | None = None,
        failed: RecordFailed = ignore_failure,
        backtrack: Backtracking = no_backtracking,
    ) -> None:
        """Make them. ``error`` writes what a transform reports with this level; without it ``warn`` does.

        ``failed`` is called for each record that a transform or converter fails on. ``backtrack`` matches the steps' patterns for which
        RE2 does not suffice.
        """
        self._failed = failed
        unused: list[str] = []
        idle: list[tuple[str, str]] = []
        self.chain = Chain(make_steps(plan.config, plan.emulation, plan.plugins, unused.append, backtrack))
        for step in self.chain.steps:
            if isinstance(step.transform, Reporting):
                step.transform.reports.bind(step.alias, warn, warn if error is None else error)

        def note_idle(name: str, reason: str) -> None:
            idle.append((name, reason))

        self._key: Converter = make_converter(plan.key, "key", plan.emulation, plan.plugins, unused.append, note_idle)
        self._value: Converter = make_converter(plan.value, "value", plan.emulation, plan.plugins, unused.append, note_idle)
        self._header: HeaderConverter = make_header_converter(plan.header, plan.emulation, plan.plugins, unused.append)
        self.unused: Final = tuple(unused)
        """The properties of steps and converters that none of them knows."""
        self.idle: Final = tuple(idle)
        """The properties of converters that have no effect, each with the reason."""
        self._usual: tuple[tuple[Header, ...], Sequence[RawHeader], bytes] = ((), (), NO_HEADERS)
        """The headers that were converted last: the same object comes with most records."""
        self._short = plan.fast_path()
        self._outbox = plan.outbox_converters(self._key, self._value) if routes_outbox(self.chain) else None
        self._avro: AvroConverters | None = None
        if isinstance(self._value, AvroConverter) and plan.header.name == simple_header.NAME and is_outlined(self.chain):
            self._avro = AvroConverters(self._key, self._value)
        self._warn = warn
        self._tolerant = plan.tolerant
        self._logs = plan.config.get("errors.log.enable", "false").strip().lower() == "true"

    def fast_path(self, topic: str, prefix: bytes, key: bytes | None) -> CompiledPath | OutboxPath | AvroPath | None:
        """Return the fast path of a topic's events with this schema, and keys like this one; None where there is none.

        Raises SchemaNeededError until a registry has answered.
        """
        try:
            if self._avro is not None:
                return avro_path(self.chain, topic, prefix, key, self._avro)
            if self._outbox is not None:
                return outbox_path(self.chain, topic, prefix, self._outbox)
            return None if self._short is None else compiled_path(self.chain, topic, prefix, key, *self._short)
        except DataError:
            # By way of values each record fails with all that is to be said.
            return None

    def transform(self, record: ConnectRecord) -> ConnectRecord | None:
        """Return the record after all transforms; None when it is dropped, or left out by ``errors.tolerance=all``.

        Raises CdcError(TRANSFORM).
        """
        return self.transform_with_shared(record)[0]

    def transform_with_shared(self, record: ConnectRecord) -> tuple[ConnectRecord | None, tuple[Header, ...]]:
        """Do the same, and return the headers that a tombstone of the record has too (:meth:`Chain.apply_with_shared`)."""
        try:
            return self.chain.apply_with_shared(record)
        except StepError as problem:
            step = problem.step
            self.fail(
                CdcError(
                    ErrorKind.TRANSFORM,
                    f"Transform {step.alias} ({step.name}) failed on a record of topic {problem.record.topic}"
                    f"{_key_fields(problem.record)}: {problem}",
                    f"Correct transforms.{step.alias}, or set errors.tolerance=all to leave such records out",
                )
            )
            return None, problem.shared

    def convert(self, record: ConnectRecord) -> Written | None:
        """Return the record's bytes; None when it is left out. Raises CdcError(TRANSFORM); SchemaNeededError."""
        side = "key"
        try:
            key = self._key.convert(record.topic, record.key_schema, record.key, record.headers)
            side = "value"
            value = self._value.convert(record.topic, record.value_schema, record.value, record.headers)
            side = "header"
            headers, encoded = self._headers(record)
        except (DataError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as problem:
            reason = str(problem) if isinstance(problem, DataError) else type(problem).__name__
            self.fail(
                CdcError(
                    ErrorKind.TRANSFORM,
                    f"The {side}.converter cannot convert the {side} of a record of topic {record.topic}{_key_fields(record)}: {reason}",
                    f"Choose another {side}.converter, or set errors.tolerance=all to leave such records out",
                )
            )
            return None
        if key.headers or value.headers:
            encoded = encode_headers([*headers, *key.headers, *value.headers])
        whole_key = None if key.payload is None else key.prefix + key.payload
        return Written(record.topic, record.partition, whole_key, value.prefix, value.payload, encoded, record.timestamp)

    def _headers(self, record: ConnectRecord) -> tuple[Sequence[RawHeader], bytes]:
        """The headers' bytes, apart and together."""
        known, converted, encoded = self._usual
        if record.headers is known:
            return converted, encoded
        converted = [(each.name, self._header.convert(record.topic, each.name, each.schema, each.value)) for each in record.headers]
        encoded = encode_headers(converted)
        self._usual = record.headers, converted, encoded
        return converted, encoded

    def fail(self, error: CdcError) -> None:
        """Count a record that failed. Returns if it is left out (``errors.tolerance=all``); otherwise raises ``error``."""
        logged = self._logs or self._tolerant
        if logged:
            self._warn("record left out" if self._tolerant else "record failed", reason=error.message)
        self._failed(left_out=self._tolerant, logged=logged)
        if not self._tolerant:
            raise error


def _key_fields(record: ConnectRecord) -> str:
    schema = record.key_schema
    if schema is None or not schema.fields:
        return ""
    return f" (key fields: {', '.join(each.name for each in schema.fields)})"
