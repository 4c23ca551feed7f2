"""What a configuration wants of the database, as far as the rules ask."""

from __future__ import annotations

from dataclasses import dataclass

from connector.capture import snapshot_matcher
from connector.config import ConnectorConfig
from connector.filters import TableFilter
from connector.name_matcher import Matcher
from connector.output_plugin import PGOUTPUT, PLUGINS
from connector.ports import Backtracking, no_backtracking
from connector.preflight.facts import Facts, Table
from connector.publication import publish_list
from connector.signals import split_name
from connector.snapshot import MODE_NAMES, SnapshotMode


@dataclass(frozen=True, slots=True)
class Wish:
    """Made by :meth:`of`."""

    config: ConnectorConfig
    mode: SnapshotMode | None
    """None where a user's snapshotter decides: then nothing is certain."""
    tables: TableFilter
    signal_table: tuple[str, str] | None
    _snapshot_tables: Matcher | None
    backtrack: Backtracking = no_backtracking

    @classmethod
    def of(cls, config: ConnectorConfig, backtrack: Backtracking = no_backtracking) -> Wish:
        """Raises CdcError(CONFIG_INVALID) for a list that holds no regular expressions."""
        tables = TableFilter(
            schema_include=config.schema_include_list,
            schema_exclude=config.schema_exclude_list,
            table_include=config.table_include_list,
            table_exclude=config.table_exclude_list,
            ignore_builtin=config.table_ignore_builtin,
            database=config.database_dbname,
            backtrack=backtrack,
        )
        read = snapshot_matcher(config, backtrack) if config.snapshot_include_collection_list else None
        return cls(config, _mode(config), tables, _signal_table(config), read, backtrack)

    @property
    def streams(self) -> bool:
        """Whether changes are read, as far as can be known: a user's snapshotter may say no."""
        return self.mode is None or self.mode.stream

    @property
    def reads(self) -> bool:
        """Whether the initial snapshot reads rows, as far as can be known."""
        return self.mode is None or self.mode.snapshot_data

    @property
    def certain(self) -> bool:
        """Whether it is certain that changes are read."""
        return self.mode is not None and self.mode.stream

    def plugin(self, facts: Facts) -> str | None:
        """The output plugin: the one named, else an existing slot's; None when the server decides."""
        if self.config.plugin_name is not None:
            return self.config.plugin_name
        return facts.slot.plugin if facts.slot is not None and facts.slot.plugin in PLUGINS else None

    def publishes(self, facts: Facts) -> bool:
        """Whether a publication is wanted, as far as can be known."""
        return self.streams and self.plugin(facts) in (None, PGOUTPUT)

    def learn(self, facts: Facts) -> None:
        """Decide about all tables at once."""
        self.tables.learn((table.schema, table.table) for table in facts.tables)

    def captured(self, facts: Facts) -> list[Table]:
        """The tables whose changes are sent; the signal table is always among them."""
        return [table for table in facts.tables if self.captures(table)]

    def captures(self, table: Table) -> bool:
        """Whether changes of the table are sent."""
        return self.tables.captures(table.schema, table.table) or (table.schema, table.table) == self.signal_table

    def snapshots(self, table: Table) -> bool:
        """Whether the initial snapshot reads the table."""
        if (table.schema, table.table) == self.signal_table or not self.tables.captures(table.schema, table.table):
            return False
        return self._snapshot_tables is None or self._snapshot_tables(table.name)

    @property
    def publish(self) -> str | None:
        """``skipped.operations`` as a publication's list; None when it is not set."""
        return publish_list(self.config.skipped_operations if "skipped.operations" in self.config.raw else None)


def _mode(config: ConnectorConfig) -> SnapshotMode | None:
    name = config.snapshot_mode
    if name == "custom":
        # As recorded, custom with the name of a mode is that mode.
        name = (config.snapshot_mode_custom_name or "").strip()
    if name not in MODE_NAMES:
        return None
    return SnapshotMode.of(
        name,
        based_on={
            "data": config.snapshot_mode_configuration_based_snapshot_data,
            "stream": config.snapshot_mode_configuration_based_start_stream,
            "on_data_error": config.snapshot_mode_configuration_based_snapshot_on_data_error,
        },
    )


def _signal_table(config: ConnectorConfig) -> tuple[str, str] | None:
    if not config.signal_data_collection:
        return None
    parts = split_name(config.signal_data_collection[0])
    return (parts[-2], parts[-1]) if len(parts) > 1 else ("public", parts[0])
