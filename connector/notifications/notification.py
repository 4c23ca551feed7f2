"""Notifications: what a connector reports about its snapshots (Debezium documentation, "Receiving Debezium notifications").

Pure: ids and times are arguments. Texts, ids and additional data are as recorded from Debezium.
:mod:`connector.notifications.records` encodes the records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from connector.emulation import DEFAULT, Emulation

INITIAL: Final = "Initial Snapshot"
"""The aggregate type of initial and blocking snapshots."""
INCREMENTAL: Final = "Incremental Snapshot"
RESOLVED: Final = "DATA_COLLECTIONS_RESOLVED"

ScanStatus = Literal["EMPTY", "NO_PRIMARY_KEY", "SKIPPED", "SQL_EXCEPTION", "SUCCEEDED", "UNKNOWN_SCHEMA"]
"""How the reading of a table ended."""


@dataclass(frozen=True, slots=True)
class Notification:
    """One notification. ``timestamp`` is in milliseconds since the epoch. ``additional_data`` contains no cell values except keys."""

    id: str
    aggregate_type: str
    type: str
    additional_data: Mapping[str, str] | None = field(default_factory=dict)
    timestamp: int = 0

    def describe(self) -> dict[str, object]:
        """Return the notification as a JSON object, with the names of Debezium's Java interface."""
        return {
            "id": self.id,
            "aggregateType": self.aggregate_type,
            "type": self.type,
            "additionalData": None if self.additional_data is None else dict(self.additional_data),
            "timestamp": self.timestamp,
        }


@dataclass(frozen=True, slots=True)
class _Maker:
    """Creates the notifications of one connector. Its name in them is its ``topic.prefix``."""

    connector_name: str
    new_id: Callable[[], str]
    now_ms: Callable[[], int]
    emulation: Emulation = DEFAULT

    def _make(self, aggregate: str, kind: str, correlation_id: str | None, additional: Mapping[str, str]) -> Notification:
        return Notification(
            correlation_id if correlation_id is not None else self.new_id(),
            aggregate,
            kind,
            {"connector_name": self.connector_name, **additional},
            self.now_ms(),
        )


class InitialNotifications(_Maker):
    """Creates notifications of initial and blocking snapshots, each with a new id. Tables are ``schema.table``."""

    def started(self) -> Notification:
        """The snapshot begins."""
        return self._initial("STARTED")

    def resolved(self, collections: Sequence[str]) -> Notification:
        """The tables of the snapshot are known."""
        return self._initial(RESOLVED, data_collections=",".join(collections))

    def aborted(self) -> Notification:
        """The snapshot was aborted."""
        return self._initial("ABORTED")

    def skipped(self) -> Notification:
        """The snapshot mode takes no snapshot."""
        return self._initial("SKIPPED")

    def completed(self) -> Notification:
        """The snapshot is complete."""
        return self._initial("COMPLETED")

    def in_progress(self, collections: Sequence[str], current: str) -> Notification:
        """The reading of table ``current`` begins; ``collections`` are all tables of the snapshot."""
        return self._initial("IN_PROGRESS", data_collections=",".join(collections), current_collection_in_progress=current)

    def table_completed(self, collections: Sequence[str], scanned: str, rows: int) -> Notification:
        """A table was read."""
        return self._initial(
            "TABLE_SCAN_COMPLETED",
            data_collections=",".join(collections),
            scanned_collection=scanned,
            total_rows_scanned=str(rows),
            status="SUCCEEDED",
        )

    def table_failed(self, scanned: str) -> Notification:
        """A table could not be read."""
        return self._initial("TABLE_SCAN_COMPLETED", scanned_collection=scanned, status="SQL_EXCEPTION")

    def chunk_in_progress(self, current: str, index: int, total: int, rows: int) -> Notification:
        """The reading of a part of a table begins; ``rows`` is the number of rows read so far."""
        return self._initial(
            "TABLE_CHUNK_IN_PROGRESS",
            current_collection_in_progress=current,
            chunk_index=str(index),
            total_chunks=str(total),
            total_rows_scanned=str(rows),
        )

    def chunk_completed(self, collections: Sequence[str], scanned: str, index: int, total: int) -> Notification:
        """A part of a table was read."""
        return self._initial(
            "TABLE_CHUNK_COMPLETED",
            chunk_index=str(index),
            scanned_collection=scanned,
            total_chunks=str(total),
            status="SUCCEEDED",
            data_collections=",".join(collections),
        )

    def _initial(self, kind: str, **additional: str) -> Notification:
        return self._make(INITIAL, kind, None, additional)


class IncrementalNotifications(_Maker):
    """Creates notifications of incremental snapshots. Their id is the id of the last signal, or a new one if that is None."""

    def started(self, signal_id: str | None, collections: Sequence[str]) -> Notification:
        """An incremental snapshot begins."""
        return self._of_tables("STARTED", signal_id, collections)

    def resolved(self, signal_id: str | None, collections: Sequence[str]) -> Notification:
        """The tables of the snapshot are known."""
        return self._of_tables(RESOLVED, signal_id, collections)

    def paused(self, signal_id: str | None, collections: Sequence[str]) -> Notification:
        """The snapshot waits for the signal ``resume-snapshot``."""
        return self._of_tables("PAUSED", signal_id, collections)

    def resumed(self, signal_id: str | None, collections: Sequence[str]) -> Notification:
        """The snapshot continues."""
        return self._of_tables("RESUMED", signal_id, collections)

    def aborted(self, signal_id: str | None, collections: Sequence[str]) -> Notification:
        """``collections`` were removed from the snapshot."""
        return self._of_tables("ABORTED", signal_id, collections)

    def completed(self, signal_id: str | None) -> Notification:
        """All tables were read."""
        return self._make(INCREMENTAL, "COMPLETED", signal_id, {})

    def in_progress(
        self,
        signal_id: str | None,
        collections: Sequence[str],
        current: str,
        maximum_key: Sequence[str | None],
        last_key: Sequence[str | None],
    ) -> Notification:
        """A chunk was read. Key values are in Java's text form, None for null."""
        return self._of_tables(
            "IN_PROGRESS",
            signal_id,
            collections,
            current_collection_in_progress=current,
            maximum_key=self._key_text(maximum_key),
            last_processed_key=self._key_text(last_key),
        )

    def table_completed(
        self, signal_id: str | None, collections: Sequence[str], scanned: str, rows: int, status: ScanStatus = "SUCCEEDED"
    ) -> Notification:
        """The reading of a table ended with ``status``."""
        return self._of_tables(
            "TABLE_SCAN_COMPLETED", signal_id, collections, scanned_collection=scanned, total_rows_scanned=str(rows), status=status
        )

    def _key_text(self, key: Sequence[str | None]) -> str:
        shown = key if self.emulation.notifies_whole_keys else key[:1]
        return ",".join("<null>" if value is None else value for value in shown)

    def _of_tables(self, kind: str, signal_id: str | None, collections: Sequence[str], **additional: str) -> Notification:
        return self._make(INCREMENTAL, kind, signal_id, {"data_collections": ",".join(collections), **additional})


def result_only(notification: Notification) -> Notification | None:
    """Return the notification as Debezium 2.3.4 sends it; None if that version does not send it.

    Of the initial snapshot it reports only the outcome, with a different type.
    """
    kind, additional = notification.type, notification.additional_data or {}
    if notification.aggregate_type == INITIAL:
        if kind not in ("ABORTED", "SKIPPED", "COMPLETED"):
            return None
        return replace(notification, type=f"Status {kind}", additional_data=None)
    # These entries are added last. The order in which keys are added decides their order within one bucket of the Java map.
    last = {name: additional[name] for name in ("status", "data_collections") if name in additional}
    return replace(notification, additional_data={name: text for name, text in additional.items() if name not in last} | last)
