"""Notifications: what a connector tells of its snapshots (Debezium documentation, "Receiving Debezium notifications").

Pure: ids and times come from whoever makes the notifications. Words, ids and additional data are those that were recorded from the
reference; the bytes of a record are :mod:`connector.notification_records`'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

INITIAL: Final = "Initial Snapshot"
"""Aggregate type of the snapshot at the start, and of blocking ones."""
INCREMENTAL: Final = "Incremental Snapshot"

ScanStatus = Literal["EMPTY", "NO_PRIMARY_KEY", "SKIPPED", "SQL_EXCEPTION", "SUCCEEDED", "UNKNOWN_SCHEMA"]
"""How the reading of a table ended."""


@dataclass(frozen=True, slots=True)
class Notification:
    """One notification. ``timestamp`` is in milliseconds since the epoch; no value of a table but keys is in ``additional_data``."""

    id: str
    aggregate_type: str
    type: str
    additional_data: Mapping[str, str] | None = field(default_factory=dict)
    timestamp: int = 0

    def describe(self) -> dict[str, object]:
        """All of it as a JSON object, under the names that the reference's Java interface has for them."""
        return {
            "id": self.id,
            "aggregateType": self.aggregate_type,
            "type": self.type,
            "additionalData": None if self.additional_data is None else dict(self.additional_data),
            "timestamp": self.timestamp,
        }


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the notifications of one connector, ``topic.prefix`` being its name in them."""

    connector_name: str
    new_id: Callable[[], str]
    now_ms: Callable[[], int]
    former: bool = False
    """As 2.3.4: of a key of several columns only the first one is told."""

    def _make(self, aggregate: str, kind: str, correlation_id: str | None, additional: Mapping[str, str]) -> Notification:
        return Notification(
            correlation_id if correlation_id is not None else self.new_id(),
            aggregate,
            kind,
            {"connector_name": self.connector_name, **additional},
            self.now_ms(),
        )


class InitialNotifications(_Maker):
    """Notifications of the initial snapshot and of blocking ones: each has a new id. Tables are ``schema.table``."""

    def started(self) -> Notification:
        """The snapshot begins."""
        return self._initial("STARTED")

    def aborted(self) -> Notification:
        """It broke off."""
        return self._initial("ABORTED")

    def skipped(self) -> Notification:
        """There is none to take."""
        return self._initial("SKIPPED")

    def completed(self) -> Notification:
        """It was taken."""
        return self._initial("COMPLETED")

    def in_progress(self, collections: Sequence[str], current: str) -> Notification:
        """The table ``current`` is about to be read; ``collections`` are all of the snapshot."""
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
        """A part of a table is being read; ``rows`` are the part's so far."""
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
    """Notifications of incremental snapshots: their id is the signal's that asked for the snapshot, a new one without (None)."""

    def started(self, signal_id: str | None, collections: Sequence[str]) -> Notification:
        """An incremental snapshot begins."""
        return self._of_tables("STARTED", signal_id, collections)

    def paused(self, signal_id: str | None, collections: Sequence[str]) -> Notification:
        """It waits for ``resume-snapshot``."""
        return self._of_tables("PAUSED", signal_id, collections)

    def resumed(self, signal_id: str | None, collections: Sequence[str]) -> Notification:
        """It goes on."""
        return self._of_tables("RESUMED", signal_id, collections)

    def aborted(self, signal_id: str | None, collections: Sequence[str]) -> Notification:
        """It was stopped; ``collections`` are those that were taken out."""
        return self._of_tables("ABORTED", signal_id, collections)

    def completed(self, signal_id: str | None) -> Notification:
        """All of its tables were read."""
        return self._make(INCREMENTAL, "COMPLETED", signal_id, {})

    def in_progress(
        self,
        signal_id: str | None,
        collections: Sequence[str],
        current: str,
        maximum_key: Sequence[str | None],
        last_key: Sequence[str | None],
    ) -> Notification:
        """A chunk is about to be read. Key values are in Java's text form, None for null."""
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
        """A table is done with, ``status`` says how."""
        return self._of_tables(
            "TABLE_SCAN_COMPLETED", signal_id, collections, scanned_collection=scanned, total_rows_scanned=str(rows), status=status
        )

    def _key_text(self, key: Sequence[str | None]) -> str:
        told = key[:1] if self.former else key
        return ",".join("<null>" if value is None else value for value in told)

    def _of_tables(self, kind: str, signal_id: str | None, collections: Sequence[str], **additional: str) -> Notification:
        return self._make(INCREMENTAL, kind, signal_id, {"data_collections": ",".join(collections), **additional})


def former_notification(notification: Notification) -> Notification | None:
    """The notification as 2.3.4 sent it: of the initial snapshot only its outcome, in other words; None for what it was silent about."""
    kind, additional = notification.type, notification.additional_data or {}
    if notification.aggregate_type == INITIAL:
        if kind not in ("ABORTED", "SKIPPED", "COMPLETED"):
            return None
        return replace(notification, type=f"Status {kind}", additional_data=None)
    # Which of the two came first decides where they stand in the map.
    last = {name: additional[name] for name in ("status", "data_collections") if name in additional}
    return replace(notification, additional_data={name: text for name, text in additional.items() if name not in last} | last)
