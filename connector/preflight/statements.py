"""Rules about the signal table and the heartbeat's statement, through which the connector writes to the database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connector.catalog.identifiers import quote_identifier, quote_table
from connector.preflight.facts import Facts
from connector.preflight.requirements import Wish

_COLUMNS: Final = 3
"""The columns of a signal table: id, type and data. Their names do not matter."""


def signal_table_missing(wish: Wish, facts: Facts) -> Iterator[str]:
    """The signal table does not exist, so no incremental snapshot can be requested."""
    if _signals(wish) and facts.signals is None and wish.selection.signal_table is not None:
        schema, table = wish.selection.signal_table
        yield (
            f"The signal table {schema}.{table} does not exist. Run CREATE TABLE {quote_table(schema, table)}"
            " (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048) NULL);"
        )


def signal_table_unfit(wish: Wish, facts: Facts) -> Iterator[str]:
    """The signal table has the wrong columns, or the role cannot write watermarks, which are needed unless ``read.only`` is true."""
    if not _signals(wish) or facts.signals is None or wish.selection.signal_table is None:
        return
    schema, table = wish.selection.signal_table
    if len(facts.signals.columns) != _COLUMNS:
        listed = ", ".join(facts.signals.columns)
        yield f"The signal table {schema}.{table} has the columns {listed}. Make it one of three columns: id, type and data"
    deletes = wish.config.incremental_snapshot_watermarking_strategy == "insert_delete"
    lacking = [
        verb
        for verb, needed, granted in (("INSERT", True, facts.signals.inserts), ("DELETE", deletes, facts.signals.deletes))
        if needed and not granted
    ]
    if lacking and not wish.config.read_only:
        verbs = ", ".join(lacking)
        yield (
            f"User {facts.role.name} may not {verbs} in the signal table {schema}.{table}: incremental snapshots would not run."
            f" Run GRANT {verbs} ON {quote_table(schema, table)} TO {quote_identifier(facts.role.name)};"
        )


def _signals(wish: Wish) -> bool:
    return wish.streams and "source" in wish.config.signal_enabled_channels


def heartbeat_fails(wish: Wish, facts: Facts) -> Iterator[str]:
    """The server cannot plan the heartbeat's statement. The preflight does not run it."""
    if wish.streams and facts.heartbeat is not None:
        yield f"The statement cannot be run: {facts.heartbeat.text}. Correct it, or create and grant what it names"


def heartbeat_idle(wish: Wish, _facts: Facts) -> Iterator[str]:
    """The heartbeat's statement is configured, but heartbeats are off."""
    if wish.streams and wish.config.heartbeat_action_query and wish.config.heartbeat_interval_ms <= 0:
        yield "The statement is never run, because heartbeat.interval.ms is 0. Set heartbeat.interval.ms, for instance to 10000"


def heartbeat_on_standby(wish: Wish, facts: Facts) -> Iterator[str]:
    """The server is a standby, and most heartbeat statements write."""
    if wish.streams and facts.server.standby and wish.config.heartbeat_action_query and wish.config.heartbeat_interval_ms > 0:
        yield "The server is a standby, where no statement can write. Run the statement on the primary by other means"


def signals_on_standby(wish: Wish, facts: Facts) -> Iterator[str]:
    """The server is a standby, where watermarks cannot be written."""
    if _signals(wish) and wish.selection.signal_table is not None and facts.server.standby and not wish.config.read_only:
        yield "The server is a standby, where no watermarks can be written. Set read.only to true for incremental snapshots"
