"""What a configuration selects in its database, decided in one place.

The check of a new configuration (:mod:`connector.preflight`) and the running task use the same :class:`Selection`. Both therefore decide
equally about tables, columns, keys, the signal table and the snapshot mode.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from connector.catalog.filters import COLUMN_DOTS, TABLE_DOTS, ColumnFilter, TableFilter
from connector.catalog.identifiers import split_name
from connector.catalog.name_matcher import LongForm, NameMatcher
from connector.catalog.replica_identity import IdentityRule
from connector.catalog.snapshot_mode import SnapshotMode, chosen_mode
from connector.config.connector_config import ConnectorConfig
from connector.ports import Backtracking, no_backtracking

TableName = tuple[str, str]
"""Schema and table."""


class NamedTable(Protocol):
    """A table of the database, as a selection needs it."""

    @property
    def schema(self) -> str:
        """Its schema."""

    @property
    def table(self) -> str:
        """Its own name."""


_Table = TypeVar("_Table", bound=NamedTable)


@dataclass(frozen=True, slots=True)
class KeyRule:
    """One column of an entry of ``message.key.columns``. ``entry`` is the rule in the user's notation, reduced to this column."""

    entry: str
    matches: NameMatcher


@dataclass(frozen=True, slots=True)
class Selection:
    """What one connector selects. :meth:`of` creates it.

    The filters and rules cache their results. The methods raise CdcError(CONFIG_INVALID) for a pattern that takes too long to match.
    """

    config: ConnectorConfig
    backtrack: Backtracking
    """Matches the patterns that need a backtracking engine."""
    filters: TableFilter
    """The schema and table lists alone, without the signal table."""
    columns: ColumnFilter
    key_rules: tuple[KeyRule, ...]
    """``message.key.columns``: one rule for each column, in the order of the property."""
    identity_rules: tuple[IdentityRule, ...]
    """``replica.identity.autoset.values``, in the order of the property."""
    signal_table: TableName | None
    """The table of ``signal.data.collection``."""
    mode: SnapshotMode | None
    """The snapshot mode; None if a user's class decides."""
    _snapshot_tables: NameMatcher | None

    @classmethod
    def of(cls, config: ConnectorConfig, backtrack: Backtracking = no_backtracking) -> Selection:
        """Compile what ``config`` selects. Raises CdcError(CONFIG_INVALID) for a pattern that cannot be used.

        Long lists take some time: do not call it in the event loop's thread.
        """
        database, listed = config.database_dbname, config.snapshot_include_collection_list
        key, form = "snapshot.include.collection.list", LongForm(config.database_dbname, TABLE_DOTS)
        return cls(
            config,
            backtrack,
            TableFilter(
                schema_include=config.schema_include_list,
                schema_exclude=config.schema_exclude_list,
                table_include=config.table_include_list,
                table_exclude=config.table_exclude_list,
                ignore_builtin=config.table_ignore_builtin,
                database=database,
                backtrack=backtrack,
            ),
            ColumnFilter(include=config.column_include_list, exclude=config.column_exclude_list, database=database, backtrack=backtrack),
            _key_rules(config, backtrack),
            tuple(IdentityRule.of(rule, database, backtrack) for rule in config.replica_identities),
            _signal_table(config),
            chosen_mode(config),
            NameMatcher(listed, key, long_form=form, backtrack=backtrack) if listed else None,
        )

    def matcher(self, patterns: Iterable[str], key: str, *, dots: int = 0) -> NameMatcher:
        """Return a matcher for the patterns of another property, ``key``.

        ``dots`` is the number of dots in a name that begins with the database (:data:`connector.catalog.filters.TABLE_DOTS`,
        :data:`connector.catalog.filters.COLUMN_DOTS`); 0 if no name may begin with it.
        """
        form = LongForm(self.config.database_dbname, dots) if dots else None
        return NameMatcher(patterns, key, long_form=form, backtrack=self.backtrack)

    def learn(self, tables: Iterable[NamedTable]) -> None:
        """Match many tables at once, which is faster where patterns need a backtracking engine."""
        self.filters.learn((table.schema, table.table) for table in tables)

    def captures(self, schema: str, table: str) -> bool:
        """Return whether changes of the table are sent. Those of the signal table are sent whatever the filters say."""
        return self.filters.captures(schema, table) or (schema, table) == self.signal_table

    def captured(self, tables: Iterable[_Table]) -> list[_Table]:
        """Return those of ``tables`` whose changes are sent, in their order."""
        return [table for table in tables if self.captures(table.schema, table.table)]

    def is_signal_table(self, table: NamedTable) -> bool:
        """Return whether ``table`` is the signal table."""
        return (table.schema, table.table) == self.signal_table

    def snapshots(self, table: NamedTable) -> bool:
        """Return whether the initial snapshot reads the table. It never reads the signal table."""
        if self.is_signal_table(table) or not self.filters.captures(table.schema, table.table):
            return False
        return self._snapshot_tables is None or any(self._snapshot_tables(name) for name in self.snapshot_names(table))

    def in_snapshot_order(self, tables: Iterable[_Table]) -> list[_Table]:
        """Return ``tables``, each once, in the order in which snapshots read them, which is that of ``table.include.list``.

        Long lists of patterns take some time: do not call it in the event loop's thread.
        """
        # Two tables may have one name: "a.b"."c" and "a"."b.c".
        named = {(table.schema, table.table): table for table in tables}
        places = {name: at for at, name in enumerate(self.filters.in_list_order(map(".".join, named)))}
        return [named[name] for name in sorted(named, key=lambda name: places[".".join(name)])]

    def snapshot_names(self, table: NamedTable) -> Sequence[str]:
        """Return the names by which ``snapshot.include.collection.list`` may select the table."""
        name, quoted, _ = self.names(table)
        return (name, quoted) if self.config.emulation.reads_quoted_snapshot_tables else (name,)

    @property
    def snapshots_some_only(self) -> bool:
        """Whether ``snapshot.include.collection.list`` limits the tables that the initial snapshot reads."""
        return self._snapshot_tables is not None

    def override(self, table: NamedTable) -> str | None:
        """Return the user's SELECT for the table (``snapshot.select.statement.overrides``), if there is one."""
        given = self.config.snapshot_select_overrides
        return next((given[name] for name in self.names(table) if name in given), None)

    def names(self, table: NamedTable) -> tuple[str, str, str]:
        """Return the names under which ``snapshot.select.statement.overrides`` may list the table. The first listed one applies."""
        name = f"{table.schema}.{table.table}"
        return name, f'"{table.schema}"."{table.table}"', f"{self.config.database_dbname}.{name}"

    @property
    def skipped_operations(self) -> Collection[str] | None:
        """The operations that the publication leaves out; None if it keeps the server's default."""
        given = "skipped.operations" in self.config.raw and self.config.emulation.limits_publications
        return self.config.skipped_operations if given else None


def _key_rules(config: ConnectorConfig, backtrack: Backtracking) -> tuple[KeyRule, ...]:
    form = LongForm(config.database_dbname, COLUMN_DOTS)
    return tuple(
        KeyRule(
            f"{rule.table}:{column}",
            # As recorded, the dot between the two is a part of the expression: it matches any character.
            NameMatcher([f"{rule.table}.{column}"], "message.key.columns", long_form=form, backtrack=backtrack),
        )
        for rule in config.key_columns
        for column in rule.columns
    )


def _signal_table(config: ConnectorConfig) -> TableName | None:
    """Return the signal table. A name of one part is a table of the schema ``public``; the first of three parts is the database."""
    if not config.signal_data_collection:
        return None
    parts = split_name(config.signal_data_collection[0])
    return (parts[-2], parts[-1]) if len(parts) > 1 else ("public", parts[0])
