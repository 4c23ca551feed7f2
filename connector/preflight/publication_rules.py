"""Rules about the publication that pgoutput reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from connector.catalog.identifiers import quote_identifier, quote_table
from connector.preflight.facts import Facts, Publication, Table
from connector.preflight.finding import counted
from connector.preflight.requirements import Wish
from connector.start.publication_sql import lost_schemas, no_publication, publication_for_all_tables, publication_on_standby

_LETTERS = (("c", "insert"), ("u", "update"), ("d", "delete"))


def missing(wish: Wish, facts: Facts) -> Iterator[str]:
    """The publication is missing, and the connector must not create it. The text is that of Debezium's task."""
    if wish.publishes(facts) and facts.publication is None and wish.config.publication_autocreate_mode == "disabled":
        yield str(no_publication(_statement(wish, facts)))


def for_all_tables(wish: Wish, facts: Facts) -> Iterator[str]:
    """The configuration requires a filtered publication, but it is for all tables, which cannot be changed."""
    publication, name = facts.publication, wish.config.publication_name
    filtered = wish.config.publication_autocreate_mode == "filtered"
    if wish.publishes(facts) and publication is not None and publication.state.all_tables and filtered:
        yield str(publication_for_all_tables(name))


def on_standby(wish: Wish, facts: Facts) -> Iterator[str]:
    """The publication must be created, but the server is a standby."""
    if facts.server.standby and facts.server.version >= 160_000 and _to_be_made(wish, facts):
        yield str(publication_on_standby(wish.config.publication_name, _statement(wish, facts)))


def may_not_be_made(wish: Wish, facts: Facts) -> Iterator[str]:
    """According to the catalog the role may not create the publication. A managed server may still allow it."""
    role, mode = facts.role, wish.config.publication_autocreate_mode
    if not _to_be_made(wish, facts) or role.superuser or facts.server.standby:
        return
    reasons = []
    if not role.creates:
        reasons.append(f"CREATE on database {role.database}")
    if mode == "all_tables":
        reasons.append("superuser, for all tables")
    foreign = [table.name for table in wish.captured(facts) if not table.owned] if mode == "filtered" else []
    if foreign:
        reasons.append(f"the ownership of {counted(foreign, 'table', 'tables')}")
    if reasons:
        name = wish.config.publication_name
        yield (
            f"User {role.name} may not create publication {name}: it lacks {' and '.join(reasons)}."
            f" Let a privileged role run {_statement(wish, facts)};"
        )


def may_not_be_changed(wish: Wish, facts: Facts) -> Iterator[str]:
    """A filtered publication must list the captured tables. Only its owner, who must also own the tables, can change it."""
    publication, role = facts.publication, facts.role
    if publication is None or role.superuser or not _to_be_changed(wish, facts):
        return
    captured = wish.captured(facts)
    foreign = [table.name for table in captured if not table.owned]
    if not publication.owned or foreign:
        name = quote_identifier(wish.config.publication_name)
        lacking = "the publication's ownership" if not publication.owned else f"the ownership of {counted(foreign, 'table', 'tables')}"
        yield (
            f"User {role.name} may not change publication {wish.config.publication_name}, which lacks or has too many tables:"
            f" it lacks {lacking}. Let a privileged role run ALTER PUBLICATION {name} SET TABLE {_listed(captured)};"
        )


def schemas_lost(wish: Wish, facts: Facts) -> Iterator[str]:
    """The connector makes a publication of whole schemas one of tables."""
    publication = facts.publication
    if publication is not None and publication.state.schemas and _to_be_changed(wish, facts):
        yield lost_schemas(wish.config.publication_name, publication.state.schemas)


def operations_left_out(wish: Wish, facts: Facts) -> Iterator[str]:
    """The publication does not publish an operation that the configuration does not skip."""
    publication = facts.publication
    if publication is None or not wish.publishes(facts):
        return
    skipped = wish.config.skipped_operations
    lacking = [word for letter, word in _LETTERS if word not in publication.operations and letter not in skipped]
    if lacking:
        name = wish.config.publication_name
        every = ", ".join(word for word in ("insert", "update", "delete", "truncate") if word in publication.operations or word in lacking)
        yield (
            f"Publication {name} does not publish {', '.join(lacking)}: such changes never arrive."
            f" Run ALTER PUBLICATION {quote_identifier(name)} SET (publish = '{every}');"
        )


def tables_left_out(wish: Wish, facts: Facts) -> Iterator[str]:
    """The publication lacks captured tables, and the connector does not change it."""
    publication, standby = facts.publication, facts.server.standby
    if publication is None or not wish.publishes(facts) or (wish.config.publication_autocreate_mode == "filtered" and not standby):
        return
    outside = [table for table in wish.captured(facts) if not _published(table, publication, wish)]
    if outside:
        name = wish.config.publication_name
        lacking = counted([table.name for table in outside], "captured table", "captured tables")
        yield (
            f"Publication {name} lacks {lacking}: their changes never arrive."
            f" Run ALTER PUBLICATION {quote_identifier(name)} ADD TABLE {_listed(outside)};{' on the primary' if standby else ''}"
        )


def _published(table: Table, publication: Publication, wish: Wish) -> bool:
    # Partitions publish the changes, unless publish_via_partition_root is set.
    if publication.state.all_tables or (table.kind == "p" and not wish.config.publish_via_partition_root):
        return True
    return table.schema in publication.state.schemas or not publication.tables.isdisjoint((table.oid, *table.ancestors))


def _to_be_made(wish: Wish, facts: Facts) -> bool:
    return wish.publishes(facts) and facts.publication is None and wish.config.publication_autocreate_mode != "disabled"


def _to_be_changed(wish: Wish, facts: Facts) -> bool:
    """Whether the connector changes a filtered publication, because its tables are not the captured ones."""
    if facts.publication is None or not wish.publishes(facts) or wish.config.publication_autocreate_mode != "filtered":
        return False
    state, captured = facts.publication.state, wish.captured(facts)
    if state.all_tables or not captured or facts.server.standby:
        return False
    return not state.fits((table.schema, table.table) for table in captured)


def _statement(wish: Wish, facts: Facts) -> str:
    what = {"all_tables": " FOR ALL TABLES", "no_tables": ""}.get(
        wish.config.publication_autocreate_mode, f" FOR TABLE {_listed(wish.captured(facts))}"
    )
    return f"CREATE PUBLICATION {quote_identifier(wish.config.publication_name)}{what}"


def _listed(tables: Sequence[Table], most: int = 20) -> str:
    shown = ", ".join(quote_table(table.schema, table.table) for table in tables[:most])
    return shown + (", …" if len(tables) > most else "") or "…"
