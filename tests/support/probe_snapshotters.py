"""Snapshotters that the connector's own properties steer; the Java ones that the reference was recorded with did the same."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from connector.start.snapshotter import OffsetFacts, SlotFacts, SnapshotLock, SnapshotQuery, Snapshotter

_log = logging.getLogger(__name__)


class Probe(Snapshotter):
    """``probe.data``: true, false, first (as the mode initial) or throw; the others: true or false."""

    def __init__(self) -> None:
        self.properties: Mapping[str, str] = {}
        self.asked: list[object] = []

    def _says(self, name: str, default: bool) -> bool:
        return self.properties.get(f"probe.{name}", str(default).lower()) == "true"

    def configure(self, properties: Mapping[str, str]) -> None:
        self.properties = properties

    def look(self, offset: OffsetFacts | None, slot: SlotFacts | None) -> None:
        self.asked += [offset, slot]
        _log.info("probe looks offset=%s slot=%s", offset is not None, slot is not None)

    def should_snapshot_data(self, offset_exists: bool, snapshot_in_progress: bool) -> bool:
        self.asked.append((offset_exists, snapshot_in_progress))
        _log.info("probe asked about data offset=%s broken=%s", offset_exists, snapshot_in_progress)
        match self.properties.get("probe.data"):
            case "throw":
                raise ValueError("a value that nobody may see")
            case "first":
                return not offset_exists or snapshot_in_progress
        return self._says("data", default=True)

    def should_stream(self) -> bool:
        return self._says("stream", default=True)

    def should_snapshot_on_data_error(self) -> bool:
        return self._says("ondata", default=False)

    def should_stream_events_starting_from_snapshot(self) -> bool:
        return self._says("fromsnapshot", default=True)

    def snapshot_completed(self) -> None:
        self.asked.append("completed")
        _log.info("probe informed that the snapshot is completed")

    def snapshot_aborted(self) -> None:
        self.asked.append("aborted")
        _log.info("probe informed that the snapshot is aborted")


class Query(SnapshotQuery):
    """``probe.query.<table>`` is the statement, with the table as it is quoted; throw raises."""

    def __init__(self) -> None:
        self.properties: Mapping[str, str] = {}
        self.tables: list[tuple[str, list[str]]] = []

    def configure(self, properties: Mapping[str, str]) -> None:
        self.properties = properties

    def snapshot_query(self, table: str, columns: Sequence[str]) -> str | None:
        self.tables.append((table, list(columns)))
        statement = self.properties.get(f"probe.query.{table}")
        if statement == "throw":
            raise KeyError(table)
        return statement


class Lock(SnapshotLock):
    """``probe.lock`` is the statement, with ``%t`` for the table; none for tables that ``probe.unlocked`` names."""

    def __init__(self) -> None:
        self.properties: Mapping[str, str] = {}

    def configure(self, properties: Mapping[str, str]) -> None:
        self.properties = properties

    def table_locking_statement(self, timeout_ms: int, table: str) -> str | None:
        if table == self.properties.get("probe.unlocked"):
            return None
        return self.properties["probe.lock"].replace("%t", table).replace("%ms", str(timeout_ms))


class AllInOne(Probe, Query, Lock):
    """One class for everything, as 2.x had it."""

    def __init__(self) -> None:
        Probe.__init__(self)


class Wordy(Snapshotter):
    """Answers with words."""

    def should_snapshot_data(self, offset_exists: bool, snapshot_in_progress: bool) -> bool:
        return "yes"  # type: ignore[return-value]

    def should_stream(self) -> bool:
        return True


class Other:
    """Nothing of the kind."""
