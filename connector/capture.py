"""What one connector captures and how it looks: filters, names and the type table, put together from its configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from connector.config import ConnectorConfig
from connector.encoders import EventColumn, TableEncoder
from connector.envelope import TableSource
from connector.errors import CdcError, ErrorKind
from connector.filters import ColumnFilter, TableFilter, matcher
from connector.ports import ConverterSettings
from connector.record_batch import encode_headers
from connector.schema import NO_DEFAULT
from connector.table import CatalogTable, case_duplicates, key_columns
from connector.topics import TopicNames
from connector.types.codec import Column, Types, TypeSettings
from connector.types.defaults import default_value
from connector.types.registry import resolve

CONNECTOR_TYPE: Final = "postgresql"


class Capture:
    """The pure side of a task's configuration. ``types`` is replaced when the server has types it did not have at start."""

    def __init__(
        self,
        config: ConnectorConfig,
        types: Types,
        key_settings: ConverterSettings,
        value_settings: ConverterSettings,
        warn: Callable[[str], None],
    ) -> None:
        self.types = types
        self._config = config
        self._key_settings = key_settings
        self._value_settings = value_settings
        self._warn = warn
        self.tables = TableFilter(
            schema_include=config.schema_include_list,
            schema_exclude=config.schema_exclude_list,
            table_include=config.table_include_list,
            table_exclude=config.table_exclude_list,
            ignore_builtin=config.table_ignore_builtin,
        )
        self._columns = ColumnFilter(include=config.column_include_list, exclude=config.column_exclude_list)
        self._key_rules = [(matcher([rule.table], "message.key.columns"), rule.columns) for rule in config.key_columns]
        self._snapshot_tables = (
            matcher(config.snapshot_include_collection_list, "snapshot.include.collection.list")
            if config.snapshot_include_collection_list
            else None
        )
        self.topics = TopicNames(
            config.topic_prefix,
            config.topic_delimiter,
            config.topic_heartbeat_prefix,
            config.topic_heartbeat_name,
            config.topic_transaction,
        )
        self._settings = TypeSettings(
            decimal_handling_mode=config.decimal_handling_mode,
            time_precision_mode=config.time_precision_mode,
            interval_handling_mode=config.interval_handling_mode,
            binary_handling_mode=config.binary_handling_mode,
            hstore_handling_mode=config.hstore_handling_mode,
            money_fraction_digits=config.money_fraction_digits,
            include_unknown_datatypes=config.include_unknown_datatypes,
            unavailable_value_placeholder=config.unavailable_value_placeholder,
            decimal_format=value_settings.decimal_format,
            version=config.version,
        )
        # Connect's header converter writes a struct as JSON of its own: decimals as numbers, no schema.
        self._header_settings = replace(self._settings, decimal_format="NUMERIC")

    def snapshots(self, table: CatalogTable) -> bool:
        """Whether the initial snapshot reads the table."""
        return self.tables.captures(table.schema, table.table) and (self._snapshot_tables is None or self._snapshot_tables(table.name))

    def source(self, table: CatalogTable) -> TableSource:
        """The table's part of the source block."""
        config = self._config
        return TableSource.of(server=config.topic_prefix, database=config.database_dbname, schema=table.schema, table=table.table)

    def needed_columns(self, table: CatalogTable) -> frozenset[str]:
        """Columns that values or keys hold."""
        keys = key_columns(table, self._key_rules)
        return frozenset(c.name for c in table.columns if c.name in keys or self._columns.includes(table.schema, table.table, c.name))

    def unknown_types(self, table: CatalogTable) -> bool:
        """Whether the table has a column of a type that was made after the types were read."""
        return any(column.type_oid not in self.types for column in table.columns)

    def encoder(self, table: CatalogTable) -> TableEncoder:
        """Compile the table. CdcError(SCHEMA) for a table the reference refuses too: columns that differ by case alone."""
        duplicates = case_duplicates(table.columns)
        if duplicates:
            raise CdcError(
                ErrorKind.SCHEMA,
                f"Table '{table.name}' has columns that differ only by case: {', '.join(duplicates)}",
                "Rename one of them, or exclude the table with table.exclude.list",
            )
        resolved = {column.name: self._resolve(table, index, column, self._settings) for index, column in enumerate(table.columns)}
        keys = key_columns(table, self._key_rules)
        values = [
            event for name, event in resolved.items() if event is not None and self._columns.includes(table.schema, table.table, name)
        ]
        return TableEncoder(
            table,
            self.topics.table(table.schema, table.table),
            values,
            [event for name in keys if (event := resolved[name]) is not None],
            [
                event
                for index, column in enumerate(table.columns)
                if column.name in keys and (event := self._resolve(table, index, column, self._header_settings)) is not None
            ],
            self._key_settings,
            self._value_settings,
        )

    def _resolve(self, table: CatalogTable, index: int, column: Column, settings: TypeSettings) -> EventColumn | None:
        codec = resolve(column, self.types, settings)
        if codec is None:
            if self._columns.includes(table.schema, table.table, column.name):
                known = self.types.get(column.type_oid)
                self._warn(
                    f"column left out: its type has no mapping table={table.name} column={column.name}"
                    f" type={known.name if known else column.type_oid}; set include.unknown.datatypes=true to send it as bytes"
                )
            return None
        # PostGIS columns are optional whatever the table says, as in the reference.
        schema = codec.schema.as_optional(codec.schema.optional or not column.not_null)
        default = default_value(column, codec, self.types, self._settings)
        if default is not NO_DEFAULT:
            schema = schema.with_default(default)
        if self._config.include_schema_comments and column.comment:
            schema = schema.with_doc(column.comment)
        return EventColumn(column.name, index, codec, schema, column.not_null)


def context_headers(config: ConnectorConfig, task_id: int, run_id: str) -> Sequence[tuple[str, bytes]]:
    """Debezium's headers on every record (``extended.headers.enabled``): which connector, task and run sent it."""
    if not config.extended_headers_enabled:
        return ()
    return (
        ("__debezium.context.connectorLogicalName", config.topic_prefix.encode()),
        ("__debezium.context.taskId", str(task_id).encode()),
        ("__debezium.context.connectorName", CONNECTOR_TYPE.encode()),
        ("__debezium.context.runId", run_id.encode()),
    )


def key_change_headers(context: Sequence[tuple[str, bytes]]) -> Callable[[bytes, str], bytes]:
    """The headers of the records around a primary-key change: the other key first, then the context."""
    return lambda key, name: encode_headers([(name, key), *context])
