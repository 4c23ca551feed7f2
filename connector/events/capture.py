"""What one connector captures and the form of its events: filters, names and the type table, built from its configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable, case_duplicates, key_columns
from connector.config.connector_config import ConnectorConfig
from connector.errors import CdcError, ErrorKind
from connector.events.column_rules import ColumnRules
from connector.events.converted_columns import ConvertedColumns
from connector.events.encoders import EventColumn, TableEncoder
from connector.events.envelope import TableSource, event_form
from connector.events.reselect import Reselection, Reselector
from connector.events.topic_names import TopicNames
from connector.log import Warn
from connector.plugins.allowed import NO_PLUGINS, AllowedPlugins
from connector.record.batch import encode_headers
from connector.record.json_converter import ConverterSettings
from connector.record.name_adjustment import name_adjuster
from connector.record.schema import NO_DEFAULT
from connector.types.codec import Column, Types, TypeSettings
from connector.types.defaults import default_value
from connector.types.registry import resolve

CONNECTOR_TYPE: Final = "postgresql"
AVRO_CONVERTERS: Final = frozenset({"io.confluent.connect.avro.AvroConverter", "io.apicurio.registry.utils.converter.AvroConverter"})


class Capture:
    """The part of a task's configuration that needs no I/O.

    The caller replaces ``types`` when the server has types that it did not have at the start. ``plugins`` are the users' classes that the
    worker allows.
    """

    def __init__(
        self,
        selection: Selection,
        types: Types,
        key_settings: ConverterSettings,
        value_settings: ConverterSettings,
        warn: Warn,
        plugins: AllowedPlugins = NO_PLUGINS,
    ) -> None:
        """``warn`` logs a warning: a value that the events do not contain, or a rule that has no effect."""
        config, backtrack = selection.config, selection.backtrack
        self.types = types
        self.selection = selection
        self._config = config
        self._key_settings = key_settings
        self._value_settings = value_settings
        self._warn = warn
        self._columns = selection.columns
        self._key_rules = tuple(rule.matches for rule in selection.key_rules)
        self.topics = TopicNames(
            config.topic_prefix,
            config.topic_delimiter,
            config.topic_heartbeat_prefix,
            config.topic_heartbeat_name,
            config.topic_transaction,
            with_schema=not config.topic_naming_strategy.endswith(".DefaultTopicNamingStrategy"),
        )
        self._rules = ColumnRules(selection, warn)
        self._converted = ConvertedColumns(config.column_converters, plugins)
        self._reselector = Reselector(config.reselect_rules, config.database_dbname, backtrack)
        self._field_name = name_adjuster(_field_name_mode(config), dots=False)
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
            emulation=config.emulation,
        )
        # The key's converter has its own decimal.format.
        self._key_types = replace(self._settings, decimal_format=key_settings.decimal_format)

    def source(self, table: CatalogTable) -> TableSource:
        """Return the constant parts of the table's source block."""
        return self._source(table.schema, table.table)

    def message_source(self) -> TableSource:
        """Return the constant parts of the source block of logical decoding messages, which have no table."""
        return self._source("", "")

    def _source(self, schema: str, table: str) -> TableSource:
        config = self._config
        return TableSource.of(
            server=config.topic_prefix,
            database=config.database_dbname,
            schema=schema,
            table=table,
            defaults=self._value_settings.replace_null_with_default,
            form=event_form(config.emulation),
        )

    def key_names(self, table: CatalogTable) -> tuple[str, ...]:
        """Return the key's columns in the order of the key; an empty tuple if the table has no key."""
        return key_columns(table, self._key_rules)

    def _learn(self, table: CatalogTable) -> None:
        """Match all columns of the table at once, which is faster where patterns need a backtracking engine."""
        names = [f"{table.name}.{column.name}" for column in table.columns]
        self._columns.learn(names)
        self._rules.learn(names)
        for rule in self._key_rules:
            rule.learn(names)

    def needed_columns(self, table: CatalogTable) -> frozenset[str]:
        """Return the names of the columns that are in values or keys."""
        self._learn(table)
        keys = key_columns(table, self._key_rules)
        return frozenset(c.name for c in table.columns if c.name in keys or self._columns.includes(table.schema, table.table, c.name))

    def unknown_types(self, table: CatalogTable) -> bool:
        """Return whether the table has a column of a type that was created after the types were read."""
        return any(column.type_oid not in self.types for column in table.columns)

    def encoder(self, table: CatalogTable) -> TableEncoder:
        """Compile the table's encoder.

        Raises CdcError(SCHEMA) if two columns have names that differ only by case, or that are the same after their adjustment.
        """
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
            self._key_settings,
            self._value_settings,
            event_form(self._config.emulation),
            self._schema_name(topic),
        )

    def reselections(self, table: CatalogTable, encoder: TableEncoder) -> tuple[Reselection, ...]:
        """Return the rules that read values of the table's streamed rows again; none for the signal table, as in Debezium."""
        if not self._reselector or self.selection.is_signal_table(table):
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
                    "column left out",
                    table=table.name,
                    column=column.name,
                    type=known.name if known else column.type_oid,
                    reason="its type has no mapping; set include.unknown.datatypes=true to send it as bytes",
                )
            else:
                found.append(self._ruled(table, column, event) if self._rules else event)
        return found

    def _key(self, table: CatalogTable, keys: Sequence[str], settings: TypeSettings) -> list[EventColumn]:
        """Return the key's columns in the order of the key. As recorded, the rules about single columns do not apply to keys."""
        placed = {column.name: (index, self._in_key(table, column)) for index, column in enumerate(table.columns)}
        resolved = (self._resolve(table, *placed[name], settings) for name in keys)
        return [event for event in resolved if event is not None]

    def _in_key(self, table: CatalogTable, column: Column) -> Column:
        # As recorded: Debezium knows of an excluded column only what the stream contains. The column is therefore optional in streamed
        # keys. Debezium's snapshots put the type's zero into such keys; these snapshots put the value into them.
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
        # As in Debezium, PostGIS columns are always optional.
        schema = codec.schema.as_optional(codec.schema.optional or not column.not_null)
        default = default_value(column, codec, self.types, self._settings)
        if default is not NO_DEFAULT:
            schema = schema.with_default(default)
        return EventColumn(self._field_name(column.name), index, codec, schema, column.not_null)

    def _ruled(self, table: CatalogTable, column: Column, event: EventColumn) -> EventColumn:
        """Return the column with the first rule applied that names it."""
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


def _field_name_mode(config: ConnectorConfig) -> str:
    """Return how names of fields are adjusted. With an Avro converter of the connector's own they always are, as in Debezium."""
    avro = AVRO_CONVERTERS & {config.key_converter.strip(), config.value_converter.strip()}
    return "avro" if avro and config.field_name_adjustment_mode == "none" else config.field_name_adjustment_mode


def context_headers(config: ConnectorConfig, task_id: int, run_id: str) -> Sequence[tuple[str, bytes]]:
    """Return Debezium's headers for every record (``extended.headers.enabled``): the connector, the task and the run that sent it."""
    if not config.extended_headers_enabled or not config.emulation.sends_context_headers:
        return ()
    return (
        ("__debezium.context.connectorLogicalName", config.topic_prefix.encode()),
        ("__debezium.context.taskId", str(task_id).encode()),
        ("__debezium.context.connectorName", CONNECTOR_TYPE.encode()),
        ("__debezium.context.runId", run_id.encode()),
    )


def key_change_headers(context: Sequence[tuple[str, bytes]]) -> Callable[[bytes, str], bytes]:
    """Return the function that makes the headers of records around a primary-key change: the other key, then the context."""
    return lambda key, name: encode_headers([(name, key), *context])
