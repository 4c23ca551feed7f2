"""The user's classes about the snapshot: found by what the configuration names, and asked beside what it says itself."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from connector.allowed_plugins import AllowedPlugins
from connector.capture import Capture
from connector.config import ConnectorConfig
from connector.errors import CdcError
from connector.runner.snapshot_rows import override_of
from connector.snapshot import MODE_NAMES, lock_statements
from connector.snapshotter import CustomSnapshot, SnapshotLock, SnapshotQuery, Snapshotter
from connector.spi import load
from connector.table import CatalogTable

_log = logging.getLogger(__name__)

_MODE = "snapshot.mode.custom.name"
_QUERY = "snapshot.query.mode.custom.name"
_LOCK = "snapshot.locking.mode.custom.name"


def decided_by(config: ConnectorConfig) -> str:
    """The snapshot mode that counts. As recorded, ``custom`` with the name of a mode is that mode."""
    name = (config.snapshot_mode_custom_name or "").strip()
    return name if config.snapshot_mode == "custom" and name in MODE_NAMES else config.snapshot_mode


def custom_snapshot(config: ConnectorConfig, allowed: AllowedPlugins) -> CustomSnapshot:
    """Load and configure them, as far as they are ``allowed``; one without any part when none is asked for.

    Raises CdcError(CONFIG_INVALID).

    2.x had one class for all three: played as such, a snapshotter that is a :class:`SnapshotQuery` or a :class:`SnapshotLock` too
    is asked for statements and locks as well.
    """
    snapshotter: Snapshotter | None = None
    query: SnapshotQuery | None = None
    lock: SnapshotLock | None = None
    # mypy wants classes that can be made; whatever is named can.
    if decided_by(config) == "custom":
        name = (config.snapshot_mode_custom_name or "").strip()
        snapshotter = load("snapshotters", name, Snapshotter, setting=_MODE, allowed=allowed)  # type: ignore[type-abstract]
        if config.version < (3,):
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
    """Tell the snapshotter; that it cannot be told hides nothing of what broke the snapshot off."""
    try:
        custom.aborted()
    except CdcError as error:
        _log.warning("snapshotter not told of the snapshot's end: %s", error)


def locks(custom: CustomSnapshot, config: ConnectorConfig, tables: Sequence[CatalogTable]) -> list[str]:
    """What to run in the snapshot's transaction before ``tables`` are read."""
    timeout_ms = config.snapshot_lock_timeout_ms
    return custom.locks(tables, timeout_ms) or lock_statements(config.snapshot_locking_mode, tables, timeout_ms)


def given_statements(
    custom: CustomSnapshot, config: ConnectorConfig, capture: Capture, tables: list[CatalogTable], selects: Mapping[str, str] | None = None
) -> tuple[list[CatalogTable], dict[str, str]]:
    """The tables to read, and what a user's class gives to read some of them with; one that it gives nothing for is passed over.

    As recorded, it is not asked about a table that has a statement of its own: in ``selects`` (of a signal, by schema.table) or
    in the configuration.
    """
    statements = dict(selects or {})
    if not custom.queries:
        return tables, statements
    left = []
    for table in tables:
        if table.name not in statements and override_of(config, table) is None:
            needed = capture.needed_columns(table)
            statement = custom.query(table, [column.name for column in table.columns if column.name in needed])
            if statement is None:
                _log.warning("table passed over: the custom query gives no statement table=%s", table.name)
                continue
            statements[table.name] = statement
        left.append(table)
    return left, statements
