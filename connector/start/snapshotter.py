"""User classes that decide about the initial snapshot: whether it is taken, with which statements, and with which locks.

The module contains three interfaces, which Debezium has too (``snapshot.mode``, ``snapshot.query.mode`` and ``snapshot.locking.mode`` with
the value ``custom``), and the code that calls them. A result of the wrong type or an exception becomes a CdcError that names the class and
the method. The order of the calls and their arguments are as recorded from Debezium 3.6.3.
"""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar

from connector.catalog.identifiers import quote_identifier, quote_table
from connector.catalog.snapshot_mode import SnapshotMode
from connector.catalog.table import CatalogTable
from connector.delivery.offsets import StoredOffset
from connector.emulation import DEFAULT, Emulation
from connector.errors import CdcError, ErrorKind
from connector.plugins.user_code import let_operator_through
from connector.start.decision import SlotState

__all__ = ["CustomSnapshot", "OffsetFacts", "SlotFacts", "SnapshotLock", "SnapshotQuery", "Snapshotter"]

_T = TypeVar("_T")
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class OffsetFacts:
    """The stored offset. ``lsn`` is 0 if the offset has none; ``snapshot_in_progress`` says whether its snapshot was aborted."""

    lsn: int
    txid: int | None
    snapshot_in_progress: bool


@dataclass(frozen=True, slots=True)
class SlotFacts:
    """The replication slot at the start of the task. An LSN that the server does not report is 0."""

    name: str
    plugin: str
    active: bool
    restart_lsn: int
    confirmed_lsn: int
    wal_status: str


class Snapshotter(ABC):
    """Decides at each start whether rows are read and whether changes are streamed (``snapshot.mode.custom.name``)."""

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 -- most need nothing of it
        """Take the connector's configuration, including its secrets. Called once, before all other methods."""

    def look(self, offset: OffsetFacts | None, slot: SlotFacts | None) -> None:  # noqa: B027 -- the same
        """Take the offset and the slot of this start, None for a missing one. Called before :meth:`should_snapshot_data`."""

    @abstractmethod
    def should_snapshot_data(self, offset_exists: bool, snapshot_in_progress: bool) -> bool:
        """Return whether to read the rows now. Called once. After a loss of WAL, the arguments are as if there were no offset."""

    @abstractmethod
    def should_stream(self) -> bool:
        """Return whether to stream changes, after the snapshot or without one."""

    def should_snapshot_on_data_error(self) -> bool:
        """Return whether to take a new snapshot if the WAL after the stored offset is gone; otherwise the task fails."""
        return False

    def should_stream_events_starting_from_snapshot(self) -> bool:
        """Return whether streaming begins at the snapshot. With False, a repeated snapshot is preceded by the changes since the offset."""
        return True

    def snapshot_completed(self) -> None:  # noqa: B027 -- most need nothing of it
        """Take note that Kafka has all rows and that the stored offset says so."""

    def snapshot_aborted(self) -> None:  # noqa: B027 -- the same
        """Take note that the snapshot was aborted by a failure, a pause or a stop. It will be taken again."""


class SnapshotQuery(ABC):
    """Gives the statement that reads a table (``snapshot.query.mode.custom.name``)."""

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 -- the same
        """As :meth:`Snapshotter.configure`."""

    @abstractmethod
    def snapshot_query(self, table: str, columns: Sequence[str]) -> str | None:
        """Return the SELECT for ``table``, or None to skip its rows. The names are quoted (``"public"."orders"``)."""


class SnapshotLock(ABC):
    """Gives the statement that locks a table while the snapshot is read (``snapshot.locking.mode.custom.name``)."""

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 -- the same
        """As :meth:`Snapshotter.configure`."""

    @abstractmethod
    def table_locking_statement(self, timeout_ms: int, table: str) -> str | None:
        """Return a statement, or None for no lock. ``lock_timeout`` is already ``timeout_ms``; ``table`` is quoted."""


class CustomSnapshot:
    """The user's objects of one run, each None if the configuration names none. The constructor passes ``properties`` to them."""

    def __init__(
        self,
        snapshotter: Snapshotter | None = None,
        query: SnapshotQuery | None = None,
        lock: SnapshotLock | None = None,
        properties: Mapping[str, str] = _NOTHING,
    ) -> None:
        self._snapshotter = snapshotter
        self._query = query
        self._lock = lock
        # One object may implement several interfaces; it is configured once.
        for part in dict.fromkeys(part for part in (snapshotter, query, lock) if part is not None):
            _asked(part.configure, lambda configure: configure(properties))

    def mode(self, offset: StoredOffset | None, slot: SlotState | None, *, emulation: Emulation = DEFAULT) -> SnapshotMode:
        """Return the snapshotter's answers as a snapshot mode. Call it only if there is a snapshotter."""
        chosen = self._snapshotter
        if chosen is None:
            raise RuntimeError("There is no custom snapshotter to ask")
        _asked(chosen.look, lambda look: look(_offset_facts(offset), _slot_facts(slot)))
        stream = _said(chosen.should_stream)
        catch_up = not _said(chosen.should_stream_events_starting_from_snapshot)
        if not emulation.asks_snapshotter_about_errors:
            data = _said(chosen.should_snapshot_data, offset is not None, offset is not None and offset.snapshot_running)
            return SnapshotMode("custom", data, stream, always=data, catch_up=catch_up)
        return SnapshotMode(
            "custom",
            snapshot_data=True,
            stream=stream,
            when_needed=_said(chosen.should_snapshot_on_data_error),
            catch_up=catch_up,
            ask=lambda exists, running: _said(chosen.should_snapshot_data, exists, running),
        )

    @property
    def decides(self) -> bool:
        """Whether a user's class decides about the snapshot."""
        return self._snapshotter is not None

    @property
    def queries(self) -> bool:
        """Whether a user's class provides the statements."""
        return self._query is not None

    def query(self, table: CatalogTable, columns: Sequence[str]) -> str | None:
        """Return the statement for ``table``, None to skip it. Call it only if :attr:`queries`."""
        chosen = self._query
        if chosen is None:
            return None
        names = [quote_identifier(name) for name in columns]
        return _statement(chosen.snapshot_query, quote_table(table.schema, table.table), names)

    def locks(self, tables: Sequence[CatalogTable], timeout_ms: int) -> list[str]:
        """Return the statements to run before the tables are read; none without a class for locks."""
        chosen = self._lock
        if chosen is None:
            return []
        given = [_statement(chosen.table_locking_statement, timeout_ms, quote_table(table.schema, table.table)) for table in tables]
        statements = [statement for statement in given if statement is not None]
        return [f"SET LOCAL lock_timeout = {timeout_ms}", *statements] if statements else []

    def completed(self) -> None:
        """Notify the snapshotter that the snapshot is complete."""
        if self._snapshotter is not None:
            _asked(self._snapshotter.snapshot_completed, lambda tell: tell())

    def aborted(self) -> None:
        """Notify the snapshotter that the snapshot was aborted."""
        if self._snapshotter is not None:
            _asked(self._snapshotter.snapshot_aborted, lambda tell: tell())


def _offset_facts(offset: StoredOffset | None) -> OffsetFacts | None:
    return None if offset is None else OffsetFacts(offset.start or offset.lsn or 0, offset.txid, offset.snapshot_running)


def _slot_facts(slot: SlotState | None) -> SlotFacts | None:
    return None if slot is None else SlotFacts(slot.name, slot.plugin, slot.active, slot.restart, slot.confirmed, slot.wal_status)


def _said(method: Callable[..., bool], *arguments: bool) -> bool:
    answer = _asked(method, lambda asked: asked(*arguments))
    if not isinstance(answer, bool):
        raise _wrong(method, f"answered {type(answer).__name__}, not True or False")
    return answer


def _statement(method: Callable[..., str | None], *arguments: object) -> str | None:
    answer = _asked(method, lambda asked: asked(*arguments))
    if answer is not None and (not isinstance(answer, str) or not answer.strip()):
        raise _wrong(method, f"answered {type(answer).__name__ if not isinstance(answer, str) else 'blanks'}, not a statement or None")
    return answer


def _asked(method: Callable[..., _T], call: Callable[[Callable[..., _T]], _T]) -> _T:
    try:
        return call(method)
    except BaseException as error:
        let_operator_through(error)
        # The text of a user's exception may contain a cell value or a password, so only its type and place are reported.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise _wrong(method, f"raised {type(error).__name__} at {frame.filename}:{frame.lineno} in {frame.name}") from error


def _wrong(method: Callable[..., object], what: str) -> CdcError:
    owner = type(getattr(method, "__self__", None))
    return CdcError(
        ErrorKind.CONFIG_INVALID,
        f"The custom snapshotter {owner.__module__}:{owner.__qualname__} {what}, asked for {method.__name__}",
        "Correct the class and restart the worker",
    )
