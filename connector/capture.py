"""What one connector captures and how it looks: filters, names and the type table, put together from its configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from connector.allowed_plugins import NO_PLUGINS, AllowedPlugins
from connector.column_rules import ColumnRules
from connector.config import ConnectorConfig
from connector.converted_columns import ConvertedColumns
from connector.encoders import EventColumn, TableEncoder
from connector.envelope import TableSource, event_form
from connector.errors import CdcError, ErrorKind
from connector.filters import COLUMN_DOTS, TABLE_DOTS, ColumnFilter, TableFilter
from connector.name_matcher import LongForm, NameMatcher
from connector.names import name_adjuster
from connector.ports import Backtracking, ConverterSettings, no_backtracking
from connector.record_batch import encode_headers
from connector.reselect import Reselection, Reselector
from connector.schema import NO_DEFAULT
from connector.signals import split_name
from connector.table import CatalogTable, case_duplicates, key_columns
from connector.topics import TopicNames
from connector.types.codec import Column, Types, TypeSettings
from connector.types.defaults import default_value
from connector.types.registry import resolve

CONNECTOR_TYPE: Final = "postgresql"


class Capture:
    """The pure side of a task's configuration. ``types`` is replaced when the server has types it did not have at start.

    ``plugins`` are the users' classes that the worker allows.
    """

    def __init__(
        self,
        config: ConnectorConfig,
        types: Types,
        key_settings: ConverterSettings,
        value_settings: ConverterSettings,
        warn: Callable[[str], None],
        plugins: AllowedPlugins = NO_PLUGINS,
        backtrack: Backtracking = no_backtracking,
    ) -> None:
        """``warn`` is told what people should know; ``backtrack`` matches the patterns that take a backtracking engine."""
        self.types = types
        self.backtrack = backtrack
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
            database=config.database_dbname,
            backtrack=backtrack,
        )
        self._columns = ColumnFilter(
            include=config.column_include_list, exclude=config.column_exclude_list, database=config.database_dbname, backtrack=backtrack
        )
        self._key_rules = key_matchers(config, backtrack)
        self.signal_table = _signal_table(config)
        """(schema, table) of ``signal.data.collection``."""
        self._snapshot_tables = snapshot_matcher(config, backtrack) if config.snapshot_include_collection_list else None
        self.topics = TopicNames(
            config.topic_prefix,
            config.topic_delimiter,
            config.topic_heartbeat_prefix,
            config.topic_heartbeat_name,
            config.topic_transaction,
            with_schema=not config.topic_naming_strategy.endswith(".DefaultTopicNamingStrategy"),
        )
        self._rules = ColumnRules(config, warn, backtrack)
        self._converted = ConvertedColumns(config.column_converters, plugins)
        self._reselector = Reselector(config.reselect_rules, config.database_dbname, backtrack)
        self._field_name = name_adjuster(config.field_name_adjustment_mode, dots=False)
        self._schema_name = name_adjuster(config.schema_name_adjustment_mode, dots=True)
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
        # The key's converter has a decimal.format of its own.
        self._key_types = replace(self._settings, decimal_format=key_settings.decimal_format)
        # Connect's header converter writes a struct as JSON of its own: decimals as numbers, no schema.
        self._header_settings = replace(self._settings, decimal_format="NUMERIC")

    def captures(self, schema: str, table: str) -> bool:
        """Whether changes of the table are sent: those of the signal table always are, whatever the filters say."""
        return self.tables.captures(schema, table) or (schema, table) == self.signal_table

    def snapshots(self, table: CatalogTable) -> bool:
        """Whether the initial snapshot reads the table."""
        if (table.schema, table.table) == self.signal_table:
            return False
        return self.tables.captures(table.schema, table.table) and (self._snapshot_tables is None or self._snapshot_tables(table.name))

    def source(self, table: CatalogTable) -> TableSource:
        """The table's part of the source block."""
        return self._source(table.schema, table.table)

    def message_source(self) -> TableSource:
        """The same for logical decoding messages, which have no table."""
        return self._source("", "")

    def _source(self, schema: str, table: str) -> TableSource:
        config = self._config
        return TableSource.of(
            server=config.topic_prefix,
            database=config.database_dbname,
            schema=schema,
            table=table,
            defaults=self._value_settings.replace_null_with_default,
            form=event_form(config.version),
        )

    def key_names(self, table: CatalogTable) -> tuple[str, ...]:
        """The key's columns in its order; none when the table has no key."""
        return key_columns(table, self._key_rules)

    def _learn(self, table: CatalogTable) -> None:
        """Match all its columns at once, which is faster where patterns take a backtracking engine."""
        names = [f"{table.name}.{column.name}" for column in table.columns]
        self._columns.learn(names)
        self._rules.learn(names)
        for rule in self._key_rules:
            rule.learn(names)

    def needed_columns(self, table: CatalogTable) -> frozenset[str]:
        """Columns that values or keys hold."""
        self._learn(table)
        keys = key_columns(table, self._key_rules)
        return frozenset(c.name for c in table.columns if c.name in keys or self._columns.includes(table.schema, table.table, c.name))

    def unknown_types(self, table: CatalogTable) -> bool:
        """Whether the table has a column of a type that was made after the types were read."""
        return any(column.type_oid not in self.types for column in table.columns)

    def encoder(self, table: CatalogTable) -> TableEncoder:
        """Compile the table. CdcError(SCHEMA) for columns whose names are the same but for case, or after their adjustment."""
        duplicates = case_duplicates(table.columns)
        if duplicates:
            raise CdcError(
                ErrorKind.SCHEMA,
                f"Table '{table.name}' has columns that differ only by case: {', '.join(duplicates)}",
                "Rename one of them, or exclude the table with table.exclude.list",
            )
        self._learn(table)
        keys = key_columns(table, self._key_rules)
        topic = self.topics.table(table.schema, table.table)
        values = self._values(table)
        self._check_names(table, values)
        return TableEncoder(
            table,
            topic,
            values,
            self._key(table, keys, self._key_types),
            self._key(table, keys, self._header_settings),
            self._key_settings,
            self._value_settings,
            event_form(self._config.version),
            self._schema_name(topic),
        )

    def reselections(self, table: CatalogTable, encoder: TableEncoder) -> tuple[Reselection, ...]:
        """What is read again of the table's streamed rows: nothing of the signal table, as in the reference."""
        if not self._reselector or (table.schema, table.table) == self.signal_table:
            return ()
        key = self.key_names(table) if encoder.has_key else ()
        return self._reselector.of(table, encoder.columns, key, lambda event: self._shows_placeholder(table, event))

    def _shows_placeholder(self, table: CatalogTable, event: EventColumn) -> bool:
        if event.mask is None:
            return True
        plain = self._resolve(table, event.index, table.columns[event.index], self._settings)
        return plain is not None and plain.codec.unavailable == event.codec.unavailable

    def _values(self, table: CatalogTable) -> list[EventColumn]:
        found = []
        for index, column in enumerate(table.columns):
            if not self._columns.includes(table.schema, table.table, column.name):
                continue
            event = self._resolve(table, index, column, self._settings)
            if event is None:
                known = self.types.get(column.type_oid)
                self._warn(
                    f"column left out: its type has no mapping table={table.name} column={column.name}"
                    f" type={known.name if known else column.type_oid}; set include.unknown.datatypes=true to send it as bytes"
                )
            else:
                found.append(self._ruled(table, column, event) if self._rules else event)
        return found

    def _key(self, table: CatalogTable, keys: Sequence[str], settings: TypeSettings) -> list[EventColumn]:
        """The key's columns in its order. Rules about single columns do not count for keys, as recorded."""
        placed = {column.name: (index, self._in_key(table, column)) for index, column in enumerate(table.columns)}
        resolved = (self._resolve(table, *placed[name], settings) for name in keys)
        return [event for event in resolved if event is not None]

    def _in_key(self, table: CatalogTable, column: Column) -> Column:
        # As recorded: of an excluded column the reference knows no more than the stream tells, so it is optional in streamed keys.
        # Its snapshots put the type's zero into such keys; ours hold the value.
        if table.streamed and not self._columns.includes(table.schema, table.table, column.name):
            return replace(column, not_null=False, default=None)
        return column

    def _resolve(self, table: CatalogTable, index: int, column: Column, settings: TypeSettings) -> EventColumn | None:
        codec = resolve(column, self.types, settings, streamed=table.streamed)
        converted = self._converted.codec(table, column, self.types, self._settings, codec)
        if converted is not None:
            return EventColumn(self._field_name(column.name), index, converted, converted.schema, column.not_null)
        if codec is None:
            return None
        # PostGIS columns are optional whatever the table says, as in the reference.
        schema = codec.schema.as_optional(codec.schema.optional or not column.not_null)
        default = default_value(column, codec, self.types, self._settings)
        if default is not NO_DEFAULT:
            schema = schema.with_default(default)
        return EventColumn(self._field_name(column.name), index, codec, schema, column.not_null)

    def _ruled(self, table: CatalogTable, column: Column, event: EventColumn) -> EventColumn:
        """The column as the first rule that names it wants it shown."""
        schema, mask = self._rules.apply(table, column, self.types, event.schema)
        codec = event.codec if mask is None else mask.over(event.codec, self._value_settings)
        return replace(event, codec=codec, schema=schema, mask=mask)

    def _check_names(self, table: CatalogTable, values: Sequence[EventColumn]) -> None:
        names = [event.name for event in values]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            clashing = ", ".join(table.columns[event.index].name for event in values if event.name in twice)
            raise CdcError(
                ErrorKind.SCHEMA,
                f"Table '{table.name}' has columns whose adjusted names are the same: {clashing}",
                "Set field.name.adjustment.mode to avro_unicode, rename one of them, or leave one out with column.exclude.list",
            )


def key_matchers(config: ConnectorConfig, backtrack: Backtracking) -> list[NameMatcher]:
    """The rules of ``message.key.columns`` for single columns (``schema.table.column``), in their order."""
    long_form = LongForm(config.database_dbname, COLUMN_DOTS)
    return [
        NameMatcher([rf"{rule.table}\.{column}"], "message.key.columns", long_form=long_form, backtrack=backtrack)
        for rule in config.key_columns
        for column in rule.columns
    ]


def snapshot_matcher(config: ConnectorConfig, backtrack: Backtracking) -> NameMatcher:
    """The tables of ``snapshot.include.collection.list``."""
    long_form, listed = LongForm(config.database_dbname, TABLE_DOTS), config.snapshot_include_collection_list
    return NameMatcher(listed, "snapshot.include.collection.list", long_form=long_form, backtrack=backtrack)


def _signal_table(config: ConnectorConfig) -> tuple[str, str] | None:
    if not config.signal_data_collection:
        return None
    parts = split_name(config.signal_data_collection[0])
    return (parts[-2], parts[-1]) if len(parts) > 1 else ("public", parts[0])


def context_headers(config: ConnectorConfig, task_id: int, run_id: str) -> Sequence[tuple[str, bytes]]:
    """Debezium's headers on every record (``extended.headers.enabled``): which connector, task and run sent it."""
    if not config.extended_headers_enabled or config.version < (3, 0, 0):
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
