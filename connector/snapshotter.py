"""What a user's own class may decide about the initial snapshot: when, with which statement, under which lock.

Three interfaces to derive from, as Debezium has them (``snapshot.mode``, ``snapshot.query.mode`` and ``snapshot.locking.mode``
with the value ``custom``), and their use: an answer of the wrong type, or an exception, becomes one CdcError that names the
class and the method. Which question is asked when, and with what, is as recorded from Debezium 3.6.3.
"""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar

from connector.errors import CdcError, ErrorKind
from connector.offsets import StoredOffset
from connector.reconcile import SlotState
from connector.snapshot import SnapshotMode
from connector.table import CatalogTable, quote_identifier, quote_table
from connector.user_code import let_operator_through

__all__ = ["CustomSnapshot", "OffsetFacts", "SlotFacts", "SnapshotLock", "SnapshotQuery", "Snapshotter"]

_T = TypeVar("_T")
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class OffsetFacts:
    """The stored offset. ``lsn`` is 0 when it holds none; ``snapshot_in_progress`` tells that its snapshot broke off."""

    lsn: int
    txid: int | None
    snapshot_in_progress: bool


@dataclass(frozen=True, slots=True)
class SlotFacts:
    """The replication slot as it was found. LSNs are 0 when the server gives none."""

    name: str
    plugin: str
    active: bool
    restart_lsn: int
    confirmed_lsn: int
    wal_status: str


class Snapshotter(ABC):
    """Decides at each start whether rows are read and whether changes are streamed (``snapshot.mode.custom.name``)."""

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 -- most need nothing of it
        """Take the connector's configuration, secrets included: called once, before anything is asked."""

    def look(self, offset: OffsetFacts | None, slot: SlotFacts | None) -> None:  # noqa: B027 -- the same
        """Take what is known at this start, before :meth:`should_snapshot_data`; None for what is not there."""

    @abstractmethod
    def should_snapshot_data(self, offset_exists: bool, snapshot_in_progress: bool) -> bool:
        """Whether to read the rows now. Asked once; after a loss of WAL as if there were no offset."""

    @abstractmethod
    def should_stream(self) -> bool:
        """Whether to stream changes, after the snapshot or without one."""

    def should_snapshot_on_data_error(self) -> bool:
        """Whether to begin anew when the WAL behind the stored offset is gone; else the task fails."""
        return False

    def should_stream_events_starting_from_snapshot(self) -> bool:
        """False: at a snapshot that is taken again, the changes since the stored offset come before its rows."""
        return True

    def snapshot_completed(self) -> None:  # noqa: B027 -- most need nothing of it
        """Kafka has all rows, and the offset says so."""

    def snapshot_aborted(self) -> None:  # noqa: B027 -- the same
        """The snapshot broke off: a failure, a pause or a stop. It is taken again."""


class SnapshotQuery(ABC):
    """Gives the statement that reads a table (``snapshot.query.mode.custom.name``)."""

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 -- the same
        """As :meth:`Snapshotter.configure`."""

    @abstractmethod
    def snapshot_query(self, table: str, columns: Sequence[str]) -> str | None:
        """The SELECT for ``table``, or None to leave its rows out. The names are quoted (``"public"."orders"``)."""


class SnapshotLock(ABC):
    """Gives the statement that locks a table while the snapshot is read (``snapshot.locking.mode.custom.name``)."""

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 -- the same
        """As :meth:`Snapshotter.configure`."""

    @abstractmethod
    def table_locking_statement(self, timeout_ms: int, table: str) -> str | None:
        """A statement, or None for no lock. ``timeout_ms`` is set as lock_timeout already; ``table`` is quoted."""


class CustomSnapshot:
    """The user's objects of one run, each None when the configuration names none; they get ``properties`` here."""

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
        # One object may play several parts, and is configured once.
        for part in dict.fromkeys(part for part in (snapshotter, query, lock) if part is not None):
            _asked(part.configure, lambda configure: configure(properties))

    def mode(self, offset: StoredOffset | None, slot: SlotState | None, *, former: bool = False) -> SnapshotMode:
        """The snapshotter as a mode, ready to be asked. Only with a snapshotter.

        ``former``: as 2.3.4, which asks about what is stored even when changes are lost, and whose snapshots make up for them.
        """
        chosen = self._snapshotter
        if chosen is None:
            raise RuntimeError("There is no custom snapshotter to ask")
        _asked(chosen.look, lambda look: look(_offset_facts(offset), _slot_facts(slot)))
        stream = _said(chosen.should_stream)
        catch_up = not _said(chosen.should_stream_events_starting_from_snapshot)
        if former:
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
        """Whether a class decides about the snapshot."""
        return self._snapshotter is not None

    @property
    def queries(self) -> bool:
        """Whether a class gives the statements."""
        return self._query is not None

    def query(self, table: CatalogTable, columns: Sequence[str]) -> str | None:
        """The statement for ``table``, None to pass it over. Only with :attr:`queries`."""
        chosen = self._query
        if chosen is None:
            return None
        names = [quote_identifier(name) for name in columns]
        return _statement(chosen.snapshot_query, quote_table(table.schema, table.table), names)

    def locks(self, tables: Sequence[CatalogTable], timeout_ms: int) -> list[str]:
        """What to run before the tables are read; nothing without a class for it."""
        chosen = self._lock
        if chosen is None:
            return []
        given = [_statement(chosen.table_locking_statement, timeout_ms, quote_table(table.schema, table.table)) for table in tables]
        statements = [statement for statement in given if statement is not None]
        return [f"SET LOCAL lock_timeout = {timeout_ms}", *statements] if statements else []

    def completed(self) -> None:
        """Tell the snapshotter."""
        if self._snapshotter is not None:
            _asked(self._snapshotter.snapshot_completed, lambda tell: tell())

    def aborted(self) -> None:
        """Tell the snapshotter."""
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
        # The text of a foreign exception may hold a value of a row or a password: its type and place must do.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise _wrong(method, f"raised {type(error).__name__} at {frame.filename}:{frame.lineno} in {frame.name}") from error


def _wrong(method: Callable[..., object], what: str) -> CdcError:
    owner = type(getattr(method, "__self__", None))
    return CdcError(
        ErrorKind.CONFIG_INVALID,
        f"The custom snapshotter {owner.__module__}:{owner.__qualname__} {what}, asked for {method.__name__}",
        "Correct the class and restart the worker",
    )
