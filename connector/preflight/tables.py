"""Rules about the tables: whether there are any, whether they may be read, and whether changes of them can be told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from connector.filters import TABLE_DOTS
from connector.idle_rules import IdleRule, idle_rules, needs_columns
from connector.name_matcher import LongForm, NameMatcher
from connector.output_plugin import PGOUTPUT
from connector.preflight.facts import Facts, Table
from connector.preflight.finding import counted
from connector.preflight.wish import Wish
from connector.replica_identity import identity_matcher
from connector.table import CatalogTable, quote_identifier, quote_table

_PLAIN: Final = re.compile(r"[\w$]+(\\?\.[\w$]+)*", re.ASCII)
"""An entry that names one thing: nothing in it but a dot can mean more than itself."""


def nothing_matches(wish: Wish, facts: Facts) -> Iterator[str]:
    """Tables may come later; now there is nothing to do."""
    config = wish.config
    lists = {
        "schema.include.list": config.schema_include_list,
        "schema.exclude.list": config.schema_exclude_list,
        "table.include.list": config.table_include_list,
        "table.exclude.list": config.table_exclude_list,
    }
    given = [name for name, entries in lists.items() if entries]
    captured = any(wish.tables.captures(table.schema, table.table) for table in facts.tables)
    if given and not captured:
        yield (
            f"No table of database {facts.role.database} matches {' and '.join(given)}: nothing would be captured."
            " Entries are regular expressions for whole names (schema.table); correct them, or create the tables"
        )


def entries_without_table(wish: Wish, facts: Facts) -> Iterator[str]:
    """Entries that are plain names can be told of one by one."""
    plain = [entry for entry in wish.config.table_include_list if _PLAIN.fullmatch(entry)]
    form = LongForm(wish.config.database_dbname, TABLE_DOTS)
    absent = NameMatcher(plain, "table.include.list", long_form=form).unused([table.name for table in facts.tables])
    # Where no table is captured at all, nothing_matches says so.
    if absent and any(wish.tables.captures(table.schema, table.table) for table in facts.tables):
        yield (
            f"No table of database {facts.role.database} has the name of {counted(absent, 'entry', 'entries')}."
            " Write whole names (schema.table), or create the tables"
        )


def idle(wish: Wish, facts: Facts) -> Iterator[IdleRule]:
    """Entries of all other properties that match nothing; and those of table.include.list that are no plain names."""
    captured = wish.captured(facts)
    if not captured or (needs_columns(wish.config) and not facts.described):
        # nothing_matches says so; or the columns took too long to be read.
        return
    described = facts.described or [CatalogTable(table.oid, table.schema, table.table, ()) for table in captured]
    names = [(table.schema, table.table) for table in facts.tables]
    for rule in idle_rules(wish.config, names, described, facts.types, wish.backtrack):
        if rule.key != "table.include.list" or not _PLAIN.fullmatch(rule.entry):
            yield rule


def schemas_out_of_reach(wish: Wish, facts: Facts) -> Iterator[str]:
    """USAGE of the schema comes before any right on a table."""
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
    """The snapshot reads each table."""
    if not wish.reads:
        return
    closed = [table for table in facts.tables if not table.readable and wish.snapshots(table)]
    if closed:
        yield (
            f"User {facts.role.name} may not read {counted([table.name for table in closed], 'captured table', 'captured tables')}:"
            f" the snapshot would fail. Run GRANT SELECT ON {_listed(closed)} TO {quote_identifier(facts.role.name)};"
        )


def policed(wish: Wish, facts: Facts) -> Iterator[str]:
    """Row security leaves rows out of the snapshot without a word; the stream has them all."""
    if not wish.reads:
        return
    found = [table.name for table in facts.tables if table.policed and wish.snapshots(table)]
    if found:
        yield (
            f"Row security hides rows of {counted(found, 'captured table', 'captured tables')} from user {facts.role.name}: they would be"
            f" missing from the snapshot. Run ALTER ROLE {quote_identifier(facts.role.name)} BYPASSRLS;"
        )


def without_identity(wish: Wish, facts: Facts) -> Iterator[str]:
    """PostgreSQL itself refuses UPDATE and DELETE on a published table that cannot say which row it was."""
    if not wish.streams:
        return
    every = _all_published(wish, facts)
    bare = [table for table in facts.tables if _bare(table) and (every or wish.captures(table))]
    rules = [identity_matcher(rule, wish.config.database_dbname, wish.backtrack) for rule in wish.config.replica_identities]
    bare = [table for table in bare if not (wish.captures(table) and any(matches(table.name) for matches in rules))]
    if not bare or not _changes_published(wish, facts):
        return
    told = counted([table.name for table in bare], "table", "tables")
    mend = f"Run ALTER TABLE {quote_table(bare[0].schema, bare[0].table)} REPLICA IDENTITY FULL; or give the table a primary key"
    if wish.plugin(facts) in (None, PGOUTPUT):
        also = " (a publication for all tables holds the tables that are not captured too)" if every else ""
        yield f"Without primary key or replica identity: {told}; once published, PostgreSQL refuses UPDATE and DELETE there{also}. {mend}"
    else:
        yield f"Without primary key or replica identity: {told}; deletes there arrive without their row. {mend}"


def _bare(table: Table) -> bool:
    return table.kind == "r" and table.logged and (table.identity == "n" or (table.identity in "di" and not table.keyed))


def _all_published(wish: Wish, facts: Facts) -> bool:
    if not wish.publishes(facts):
        return False
    if facts.publication is not None:
        return facts.publication.all_tables
    return wish.config.publication_autocreate_mode == "all_tables"


def _changes_published(wish: Wish, facts: Facts) -> bool:
    publish = wish.publish
    if facts.publication is not None and wish.publishes(facts):
        return bool(facts.publication.operations & {"update", "delete"})
    return publish is None or "update" in publish or "delete" in publish


def unlogged(wish: Wish, facts: Facts) -> Iterator[str]:
    """Their changes are not in the WAL."""
    found = [table.name for table in facts.tables if not table.logged and wish.captures(table)] if wish.streams else []
    if found:
        yield f"Unlogged, so that their changes cannot be read: {counted(found, 'table', 'tables')}. Run ALTER TABLE … SET LOGGED;"


def _listed(tables: Sequence[Table], most: int = 20) -> str:
    return ", ".join(quote_table(table.schema, table.table) for table in tables[:most]) + (", …" if len(tables) > most else "")
