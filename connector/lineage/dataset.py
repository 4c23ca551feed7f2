"""The datasets of a run: captured tables as inputs, topics as outputs (Debezium documentation, "OpenLineage integration")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig
from connector.record.schema import Schema
from connector.types.codec import Column, TypeInfo

_SERIAL: Final = {"int2": "smallserial", "int4": "serial", "int8": "bigserial"}


@dataclass(frozen=True, slots=True)
class DatasetField:
    """A column of a table, or a field of a topic's values. ``description`` is its comment, if there is one."""

    name: str
    type: str
    description: str | None = None
    fields: tuple[DatasetField, ...] = ()
    """The fields of a struct."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A table or a topic, with the names that OpenLineage's naming convention gives them."""

    kind: Literal["input", "output"]
    type: Literal["TABLE", "STREAM"]
    namespace: str
    name: str
    fields: tuple[DatasetField, ...]


def table_dataset(table: CatalogTable, types: Mapping[int, TypeInfo], config: ConnectorConfig) -> Dataset:
    """Return the input of a captured table.

    As recorded, a column that was read from the catalog and has a sequence is of type serial; one that the stream describes is not.
    """
    fields = tuple(
        DatasetField(
            column.name,
            _type_name(column, types, streamed=table.streamed),
            column.comment if config.include_schema_comments else None,
        )
        for column in table.columns
    )
    namespace = f"postgres://{config.database_hostname}:{config.database_port}"
    return Dataset("input", "TABLE", namespace, f"{config.database_dbname}.{table.name}", fields)


def topic_dataset(topic: str, schema: Schema, config: ConnectorConfig) -> Dataset:
    """Return the output of a topic whose values have ``schema``. Without a configured address the cluster is ``unknown:unknown``."""
    address = config.openlineage_integration_dataset_kafka_bootstrap_servers or "unknown:unknown"
    return Dataset("output", "STREAM", f"kafka://{address}", topic, _fields(schema))


def _fields(schema: Schema) -> tuple[DatasetField, ...]:
    return tuple(
        DatasetField(field.name, _WORDS.get(field.schema.type, field.schema.type.upper()), field.schema.doc, _fields(field.schema))
        for field in schema.fields
    )


_WORDS: Final = {"float": "FLOAT32", "double": "FLOAT64"}
"""Connect's names of the types that JsonConverter calls otherwise."""


def _type_name(column: Column, types: Mapping[int, TypeInfo], *, streamed: bool) -> str:
    found = types.get(column.type_oid)
    if found is None:
        return str(column.type_oid)
    counted = not streamed and column.default is not None and "nextval(" in column.default
    return _SERIAL.get(found.name, found.name) if counted else found.name
