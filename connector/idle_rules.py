"""Entries of filters, masks, keys and other rules that match nothing in the database as it is.

None of them is an error, for tables and columns may come later. But a mask that matches nothing lets values out as they are, and nobody
would notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from connector.capture import key_matchers
from connector.config import ConnectorConfig
from connector.filters import COLUMN_DOTS, TABLE_DOTS
from connector.name_matcher import LongForm, NameMatcher
from connector.ports import Backtracking, no_backtracking
from connector.replica_identity import identity_matcher
from connector.source_types import source_type
from connector.table import CatalogTable
from connector.types.codec import Types

_FORMS: Final = {
    "schema": "schema",
    "table": "schema.table, or database.schema.table",
    "captured table": "schema.table, or database.schema.table",
    "column of a captured table": "schema.table.column, or database.schema.table.column",
    "column's type in a captured table": "schema.table.type, or database.schema.table.type",
    "column to read again": "schema.table:column, or database.schema.table:column",
}
_SHOWN: Final = 200
"""Characters of an entry."""
_MOST: Final = 20
"""Entries of one property that are named; lists may have thousands."""


@dataclass(frozen=True, slots=True)
class IdleRule:
    """An ``entry`` of property ``key`` that matches no ``thing``; the last of many stands for those that are not named."""

    key: str
    entry: str
    thing: str
    others: int = 0

    @property
    def text(self) -> str:
        """What does not match, and how entries are written."""
        shown = self.entry if len(self.entry) <= _SHOWN else f"{self.entry[:_SHOWN]}…"
        many = f" (nor do {self.others} other entries)" if self.others else ""
        return f"Entry {shown!r} of {self.key} matches no {self.thing}{many}. Entries are matched with whole names: {_FORMS[self.thing]}"


def needs_columns(config: ConnectorConfig) -> bool:
    """Whether rules name columns, so that those of the captured tables are needed to judge them."""
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
    config: ConnectorConfig,
    tables: Sequence[tuple[str, str]],
    captured: Sequence[CatalogTable],
    types: Types,
    backtrack: Backtracking = no_backtracking,
) -> list[IdleRule]:
    """The entries that match nothing, by property.

    ``tables`` are all of the database (schema, table); ``captured`` those that are captured, with columns where :func:`needs_columns`.
    Raises CdcError(CONFIG_INVALID) for a pattern that cannot be matched.
    """
    return [rule for group in _groups(config, tables, captured, types, backtrack) for rule in group]


def _groups(
    config: ConnectorConfig, tables: Sequence[tuple[str, str]], captured: Sequence[CatalogTable], types: Types, backtrack: Backtracking
) -> Iterator[list[IdleRule]]:
    table_form, column_form = LongForm(config.database_dbname, TABLE_DOTS), LongForm(config.database_dbname, COLUMN_DOTS)

    def idle(key: str, patterns: Sequence[str], names: Sequence[str], thing: str, form: LongForm | None) -> list[IdleRule]:
        if not patterns:
            return []
        return _limited(key, NameMatcher(patterns, key, long_form=form, backtrack=backtrack).unused(names), thing)

    names = [f"{schema}.{table}" for schema, table in tables]
    schemas = list(dict.fromkeys(schema for schema, _ in tables))
    yield idle("schema.include.list", config.schema_include_list, schemas, "schema", None)
    yield idle("schema.exclude.list", config.schema_exclude_list, schemas, "schema", None)
    yield idle("table.include.list", config.table_include_list, names, "table", table_form)
    yield idle("table.exclude.list", config.table_exclude_list, names, "table", table_form)
    if not captured:
        # Nothing can match then.
        return
    read = [table.name for table in captured]
    yield idle("snapshot.include.collection.list", config.snapshot_include_collection_list, read, "captured table", table_form)
    known = {name for table in read for name in (table, f"{config.database_dbname}.{table}")}
    known |= {f'"{table.schema}"."{table.table}"' for table in captured}
    absent = [name for name in config.snapshot_select_overrides if name not in known]
    yield _limited("snapshot.select.statement.overrides", absent, "captured table")
    identities = [(rule.table, identity_matcher(rule, config.database_dbname, backtrack)) for rule in config.replica_identities]
    yield _limited("replica.identity.autoset.values", [entry for entry, one in identities if one.unused(read)], "captured table")
    if not needs_columns(config):
        return
    columns = [f"{table.name}.{column.name}" for table in captured for column in table.columns]
    thing = "column of a captured table"
    yield idle("column.include.list", config.column_include_list, columns, thing, column_form)
    yield idle("column.exclude.list", config.column_exclude_list, columns, thing, column_form)
    for mask in config.column_masks:
        yield idle(mask.key, mask.columns, columns, thing, column_form)
    yield idle("column.propagate.source.type", config.column_propagate_source_type, columns, thing, column_form)
    if config.datatype_propagate_source_type:
        told = [f"{table.name}.{source_type(column, types, streamed=False).name}" for table in captured for column in table.columns]
        listed = config.datatype_propagate_source_type
        yield idle("datatype.propagate.source.type", listed, told, "column's type in a captured table", column_form)
    entries = [f"{rule.table}:{column}" for rule in config.key_columns for column in rule.columns]
    by_entry = zip(entries, key_matchers(config, backtrack), strict=True)
    yield _limited("message.key.columns", [entry for entry, one in by_entry if one.unused(columns)], thing)
    marked = [f"{table.name}:{column.name}" for table in captured for column in table.columns] if config.reselect_rules else []
    for rule in config.reselect_rules:
        for side, listed in (("include", rule.include), ("exclude", rule.exclude)):
            yield idle(f"{rule.name}.reselect.columns.{side}.list", listed, marked, "column to read again", table_form)


def _limited(key: str, entries: Sequence[str], thing: str) -> list[IdleRule]:
    rules = [IdleRule(key, entry, thing) for entry in entries[:_MOST]]
    if len(entries) > _MOST:
        rules[-1] = IdleRule(key, entries[_MOST - 1], thing, len(entries) - _MOST)
    return rules
