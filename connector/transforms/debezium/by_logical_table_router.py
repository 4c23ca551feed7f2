"""``ByLogicalTableRouter``: one topic for several tables (Debezium documentation, "Topic routing").

The schemas get the new topic's name, and the key tells which table the record comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from connector.configdef.key import SINCE_3_7, VERSIONS, Key
from connector.configdef.options import OptionError, Options
from connector.configdef.validators import java_int
from connector.java.regex.matching import ReplacementError
from connector.java.trim import trim
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.name_adjustment import NameAdjuster, name_adjuster
from connector.record.schema import STRING, Field, Schema
from connector.record.struct import SchemaCache, with_fields
from connector.transforms.debezium.differences import differences_of
from connector.transforms.debezium.envelope import copied, filled, is_change_event, schema_of, with_defaults
from connector.transforms.debezium.new_record_state.extract_new_record_state_keys import option
from connector.transforms.reports import Reports
from connector.transforms.routing_pattern import RoutingPattern
from connector.transforms.transform import TransformDefinition

_SIZE: Final = "logical.destination.cache.size"
_FORMER_SIZE: Final = "logical.table.cache.size"
_BEFORE_3_7: Final = tuple(version for version in VERSIONS if version not in SINCE_3_7)
_MODES: Final = ("none", "avro", "avro_unicode")
_MOST: Final = 1_000
_ROWS: Final = ("before", "after")


Defaults = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class _Key:
    """A key's renamed schema, and the defaults that take the place of nulls."""

    schema: Schema
    defaults: Defaults


@dataclass(frozen=True, slots=True)
class _Envelope:
    """An event's renamed schema, and the defaults that take the place of nulls in the event and in its rows."""

    schema: Schema
    defaults: Defaults
    rows: tuple[tuple[str, bool, Defaults], ...]
    """Name, whether it may be null, and its defaults."""


@dataclass(frozen=True, slots=True)
class Routed:
    """What the router makes of the records of one topic and schema. ``key_members``: names and values that follow the key's own."""

    topic: str
    key: Schema | None
    value: Schema
    key_members: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ByLogicalTableRouter:
    """Renames topics that ``topic`` matches as a whole, and the schemas of their records."""

    topic: RoutingPattern
    topic_replacement: str
    key_field: str | None
    """None: keys get no field."""
    key_regex: RoutingPattern | None
    key_replacement: str
    adjusted: NameAdjuster
    fills: bool
    """Nulls of rows and keys become the defaults of their columns."""
    needs_before: bool
    """An event whose schema has no field ``before`` fails."""
    _keys: SchemaCache[_Key] = field(default_factory=SchemaCache)
    _envelopes: SchemaCache[_Envelope] = field(default_factory=SchemaCache)
    """By schema alone, as in the reference: when the same schema comes by two topics, its first new name stays."""
    _topics: dict[str, str | None] = field(default_factory=dict)
    """The new topics, by the former ones."""
    _tables: dict[str, str] = field(default_factory=dict)
    """What the keys say of the former topics."""
    reports: Reports = field(default_factory=Reports)

    @classmethod
    def of(cls, options: Options, key_field: str, *sizes: str) -> ByLogicalTableRouter:
        """Make it of its options. Raises OptionError.

        ``key_field`` is the default of ``key.field.name``; ``sizes`` are the names of the size of the reference's cache.
        """
        mode = options.raw.get("schema.name.adjustment.mode", "none").strip().lower()
        if mode not in _MODES:
            raise _invalid("schema.name.adjustment.mode", f"Value must be one of {', '.join(_MODES)}")
        _check_size(options, sizes)
        unique, differences = _flag(options, "key.enforce.uniqueness"), differences_of(options.emulation)
        key_regex, key_replacement = options.raw.get("key.field.regex", ""), options.raw.get("key.field.replacement", "")
        if trim(key_regex) and not trim(key_replacement):
            raise _invalid("key.field.replacement", "key.field.replacement must be non-empty if key.field.regex is set.")
        pattern = _regex("key.field.regex", key_regex, options) if trim(key_regex) else None
        return cls(
            _regex("topic.regex", _required(options, "topic.regex"), options),
            _required(options, "topic.replacement"),
            options.raw.get("key.field.name", key_field) if unique else None,
            pattern if unique else None,
            key_replacement,
            name_adjuster(mode, dots=True),
            differences.fills_defaults,
            differences.needs_before,
        )

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        """Return the record with its new topic, or as it is where the topic does not match or becomes empty. Raises DataError."""
        topic = self._routed(record.topic)
        if not topic:
            if topic is not None:
                self.reports("routed topic is empty, the record keeps its topic", record.topic)
            return record
        # As in the reference, a key that is null has no schema afterwards.
        key_schema, key = (None, None) if record.key is None else self._with_key(record.key_schema, record.key, topic, record.topic)
        value_schema, value = record.value_schema, record.value
        if value is not None and value_schema is not None and is_change_event(record):
            envelope = self._envelopes.get(value_schema, partial(self._envelope, topic))
            value_schema, value = envelope.schema, self._value(envelope, value)
        return replace(record, topic=topic, key_schema=key_schema, key=key, value_schema=value_schema, value=value)

    def routed(self, topic: str, key: Schema | None, value: Schema, *, nulls_are_defaults: bool) -> Routed | None:
        """Return what the records of ``topic`` become whose values are not null; None when that depends on more than their schemas.

        ``nulls_are_defaults``: the converter writes a default in place of null, so that it makes no difference who fills it in.
        Raises DataError.
        """
        new = self._routed(topic)
        if new is None:
            return Routed(topic, key, value)
        if not new or (key is not None and key.type != "struct"):
            # The one is reported, the other fails.
            return None
        members: tuple[tuple[str, str], ...] = ()
        defaults: Defaults = ()
        if key is not None:
            known = self._keys.get(key, partial(self._key, new))
            key, defaults = known.schema, known.defaults
            members = () if self.key_field is None else ((self.key_field, self._table(topic)),)
        if is_change_event(ConnectRecord(topic, value_schema=value)):
            envelope = self._envelopes.get(value, partial(self._envelope, new))
            value = envelope.schema
            defaults += envelope.defaults + tuple(each for *_, row in envelope.rows for each in row)
        return None if defaults and not nulls_are_defaults else Routed(new, key, value, members)

    def _routed(self, topic: str) -> str | None:
        """The new topic, if any."""
        if topic not in self._topics:
            new = self._replaced(self.topic, topic, self.topic_replacement)
            if len(self._topics) >= _MOST:
                self._topics.clear()
            self._topics[topic] = new
        return self._topics[topic]

    def _table(self, topic: str) -> str:
        """What the keys say of the former topic."""
        if topic not in self._tables:
            found = None if self.key_regex is None else self._replaced(self.key_regex, topic, self.key_replacement)
            if len(self._tables) >= _MOST:
                self._tables.clear()
            self._tables[topic] = topic if found is None else found
        return self._tables[topic]

    def _with_key(self, schema: Schema | None, struct: Mapping[str, Any], topic: str, former: str) -> tuple[Schema, dict[str, Any]]:
        if schema is None or schema.type != "struct":
            kind = "has no schema" if schema is None else f"is of type {schema.type}"
            raise DataError(f"Only structs can be keys of routed records, and this key {kind}")
        known = self._keys.get(schema, partial(self._key, topic))
        key = filled(struct, known.defaults)
        if self.key_field is not None:
            key[self.key_field] = self._table(former)
        return known.schema, key

    def _key(self, topic: str, schema: Schema) -> _Key:
        more = () if self.key_field is None else (Field(self.key_field, STRING),)
        named = replace(copied(schema, (*schema.fields, *more)), name=self.adjusted(f"{topic}.Key"), optional=schema.optional)
        return _Key(named, with_defaults(schema) if self.fills else ())

    def _envelope(self, topic: str, schema: Schema) -> _Envelope:
        if self.needs_before:
            schema_of(schema, "before")
        row = self.adjusted(f"{topic}.Value")
        fields = (Field(each.name, replace(each.schema, name=row)) if each.name in _ROWS else each for each in schema.fields)
        rows = ((each.name, each.schema) for each in schema.fields if each.name in _ROWS)
        return _Envelope(
            replace(with_fields(schema, fields), name=self.adjusted(f"{topic}.Envelope")),
            with_defaults(schema),
            tuple((name, each.optional, with_defaults(each) if self.fills else ()) for name, each in rows),
        )

    @staticmethod
    def _value(envelope: _Envelope, value: Mapping[str, Any]) -> dict[str, Any]:
        out = filled(value, envelope.defaults)
        for name, optional, defaults in envelope.rows:
            row = out[name]
            if row is not None:
                out[name] = filled(row, defaults) if defaults else row
            elif not optional:
                raise DataError(f'Invalid value: null used for required field: "{name}", schema type: STRUCT')
        return out

    @staticmethod
    def _replaced(pattern: RoutingPattern, topic: str, replacement: str) -> str | None:
        try:
            return pattern.replace_whole(topic, replacement)
        except ReplacementError as error:
            raise DataError(str(error)) from None


def _invalid(name: str, problem: str) -> OptionError:
    return OptionError(f"Unable to validate config. The '{name}' value is invalid: {problem}")


def _required(options: Options, name: str) -> str:
    value = options.raw.get(name)
    if value is None or not trim(value):
        raise _invalid(name, "A value is required")
    return value


def _regex(name: str, text: str, options: Options) -> RoutingPattern:
    try:
        return RoutingPattern(text, options, name)
    except ValueError as error:
        raise _invalid(name, f"A valid regular expressions is expected, but {error}") from None


def _flag(options: Options, name: str) -> bool:
    value = options.needed(name).lower()
    if value not in ("true", "false"):
        raise _invalid(name, "Either 'true' or 'false' is expected")
    return value == "true"


def _check_size(options: Options, names: tuple[str, ...]) -> None:
    """Require a number, of the first of ``names`` that is set: the size of the reference's cache, which has no effect here."""
    name = next((name for name in names if options.raw.get(name) is not None), None)
    if name is not None and java_int(options.raw[name]) is None:
        raise _invalid(name, "An integer is expected")


def _by_table(options: Options) -> ByLogicalTableRouter:
    sizes = (_SIZE, _FORMER_SIZE) if differences_of(options.emulation).routes_to_destinations else (_FORMER_SIZE,)
    return ByLogicalTableRouter.of(options, "__dbz__physicalTableIdentifier", *sizes)


def _by_destination(options: Options) -> ByLogicalTableRouter:
    return ByLogicalTableRouter.of(options, "__dbz__sourceIdentifier", _SIZE)


_LONG: Final = ("LOW", "LONG")

_KEYS: Final = (
    option("topic.regex", "STRING", None, *_LONG, "Topic regex", "Regular expression for the whole names of the topics to rename."),
    option("topic.replacement", "STRING", None, *_LONG, "Topic replacement", "Name of the new topic; $1 stands for the first group."),
    option(
        "key.enforce.uniqueness",
        "BOOLEAN",
        "true",
        "LOW",
        "SHORT",
        "Add source topic name into key",
        "Whether keys get a field that tells the tables apart, whose keys may be equal.",
    ),
    option(
        "key.field.regex",
        "STRING",
        None,
        *_LONG,
        "Key field regex",
        "Regular expression for the whole name of the former topic; key.field.replacement makes the key's field of it.",
    ),
    option(
        "key.field.replacement",
        "STRING",
        None,
        *_LONG,
        "Key field replacement",
        "Value of the key's field; $1 stands for the first group. Without it the field holds the former topic.",
    ),
)


def _cache_size(name: str, display: str, versions: tuple[str, ...]) -> Key:
    return option(
        name, "INT", "16", *_LONG, display, "Size of a cache of schemas. No effect: as many schemas are kept as there are.", versions
    )


_NEW_SIZE: Final = _cache_size(_SIZE, "Logical destination cache size", SINCE_3_7)

DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.ByLogicalTableRouter",
        (*_KEYS, _cache_size(_FORMER_SIZE, "Logical table cache size", _BEFORE_3_7), _NEW_SIZE),
        _by_table,
        VERSIONS,
        "Sends the records of several tables to one topic.",
    ),
    TransformDefinition(
        "io.debezium.transforms.ToLogicalTopicRouter",
        (*_KEYS, _NEW_SIZE),
        _by_destination,
        SINCE_3_7,
        "Does what ByLogicalTableRouter does, under its present name. The key's field is __dbz__sourceIdentifier.",
    ),
)
