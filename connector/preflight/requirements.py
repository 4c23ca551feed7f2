"""What a configuration requires of the database, as far as the rules need it."""

from __future__ import annotations

from dataclasses import dataclass

from connector.catalog.selection import Selection
from connector.config.connector_config import ConnectorConfig
from connector.preflight.facts import Facts, Table
from connector.start.publication_sql import publish_list
from connector.wire.output_plugin import PGOUTPUT, PLUGINS


@dataclass(frozen=True, slots=True)
class Wish:
    """The requirements of ``selection``, given the facts about a server."""

    selection: Selection

    @property
    def config(self) -> ConnectorConfig:
        """The configuration."""
        return self.selection.config

    @property
    def streams(self) -> bool:
        """Whether changes are read. True also if a user's snapshotter decides."""
        mode = self.selection.mode
        return mode is None or mode.stream

    @property
    def reads(self) -> bool:
        """Whether the initial snapshot reads rows. True also if a user's snapshotter decides."""
        mode = self.selection.mode
        return mode is None or mode.snapshot_data

    @property
    def certain(self) -> bool:
        """Whether it is certain that changes are read."""
        mode = self.selection.mode
        return mode is not None and mode.stream

    def plugin(self, facts: Facts) -> str | None:
        """Return the output plugin: the configured one, else the existing slot's; None if the server decides."""
        if self.config.plugin_name is not None:
            return self.config.plugin_name
        return facts.slot.plugin if facts.slot is not None and facts.slot.plugin in PLUGINS else None

    def publishes(self, facts: Facts) -> bool:
        """Return whether a publication is needed. True also if the server decides about the plugin."""
        return self.streams and self.plugin(facts) in (None, PGOUTPUT)

    def captured(self, facts: Facts) -> list[Table]:
        """Return the captured tables, which always include the signal table."""
        return self.selection.captured(facts.tables)

    def captures(self, table: Table) -> bool:
        """Return whether the table is captured."""
        return self.selection.captures(table.schema, table.table)

    def snapshots(self, table: Table) -> bool:
        """Return whether the initial snapshot reads the table."""
        return self.selection.snapshots(table)

    @property
    def publish(self) -> str | None:
        """The publication's option ``publish`` according to ``skipped.operations``; None if that is not set."""
        return publish_list(self.selection.skipped_operations)
