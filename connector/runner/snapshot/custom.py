"""Loads the user's snapshot classes that the configuration names, and combines their answers with the configuration's own settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig
from connector.errors import CdcError
from connector.events.capture import Capture
from connector.log import EventLog
from connector.plugins.allowed import AllowedPlugins
from connector.plugins.loading import load
from connector.snapshot.plan import lock_statements
from connector.start.snapshotter import CustomSnapshot, SnapshotLock, SnapshotQuery, Snapshotter

LOG: Final = EventLog(__name__)

_MODE = "snapshot.mode.custom.name"
_QUERY = "snapshot.query.mode.custom.name"
_LOCK = "snapshot.locking.mode.custom.name"


def custom_snapshot(selection: Selection, allowed: AllowedPlugins) -> CustomSnapshot:
    """Load and configure the user's classes. Raises CdcError(CONFIG_INVALID) for a class that is not ``allowed`` or cannot be loaded.

    Debezium 2.x has one class for all three purposes. If this version is emulated, a snapshotter that is also a :class:`SnapshotQuery` or
    a :class:`SnapshotLock` provides statements or locks too.
    """
    config = selection.config
    snapshotter: Snapshotter | None = None
    query: SnapshotQuery | None = None
    lock: SnapshotLock | None = None
    # mypy expects classes that can be instantiated; the named subclasses can.
    if selection.mode is None:
        name = (config.snapshot_mode_custom_name or "").strip()
        snapshotter = load("snapshotters", name, Snapshotter, setting=_MODE, allowed=allowed)  # type: ignore[type-abstract]
        if not config.emulation.has_separate_snapshot_classes:
            query = snapshotter if isinstance(snapshotter, SnapshotQuery) else None
            lock = snapshotter if isinstance(snapshotter, SnapshotLock) else None
    if config.snapshot_query_mode == "custom":
        name = (config.snapshot_query_mode_custom_name or "").strip()
        query = load("snapshot_queries", name, SnapshotQuery, setting=_QUERY, allowed=allowed)  # type: ignore[type-abstract]
    if config.snapshot_locking_mode == "custom":
        name = (config.snapshot_locking_mode_custom_name or "").strip()
        lock = load("snapshot_locks", name, SnapshotLock, setting=_LOCK, allowed=allowed)  # type: ignore[type-abstract]
    return CustomSnapshot(snapshotter, query, lock, config.raw)


def tell_aborted(custom: CustomSnapshot) -> None:
    """Notify the snapshotter that the snapshot was aborted. If it raises, log that, so that the error of the snapshot is still raised."""
    try:
        custom.aborted()
    except CdcError as error:
        LOG.warning("cannot notify the snapshotter that the snapshot was aborted", reason=error)


def locks(custom: CustomSnapshot, config: ConnectorConfig, tables: Sequence[CatalogTable]) -> list[str]:
    """Return the statements to run in the snapshot's transaction before ``tables`` are read."""
    timeout_ms = config.snapshot_lock_timeout_ms
    return custom.locks(tables, timeout_ms) or lock_statements(config.snapshot_locking_mode, tables, timeout_ms)


def given_statements(
    custom: CustomSnapshot, capture: Capture, tables: list[CatalogTable], selects: Mapping[str, str] | None = None
) -> tuple[list[CatalogTable], dict[str, str]]:
    """Return the tables to read and the statements for some of them. A table for which the user's class returns None is skipped.

    As recorded, the class is not asked about a table that has a statement in ``selects`` (of a signal, by schema.table) or in the
    configuration.
    """
    statements = dict(selects or {})
    if not custom.queries:
        return tables, statements
    left = []
    for table in tables:
        if table.name not in statements and capture.selection.override(table) is None:
            needed = capture.needed_columns(table)
            statement = custom.query(table, [column.name for column in table.columns if column.name in needed])
            if statement is None:
                LOG.warning("table skipped", table=table.name, reason="the custom query gives no statement")
                continue
            statements[table.name] = statement
        left.append(table)
    return left, statements
