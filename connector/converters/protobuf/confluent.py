"""``io.confluent.connect.protobuf.ProtobufConverter``: Protocol Buffers, with schemas in a registry of Confluent's API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from connector.configdef.options import OptionError, Options
from connector.converters.confluent import Subjects, confluent_registry
from connector.converters.confluent_keys import CONFLUENT_KEYS
from connector.converters.converter import Converted, ConverterDefinition, SchemaRequest, Side
from connector.converters.protobuf.compatibility import unreadable
from connector.converters.protobuf.indexes import find_message, index_bytes
from connector.converters.protobuf.keys import DEFAULT_REFERENCE, PROTOBUF_KEYS, QUALIFIED_REFERENCE
from connector.converters.protobuf.known_files import FILES
from connector.converters.protobuf.mapping import Mapped, protobuf_file
from connector.converters.protobuf.settings import ProtobufSettings
from connector.converters.protobuf.writer import Write, value_writer
from connector.converters.registry import Action, Reference, Registry, SchemaAsk, Wire
from connector.record.connect_record import DataError, Header
from connector.record.schema import Schema
from connector.record.struct import SchemaCache

_Ready = tuple[Write, Wire]


@dataclass(frozen=True, slots=True)
class References:
    """How the files that a schema imports are registered."""

    qualified: bool
    lookup_only: bool
    skip_known: bool

    @classmethod
    def of(cls, options: Options) -> References:
        """Read the options. Raises OptionError for Java classes other than Confluent's own."""
        strategy = options.needed("reference.subject.name.strategy")
        if strategy not in (DEFAULT_REFERENCE, QUALIFIED_REFERENCE):
            raise OptionError(
                f"Invalid value {strategy} for configuration reference.subject.name.strategy: Java classes cannot be loaded. "
                f"Use one of {DEFAULT_REFERENCE}, {QUALIFIED_REFERENCE}"
            )
        return cls(strategy == QUALIFIED_REFERENCE, options.flag("reference.lookup.only"), options.flag("skip.known.types"))

    def to(self, imports: Sequence[str], subjects: Subjects) -> tuple[Reference, ...]:
        """Return what the registry must know before the schema. Every file that this converter imports is a known one."""
        if self.skip_known:
            return ()
        action: Action = "register" if subjects.action == "register" and not self.lookup_only else "look up"
        return tuple(
            Reference(path, SchemaRequest(self._subject(path), SchemaAsk(action, "PROTOBUF", FILES[path].text(), (), subjects.normalize)))
            for path in imports
        )

    def _subject(self, path: str) -> str:
        return path.replace(".proto", "").replace("/", ".") if self.qualified else path


class ProtobufConverter:
    """Converts the keys, or the values, of one connector."""

    def __init__(self, registry: Registry, subjects: Subjects, references: References, settings: ProtobufSettings) -> None:
        self._registry = registry
        self._subjects = subjects
        self._references = references
        self._settings = settings
        self._topics: dict[str, SchemaCache[_Ready]] = {}
        self._mapped: SchemaCache[tuple[Mapped, str, Write]] = SchemaCache()

    @classmethod
    def of(cls, options: Options, side: Side) -> ProtobufConverter:
        """Make it of its options."""
        return cls(confluent_registry(options), Subjects.of(options, side), References.of(options), ProtobufSettings.of(options))

    def convert(self, topic: str, schema: Schema | None, value: Any, headers: Sequence[Header]) -> Converted:  # noqa: ARG002 - Converter's
        """Return the bytes. Raises DataError; SchemaNeededError until the registry has answered for this topic and schema."""
        if value is None:
            return Converted(None)
        if schema is None:
            raise DataError("ProtobufConverter needs a schema: the record has none")
        if self._registry.forgot():
            self._topics.clear()
        cache = self._topics.get(topic)
        if cache is None:
            cache = self._topics[topic] = SchemaCache()
        write, wire = cache.get(schema, lambda made: self._prepare(topic, made))
        return Converted(write(value), wire.prefix, wire.headers)

    def _map(self, schema: Schema) -> tuple[Mapped, str, Write]:
        mapped = protobuf_file(schema, self._settings)
        return mapped, mapped.file.text(), value_writer(schema, self._settings)

    def _prepare(self, topic: str, schema: Schema) -> _Ready:
        mapped, text, write = self._mapped.get(schema, self._map)
        references = self._references.to(mapped.file.imports, self._subjects)
        answer = self._registry.schema(self._subjects.request(topic, mapped.full_name, "PROTOBUF", text, references))
        indexes: tuple[int, ...] | None = mapped.indexes
        if answer.text is not None:
            # The bytes stay those of the record's own schema; the registry's schema only says where its message stands.
            if self._subjects.strict and (problem := unreadable(answer.text, text)):
                option = "id.compatibility.strict" if self._subjects.action == "by id" else "latest.compatibility.strict"
                raise DataError(
                    f"The registry's schema with the id {answer.id} cannot read what the record's schema writes: {problem}. "
                    f"Register the record's schema, or set {option}=false"
                )
            indexes = find_message(answer.text, mapped.full_name)
        if indexes is None:
            raise DataError(
                f"The registry's schema with the id {answer.id} has no message {mapped.full_name}. Rename the record's schema with the "
                "transformation SetSchemaMetadata, or register the record's schema"
            )
        return write, self._subjects.wire(answer, index_bytes(indexes))


DEFINITIONS: Final = (
    ConverterDefinition("io.confluent.connect.protobuf.ProtobufConverter", (*CONFLUENT_KEYS, *PROTOBUF_KEYS), ProtobufConverter.of),
)
