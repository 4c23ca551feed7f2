"""The publication a connector needs, and the SQL that brings it about (Debezium property ``publication.autocreate.mode``).

Pure: decides and writes SQL; :mod:`connector.io.pg_publication` looks and executes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from connector.errors import CdcError, ErrorKind
from connector.table import quote_identifier, quote_table

TableName = tuple[str, str]
"""Schema and table."""

_OPERATIONS = (("c", "insert"), ("u", "update"), ("d", "delete"), ("t", "truncate"))


@dataclass(frozen=True, slots=True)
class PublicationState:
    """What ``pg_publication`` and ``pg_publication_rel`` tell."""

    all_tables: bool
    tables: frozenset[TableName]


def publish_list(skipped: Collection[str] | None) -> str | None:
    """``publish = '…'`` for operations that are skipped on purpose (property set); None leaves the server's default."""
    if skipped is None:
        return None
    return ", ".join(word for letter, word in _OPERATIONS if letter not in skipped)


def no_publication(statement: str) -> CdcError:
    """The failure of a connector that may not make its publication, in the reference's words; ``statement`` makes it."""
    return CdcError(
        ErrorKind.SOURCE_OBJECT_MISSING,
        "Publication autocreation is disabled, please create one and restart the connector",
        f"Run {statement};",
    )


def publication_for_all_tables(name: str) -> CdcError:
    """The failure where a filtered publication is wanted."""
    return CdcError(
        ErrorKind.SOURCE_SETTING,
        f"Publication {name} is for all tables, and publication.autocreate.mode is filtered",
        f"Drop it (DROP PUBLICATION {quote_identifier(name)};), name another in publication.name,"
        " or set publication.autocreate.mode to all_tables",
    )


def publication_on_standby(name: str, statement: str) -> CdcError:
    """The failure where the publication must be made, and nothing can be written."""
    return CdcError(
        ErrorKind.SOURCE_SETTING,
        f"Publication {name} is not there, and the server is a standby, where none can be made",
        f"Run {statement}; on the primary",
    )


def plan_publication(
    name: str,
    mode: str,
    state: PublicationState | None,
    captured: Sequence[TableName],
    *,
    via_root: bool = False,
    publish: str | None = None,
) -> str | None:
    """The one statement to run, or None when all is well.

    ``captured`` are the tables the filters choose. Raises CdcError where the mode forbids to go on, with the statement that a
    privileged role may run.
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
        if mode == "all_tables":
            return f"CREATE PUBLICATION {quoted} FOR ALL TABLES{clause}"
        if mode == "no_tables":
            return f"CREATE PUBLICATION {quoted}{clause}"
        _require_tables(name, captured)
        return f"CREATE PUBLICATION {quoted} FOR TABLE {listed}{clause}"
    if mode != "filtered":
        return None
    _require_tables(name, captured)
    if state.all_tables:
        raise publication_for_all_tables(name)
    if state.tables == frozenset(captured):
        return None
    return f"ALTER PUBLICATION {quoted} SET TABLE {listed}"


def _require_tables(name: str, captured: Sequence[TableName]) -> None:
    if not captured:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"No table filters found for filtered publication {name}: no table of the database matches",
            "Correct schema.include.list and table.include.list (whole names, schema.table), or create the tables first",
        )
