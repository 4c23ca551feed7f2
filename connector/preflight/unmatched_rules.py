"""Entries of filters, masks, keys and other rules that match nothing in the database.

They are warnings, because tables and columns may be created later. They matter: if a mask matches nothing, values are sent unmasked, and
nothing else reports it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from connector.catalog.filters import COLUMN_DOTS, TABLE_DOTS
from connector.catalog.selection import Selection, TableName
from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig
from connector.types.codec import Types
from connector.types.driver_names import source_type

_FORMS: Final = {
    "schema": "schema",
    "table": "schema.table, or database.schema.table",
    "captured table": "schema.table, or database.schema.table",
    "column of a captured table": "schema.table.column, or database.schema.table.column",
    "column's type in a captured table": "schema.table.type, or database.schema.table.type",
    "column to read again": "schema.table:column, or database.schema.table:column",
}
_SHOWN: Final = 200
"""The most characters of an entry that are shown."""
_MOST: Final = 20
"""The most entries of one property that are shown; lists may have thousands."""


@dataclass(frozen=True, slots=True)
class IdleRule:
    """An ``entry`` of property ``key`` that matches no ``thing``; ``others`` is the number of further entries that are not shown."""

    key: str
    entry: str
    thing: str
    others: int = 0

    @property
    def text(self) -> str:
        """The finding's text: the entry, and the form of entries."""
        shown = self.entry if len(self.entry) <= _SHOWN else f"{self.entry[:_SHOWN]}…"
        many = f" (nor do {self.others} other entries)" if self.others else ""
        return f"Entry {shown!r} of {self.key} matches no {self.thing}{many}. Entries are matched with whole names: {_FORMS[self.thing]}"


def needs_columns(config: ConnectorConfig) -> bool:
    """Return whether rules name columns, so that the columns of the captured tables are needed to check them."""
    return bool(
        config.column_include_list
        or config.column_exclude_list
        or config.column_masks
        or config.column_propagate_source_type
        or config.datatype_propagate_source_type
        or config.key_columns
        or config.reselect_rules
    )


def idle_rules(
    selection: Selection,
    tables: Sequence[TableName],
    captured: Sequence[CatalogTable],
    types: Types,
) -> list[IdleRule]:
    """Return the entries that match nothing, grouped by property.

    ``tables`` are all tables of the database (schema, table). ``captured`` are the captured tables, with their columns if
    :func:`needs_columns` is true. Raises CdcError(CONFIG_INVALID) for a pattern that cannot be matched.
    """
    return [rule for group in _groups(selection, tables, captured, types) for rule in group]


def _groups(selection: Selection, tables: Sequence[TableName], captured: Sequence[CatalogTable], types: Types) -> Iterator[list[IdleRule]]:
    yield from _table_lists(selection, tables)
    if captured:
        # Without a captured table nothing else can match.
        yield from _captured_tables(selection, captured)
        if needs_columns(selection.config):
            yield from _columns(selection, captured, types)


def _table_lists(selection: Selection, tables: Sequence[TableName]) -> Iterator[list[IdleRule]]:
    config = selection.config
    names = [f"{schema}.{table}" for schema, table in tables]
    schemas = list(dict.fromkeys(schema for schema, _ in tables))
    yield _idle(selection, "schema.include.list", config.schema_include_list, schemas, "schema", 0)
    yield _idle(selection, "schema.exclude.list", config.schema_exclude_list, schemas, "schema", 0)
    yield _idle(selection, "table.include.list", config.table_include_list, names, "table", TABLE_DOTS)
    yield _idle(selection, "table.exclude.list", config.table_exclude_list, names, "table", TABLE_DOTS)


def _captured_tables(selection: Selection, captured: Sequence[CatalogTable]) -> Iterator[list[IdleRule]]:
    config, thing = selection.config, "captured table"
    read = [table.name for table in captured]
    snapshotted = [name for table in captured for name in selection.snapshot_names(table)]
    yield _idle(selection, "snapshot.include.collection.list", config.snapshot_include_collection_list, snapshotted, thing, TABLE_DOTS)
    known = {name for table in captured for name in selection.names(table)}
    absent = [name for name in config.snapshot_select_overrides if name not in known]
    yield _limited("snapshot.select.statement.overrides", absent, thing)
    identities = [rule.wanted.table for rule in selection.identity_rules if rule.matches.unused(read)]
    yield _limited("replica.identity.autoset.values", identities, thing)


def _columns(selection: Selection, captured: Sequence[CatalogTable], types: Types) -> Iterator[list[IdleRule]]:
    config, thing = selection.config, "column of a captured table"
    columns = [f"{table.name}.{column.name}" for table in captured for column in table.columns]
    yield _idle(selection, "column.include.list", config.column_include_list, columns, thing, COLUMN_DOTS)
    yield _idle(selection, "column.exclude.list", config.column_exclude_list, columns, thing, COLUMN_DOTS)
    for mask in config.column_masks:
        yield _idle(selection, mask.key, mask.columns, columns, thing, COLUMN_DOTS)
    yield _idle(selection, "column.propagate.source.type", config.column_propagate_source_type, columns, thing, COLUMN_DOTS)
    if listed := config.datatype_propagate_source_type:
        described = [
            (table, source_type(column, types, config.emulation, streamed=False)) for table in captured for column in table.columns
        ]
        typed = [f"{table.name}.{source.name}" for table, source in described]
        yield _idle(selection, "datatype.propagate.source.type", listed, typed, "column's type in a captured table", COLUMN_DOTS)
    yield _limited("message.key.columns", [rule.entry for rule in selection.key_rules if rule.matches.unused(columns)], thing)
    marked = [f"{table.name}:{column.name}" for table in captured for column in table.columns] if config.reselect_rules else []
    for rule in config.reselect_rules:
        for side, listed in (("include", rule.include), ("exclude", rule.exclude)):
            yield _idle(selection, f"{rule.name}.reselect.columns.{side}.list", listed, marked, "column to read again", TABLE_DOTS)


def _idle(selection: Selection, key: str, patterns: Sequence[str], names: Sequence[str], thing: str, dots: int) -> list[IdleRule]:
    return _limited(key, selection.matcher(patterns, key, dots=dots).unused(names), thing) if patterns else []


def _limited(key: str, entries: Sequence[str], thing: str) -> list[IdleRule]:
    rules = [IdleRule(key, entry, thing) for entry in entries[:_MOST]]
    if len(entries) > _MOST:
        rules[-1] = IdleRule(key, entries[_MOST - 1], thing, len(entries) - _MOST)
    return rules
