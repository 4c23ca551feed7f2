"""Rules about the tables: whether any table matches, whether the role can read them, and whether their changes can be captured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from connector.catalog.filters import TABLE_DOTS
from connector.catalog.identifiers import quote_identifier, quote_table
from connector.catalog.table import CatalogTable
from connector.preflight.facts import Facts, Table
from connector.preflight.finding import counted
from connector.preflight.requirements import Wish
from connector.preflight.unmatched_rules import IdleRule, idle_rules, needs_columns
from connector.wire.output_plugin import PGOUTPUT

_PLAIN: Final = re.compile(r"[\w$]+(\\?\.[\w$]+)*", re.ASCII)
"""An entry that is a plain name: no character except the dot has a special meaning in a regular expression."""


def nothing_matches(wish: Wish, facts: Facts) -> Iterator[str]:
    """No table matches the filters. This is a warning, because tables may be created later."""
    config = wish.config
    lists = {
        "schema.include.list": config.schema_include_list,
        "schema.exclude.list": config.schema_exclude_list,
        "table.include.list": config.table_include_list,
        "table.exclude.list": config.table_exclude_list,
    }
    given = [name for name, entries in lists.items() if entries]
    captured = any(wish.selection.filters.captures(table.schema, table.table) for table in facts.tables)
    if given and not captured:
        yield (
            f"No table of database {facts.role.database} matches {' and '.join(given)}: nothing would be captured."
            " Entries are regular expressions for whole names (schema.table); correct them, or create the tables"
        )


def entries_without_table(wish: Wish, facts: Facts) -> Iterator[str]:
    """Plain names in table.include.list that no table has."""
    plain = [entry for entry in wish.config.table_include_list if _PLAIN.fullmatch(entry)]
    absent = wish.selection.matcher(plain, "table.include.list", dots=TABLE_DOTS).unused([table.name for table in facts.tables])
    # If no table is captured at all, nothing_matches reports it.
    if absent and any(wish.selection.filters.captures(table.schema, table.table) for table in facts.tables):
        yield (
            f"No table of database {facts.role.database} has the name of {counted(absent, 'entry', 'entries')}."
            " Write whole names (schema.table), or create the tables"
        )


def idle(wish: Wish, facts: Facts) -> Iterator[IdleRule]:
    """Return the entries that match nothing, except plain names in table.include.list."""
    captured = wish.captured(facts)
    if not captured or (needs_columns(wish.config) and not facts.described):
        # nothing_matches reports it, or reading the columns took too long.
        return
    described = facts.described or [CatalogTable(table.oid, table.schema, table.table, ()) for table in captured]
    names = [(table.schema, table.table) for table in facts.tables]
    for rule in idle_rules(wish.selection, names, described, facts.types):
        if rule.key != "table.include.list" or not _PLAIN.fullmatch(rule.entry):
            yield rule


def schemas_out_of_reach(wish: Wish, facts: Facts) -> Iterator[str]:
    """The role lacks USAGE on schemas, without which it cannot read their tables."""
    if not wish.reads:
        return
    closed = sorted({table.schema for table in facts.tables if not table.reachable and wish.snapshots(table)})
    if closed:
        listed = ", ".join(quote_identifier(schema) for schema in closed)
        yield (
            f"User {facts.role.name} may not use {counted(closed, 'schema', 'schemas')} of captured tables: the snapshot would fail."
            f" Run GRANT USAGE ON SCHEMA {listed} TO {quote_identifier(facts.role.name)};"
        )


def unreadable(wish: Wish, facts: Facts) -> Iterator[str]:
    """The role lacks SELECT on tables that the snapshot reads."""
    if not wish.reads:
        return
    closed = [table for table in facts.tables if not table.readable and wish.snapshots(table)]
    if closed:
        yield (
            f"User {facts.role.name} may not read {counted([table.name for table in closed], 'captured table', 'captured tables')}:"
            f" the snapshot would fail. Run GRANT SELECT ON {_listed(closed)} TO {quote_identifier(facts.role.name)};"
        )


def policed(wish: Wish, facts: Facts) -> Iterator[str]:
    """Row security silently removes rows from the snapshot, although the stream contains all rows."""
    if not wish.reads:
        return
    found = [table.name for table in facts.tables if table.policed and wish.snapshots(table)]
    if found:
        yield (
            f"Row security hides rows of {counted(found, 'captured table', 'captured tables')} from user {facts.role.name}: they would be"
            f" missing from the snapshot. Run ALTER ROLE {quote_identifier(facts.role.name)} BYPASSRLS;"
        )


def without_identity(wish: Wish, facts: Facts) -> Iterator[str]:
    """PostgreSQL refuses UPDATE and DELETE on a published table whose rows it cannot identify."""
    if not wish.streams:
        return
    every = _all_published(wish, facts)
    bare = [table for table in facts.tables if _bare(table) and (every or wish.captures(table))]
    rules = wish.selection.identity_rules
    bare = [table for table in bare if not (wish.captures(table) and any(rule.matches(table.name) for rule in rules))]
    if not bare or not _changes_published(wish, facts):
        return
    bare_tables = counted([table.name for table in bare], "table", "tables")
    remedy = f"Run ALTER TABLE {quote_table(bare[0].schema, bare[0].table)} REPLICA IDENTITY FULL; or give the table a primary key"
    if wish.plugin(facts) in (None, PGOUTPUT):
        also = " (a publication for all tables holds the tables that are not captured too)" if every else ""
        effect = f"once published, PostgreSQL refuses UPDATE and DELETE there{also}"
    else:
        effect = "deletes there arrive without their row"
    yield f"Without primary key or replica identity: {bare_tables}; {effect}. {remedy}"


def _bare(table: Table) -> bool:
    return table.kind == "r" and table.logged and (table.identity == "n" or (table.identity in "di" and not table.keyed))


def _all_published(wish: Wish, facts: Facts) -> bool:
    if not wish.publishes(facts):
        return False
    if facts.publication is not None:
        return facts.publication.state.all_tables
    return wish.config.publication_autocreate_mode == "all_tables"


def _changes_published(wish: Wish, facts: Facts) -> bool:
    publish = wish.publish
    if facts.publication is not None and wish.publishes(facts):
        return bool(facts.publication.operations & {"update", "delete"})
    return publish is None or "update" in publish or "delete" in publish


def unlogged(wish: Wish, facts: Facts) -> Iterator[str]:
    """Captured tables are unlogged, so their changes are not in the WAL."""
    found = [table.name for table in facts.tables if not table.logged and wish.captures(table)] if wish.streams else []
    if found:
        yield f"Unlogged, so that their changes cannot be read: {counted(found, 'table', 'tables')}. Run ALTER TABLE … SET LOGGED;"


def _listed(tables: Sequence[Table], most: int = 20) -> str:
    return ", ".join(quote_table(table.schema, table.table) for table in tables[:most]) + (", …" if len(tables) > most else "")
