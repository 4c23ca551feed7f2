"""Debezium's CloudEventsConverter: change events as CloudEvents 1.0, in JSON or Avro (Debezium documentation, "Exporting CloudEvents").

A record that is no change event becomes null, as in the reference. Metadata in headers may have been converted in any way; the reference
reads them back from JsonConverter's bytes, so there ``header.converter`` must be JsonConverter.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from connector.configdef.options import Options
from connector.converters.cloud_event_parts import DataForm, SourceForm, event_id, iso_time, needed
from connector.converters.cloud_event_settings import KEYS, CloudEventSettings, Origin, avro_choice
from connector.converters.converter import Converted, Converter, DelegatingDefinition, Side
from connector.record.connect_record import DataError, Header
from connector.record.json_converter import quote
from connector.record.name_adjustment import name_adjuster
from connector.record.schema import BYTES, STRING, Field, Schema
from connector.record.struct import SchemaCache, field_of

NAME: Final = "io.debezium.converters.CloudEventsConverter"
_CONNECTOR: Final = "postgresql"


class _Blocks(NamedTuple):
    """The parts of a change event that describe it, from the value or from headers."""

    schema: Schema
    source: Mapping[str, Any]
    op: object
    transaction: Mapping[str, Any] | None


class CloudEventsConverter:
    """Converts the values of one connector. ``avro`` is the converter of Avro, where the options ask for it."""

    def __init__(self, settings: CloudEventSettings, avro: Converter | None) -> None:
        self._settings = settings
        self._avro = avro
        self._adjust = name_adjuster(settings.adjustment, dots=True)
        self._sources: SchemaCache[SourceForm] = SchemaCache()
        self._data: dict[str, SchemaCache[DataForm]] = {}
        self._envelopes: dict[str, SchemaCache[Schema]] = {}

    def convert(self, topic: str, schema: Schema | None, value: Any, headers: Sequence[Header]) -> Converted:
        """Return the event's bytes; null for a record that is no change event. Raises DataError, and what Avro's converter raises."""
        if schema is None or value is None:
            return Converted(None)
        blocks = self._blocks(schema, value, headers)
        if blocks is None:
            return Converted(None)
        if schema.type != "struct":
            raise DataError(f"CloudEvents hold structs, and this is of the schema {schema.name or schema.type}")
        if blocks.source.get("connector") != _CONNECTOR:
            raise DataError("the source block is of another connector than postgresql, which has no CloudEvents here")
        form = self._sources.get(blocks.schema, SourceForm.of) if self._settings.extensions else None
        data = self._data_form(self._data_name(headers), schema)
        attributes = self._attributes(blocks, headers)
        if self._settings.envelope == "avro":
            return self._in_avro(topic, blocks, form, data, value, attributes, headers)
        text = [b'"' + name.encode() + b'":' + quote(each) for name, each in attributes.items()]
        if self._settings.data == "avro":
            raw = self._data_in_avro(topic, data, value, headers)
            text.insert(_AFTER_TYPE, b'"dataschema":' + quote(self._data_schema(raw)))
            shown = b'"' + binascii.b2a_base64(raw, newline=False) + b'"'
        else:
            shown = data.json(value)
        if form is not None:
            text += form.json(blocks.source, blocks.op, blocks.transaction)
        return Converted(b"{" + b",".join(text) + b',"data":' + shown + b"}")

    def _blocks(self, schema: Schema, value: Any, headers: Sequence[Header]) -> _Blocks | None:
        if self._settings.metadata.block == "value":
            if schema.name is None:
                raise DataError("a schema without a name is not that of a change event")
            if not schema.name.endswith(".Envelope"):
                return None
            source = field_of(schema, "source")
            if source is None or value["source"] is None:
                raise DataError("the event has no source block")
            return _Blocks(source.schema, value["source"], value.get("op"), value.get("transaction"))
        found, op, transaction = (_last(headers, name) for name in ("source", "op", "transaction"))
        if found is None or op is None:
            return None
        if found.schema is None or not isinstance(found.value, Mapping):
            raise DataError("the header source holds no struct")
        return _Blocks(found.schema, found.value, op.value, None if transaction is None else transaction.value)

    def _attributes(self, blocks: _Blocks, headers: Sequence[Header]) -> dict[str, str]:
        settings, source = self._settings, blocks.source
        generated = "io.debezium.postgresql.datachangeevent" if settings.is_old else "io.debezium.connector.postgresql.DataChangeEvent"
        found = {
            "id": self._chosen("id", settings.metadata.id, headers) or event_id(source, needs_all=settings.is_old),
            "source": f"/debezium/{_CONNECTOR}/{needed(source, 'name')}",
            "specversion": "1.0",
            "type": self._chosen("type", settings.metadata.type, headers) or generated,
            "time": iso_time(needed(source, "ts_ms")),
            "datacontenttype": f"application/{settings.data}",
        }
        if settings.tracing:
            found["traceparent"] = self._chosen("traceparent", settings.metadata.traceparent, headers) or ""
        return found

    @staticmethod
    def _chosen(name: str, origin: Origin, headers: Sequence[Header]) -> str | None:
        """Return the attribute of a header; None for one to generate."""
        if origin == "generate" and name != "traceparent":
            return None
        found = _last(headers, name) if origin == "header" else None
        if found is None:
            raise DataError(f"Header `{name}` was not provided" if origin == "header" else f"the value has no attribute {name}")
        if not isinstance(found.value, str):
            raise DataError(f"the header {name} holds no text")
        return found.value

    def _data_name(self, headers: Sequence[Header]) -> str:
        settings = self._settings
        by_header = settings.names_data_by_header and settings.metadata.data_schema_name == "header"
        chosen = self._chosen("dataSchemaName", "header", headers) if by_header else None
        return chosen or f"io.debezium.connector.{'mysql' if settings.is_old else _CONNECTOR}.Data"

    def _data_form(self, name: str, schema: Schema) -> DataForm:
        if name not in self._data:
            self._data[name] = SchemaCache()
        whole = self._settings.metadata.block == "header"
        return self._data[name].get(schema, lambda made: DataForm.of(made, name, self._settings.json, whole=whole))

    def _in_avro(
        self,
        topic: str,
        blocks: _Blocks,
        form: SourceForm | None,
        data: DataForm,
        value: Mapping[str, Any],
        attributes: dict[str, str],
        headers: Sequence[Header],
    ) -> Converted:
        raw = self._data_in_avro(f"{topic}-data", data, value, headers)
        attributes = {**_before(attributes), "dataschema": self._data_schema(raw), **_after(attributes)}
        source = blocks.source
        name = self._adjust(self._settings.schema_name or f"{needed(source, 'name')}.{needed(source, 'db')}.CloudEvents.Envelope")
        if name not in self._envelopes:
            self._envelopes[name] = SchemaCache()
        extensions = () if form is None else form.fields
        schema = self._envelopes[name].get(
            blocks.schema,
            lambda _: Schema(
                "struct", name=name, fields=(*(Field(each, STRING) for each in attributes), *extensions, Field("data", BYTES))
            ),
        )
        found = {} if form is None else form.values(source, blocks.op, blocks.transaction)
        return self._delegate.convert(topic, schema, {**attributes, **found, "data": raw}, headers)

    def _data_in_avro(self, topic: str, data: DataForm, value: Mapping[str, Any], headers: Sequence[Header]) -> bytes:
        found = self._delegate.convert(topic, data.schema, data.value(value), headers)
        if found.headers:
            raise DataError(
                "the data of a CloudEvent has no headers for the id of its schema. "
                "Remove avro.value.schema.id.serializer, so that the id stands before the data"
            )
        return found.prefix + (found.payload or b"")

    def _data_schema(self, raw: bytes) -> str:
        return f"{self._settings.registry_urls}/schemas/ids/{int.from_bytes(raw[1:5], 'big', signed=True)}"

    @property
    def _delegate(self) -> Converter:
        if self._avro is None:
            raise DataError("an Avro converter is not configured")
        return self._avro


_AFTER_TYPE: Final = 6
"""The attributes up to ``datacontenttype``; ``dataschema`` follows them."""


def _before(attributes: dict[str, str]) -> dict[str, str]:
    return dict(list(attributes.items())[:_AFTER_TYPE])


def _after(attributes: dict[str, str]) -> dict[str, str]:
    return dict(list(attributes.items())[_AFTER_TYPE:])


def _last(headers: Sequence[Header], name: str) -> Header | None:
    return next((header for header in reversed(headers) if header.name == name), None)


def _make(options: Options, _side: Side, found: Sequence[Converter]) -> CloudEventsConverter:
    return CloudEventsConverter(CloudEventSettings.of(options), found[0] if found else None)


DEFINITIONS: Final = (DelegatingDefinition(NAME, KEYS, lambda options, _side: avro_choice(options), _make),)
