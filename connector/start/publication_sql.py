"""The publication that a connector needs, and the SQL that creates or changes it (``publication.autocreate.mode``).

Pure: this module returns SQL; :mod:`connector.io.postgres.publication_setup` reads the publication's state and executes the SQL.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from connector.catalog.identifiers import quote_identifier, quote_table
from connector.catalog.selection import TableName
from connector.errors import CdcError, ErrorKind

_OPERATIONS = (("c", "insert"), ("u", "update"), ("d", "delete"), ("t", "truncate"))


@dataclass(frozen=True, slots=True)
class PublicationState:
    """A publication as the catalog describes it.

    ``tables`` are those it lists, and all tables of its ``schemas``. ``published`` are those whose changes are sent under their own names:
    the partitions instead of their root, or the reverse with publish_via_partition_root. Both are empty if it is for all tables.
    """

    all_tables: bool
    tables: frozenset[TableName]
    published: frozenset[TableName]
    schemas: frozenset[str] = frozenset()

    def fits(self, captured: Iterable[TableName]) -> bool:
        """Return whether the publication need not be changed to publish exactly the tables ``captured``."""
        return frozenset(captured) in (self.tables, self.published)


def publish_list(skipped: Collection[str] | None) -> str | None:
    """Return the value of the option ``publish`` without the operations ``skipped``.

    Return None, for the server's default, if ``skipped`` is None (:attr:`connector.catalog.selection.Selection.skipped_operations`).
    """
    if skipped is None:
        return None
    return ", ".join(word for letter, word in _OPERATIONS if letter not in skipped)


def no_publication(statement: str) -> CdcError:
    """Return the error, in Debezium's words, for a missing publication that the connector must not create; ``statement`` creates it."""
    return CdcError(
        ErrorKind.SOURCE_OBJECT_MISSING,
        "Publication autocreation is disabled, please create one and restart the connector",
        f"Run {statement};",
    )


def publication_for_all_tables(name: str) -> CdcError:
    """Return the error for a publication that is for all tables although the configuration requires a filtered one."""
    return CdcError(
        ErrorKind.SOURCE_SETTING,
        f"Publication {name} is for all tables, and publication.autocreate.mode is filtered",
        f"Drop it (DROP PUBLICATION {quote_identifier(name)};), name another in publication.name,"
        " or set publication.autocreate.mode to all_tables",
    )


def publication_on_standby(name: str, statement: str) -> CdcError:
    """Return the error for a publication that must be created on a standby, which cannot create one."""
    return CdcError(
        ErrorKind.SOURCE_SETTING,
        f"Publication {name} does not exist, and the server is a standby, which cannot create it",
        f"Run {statement}; on the primary",
    )


def lost_schemas(name: str, schemas: Iterable[str]) -> str:
    """Return the sentence that warns of ALTER PUBLICATION ... SET TABLE on a publication of whole schemas."""
    listed = ", ".join(sorted(schemas))
    return (
        f"Publication {name} is for whole schemas ({listed}), whose tables are not exactly the captured ones. As"
        " publication.autocreate.mode is filtered, it becomes one for the captured tables, and nobody receives changes of other tables of"
        " these schemas, nor of tables created there later. To keep the schemas, set publication.autocreate.mode to disabled"
    )


def plan_publication(
    name: str,
    mode: str,
    state: PublicationState | None,
    captured: Sequence[TableName],
    *,
    via_root: bool = False,
    publish: str | None = None,
    standby: bool = False,
) -> str | None:
    """Return the statement that creates or changes the publication; None if it needs no change, or cannot be changed.

    ``captured`` are the tables that the filters select. On a ``standby``, a publication that exists is not changed. Raises CdcError if the
    mode forbids the statement, or if a standby would have to create the publication; its remedy names a statement for a privileged role.
    """
    quoted = quote_identifier(name)
    options = [f"publish = '{publish}'"] if publish is not None else []
    if via_root:
        options.append("publish_via_partition_root = true")
    clause = f" WITH ({', '.join(options)})" if options else ""
    listed = ", ".join(quote_table(schema, table) for schema, table in sorted(captured))
    if state is None:
        if mode == "disabled":
            raise no_publication(f"CREATE PUBLICATION {quoted} FOR TABLE {listed or '…'}")
        if mode == "filtered":
            _require_tables(name, captured)
        contents = {"all_tables": " FOR ALL TABLES", "no_tables": ""}.get(mode, f" FOR TABLE {listed}")
        statement = f"CREATE PUBLICATION {quoted}{contents}{clause}"
        if standby:
            raise publication_on_standby(name, statement)
        return statement
    if mode != "filtered":
        return None
    if state.all_tables:
        raise publication_for_all_tables(name)
    if not captured or standby or state.fits(captured):
        return None
    return f"ALTER PUBLICATION {quoted} SET TABLE {listed}"


def why_unchanged(name: str, state: PublicationState, captured: Sequence[TableName], *, standby: bool) -> str | None:
    """Return the sentence for the log about a filtered publication that exists and is not changed; None if it may stay as it is."""
    if not captured:
        return f"No table filters found for filtered publication {name}: no table of the database matches"
    lacking = sorted(frozenset(captured) - state.tables - state.published)
    if not standby or not lacking or state.fits(captured):
        return None
    listed = ", ".join(quote_table(schema, table) for schema, table in lacking)
    return (
        f"Publication {name} lacks captured tables, whose changes do not arrive, and the server is a standby, which cannot change it."
        f" Run ALTER PUBLICATION {quote_identifier(name)} ADD TABLE {listed}; on the primary"
    )


def _require_tables(name: str, captured: Sequence[TableName]) -> None:
    if not captured:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"No table filters found for filtered publication {name}: no table of the database matches",
            "Correct schema.include.list and table.include.list (whole names, schema.table), or create the tables first",
        )
