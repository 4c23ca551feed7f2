"""Obeys signals: what each asks for is done at its place in the stream, or between two bursts when it came another way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Final

from connector.capture import Capture
from connector.config import ConnectorConfig
from connector.errors import CdcError, ErrorKind
from connector.incremental import MOST_STORED, filters_of, wanted_collections
from connector.io import pg_catalog
from connector.io.pg_connection import Connection
from connector.java_map import java_order
from connector.ports import TaskContext
from connector.runner.blocking import BlockingSnapshot
from connector.runner.incremental import IncrementalRun
from connector.runner.signal_channels import SignalChannels
from connector.runner.user_code import end_if_cancelled
from connector.signal_action import SignalAction
from connector.signals import (
    CLOSE,
    OPEN,
    Action,
    CustomSignal,
    ExecuteSnapshot,
    LogMessage,
    PauseSnapshot,
    ResumeSnapshot,
    SchemaChanges,
    Signal,
    SignalError,
    StopSnapshot,
    WindowClose,
    WindowOpen,
    brief,
    read_signal,
    source_signal,
)
from connector.spi import load
from connector.stream import SignalRow, Stream
from connector.user_code import let_operator_through

_log = logging.getLogger(__name__)

_MOST_SHOWN: Final = 300
"""Characters of a warning that may quote what a signal holds."""

Refresh = Callable[[str, str], Awaitable[None]]
"""``refresh(schema, table)``: look at a table again."""


class SignalSources:
    """Where the signals of a task come from beside its signal table, and who performs those of the user's types.

    Made before the task does anything: a class that cannot be had is told of at once, with CdcError(CONFIG_INVALID).
    """

    def __init__(self, context: TaskContext, config: ConnectorConfig) -> None:
        self.arrived: asyncio.Queue[Signal] = asyncio.Queue()
        self.channels = SignalChannels(context, config, self.arrived.put_nowait)
        self.actions = dict(_action(name, context) for name in config.signal_actions)


def _action(name: str, context: TaskContext) -> tuple[str, SignalAction]:
    """The type of signal, and who performs it."""
    action = load("signal_actions", name, SignalAction, setting="signal.actions", allowed=context.plugins)  # type: ignore[type-abstract]
    try:
        kind: object = action.type
    except BaseException as error:  # noqa: BLE001 (a user's class may raise anything)
        let_operator_through(error)
        kind = None
    if not isinstance(kind, str):
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Signal action {name}, which property signal.actions names, has no type",
            "Give its class the attribute type, the signal type that it performs",
        )
    return kind, action


class Signals:
    """All signals of one run of the stream. ``gate`` is held while frames are worked on, and for each signal of another channel."""

    def __init__(
        self,
        config: ConnectorConfig,
        capture: Capture,
        query: Connection,
        stream: Stream,
        incremental: IncrementalRun,
        blocking: BlockingSnapshot,
        sources: SignalSources,
        *,
        gate: asyncio.Lock,
        refresh: Refresh,
        changed: Callable[[], None],
    ) -> None:
        self._config = config
        self._capture = capture
        self._query = query
        self._stream = stream
        self._incremental = incremental
        self._blocking = blocking
        self._sources = sources
        self._gate = gate
        self._refresh = refresh
        self._changed = changed
        self._former = config.version < (3,)
        self._from_source = "source" in config.signal_enabled_channels
        self.due: list[tuple[list[str], dict[str, str], bool]] = []
        """Blocking snapshots that wait for the end of the open transaction: tables, selects for some of them, whether in bulk.

        Nothing that is streamed meanwhile may count as reached: after a crash the signal must come again.
        """

    async def start(self, stack: AsyncExitStack) -> None:
        """Open the channels beside the signal table; the stack closes them."""
        await self._sources.channels.start(stack)

    async def run(self) -> None:
        """Obey what the channels bring, until cancelled. Raises CdcError when the database is lost."""
        while True:
            signal = await self._sources.arrived.get()
            async with self._gate:
                await self._obey(signal)
                await self.at_rest()
                self._changed()

    async def at_rest(self) -> None:
        """Take the blocking snapshots that are due, if the stream is between transactions."""
        while self.due and self._stream.between:
            names, selects, in_bulk = self.due[0]
            await self._blocking.take(names, selects, *self._stream.last_event, in_bulk=in_bulk)
            del self.due[0]
        self._stream.halt_at_commit = bool(self.due)

    async def row(self, row: SignalRow) -> None:
        """A row of the signal table came through the stream, which waits."""
        try:
            signal = source_signal(row.cells)
        except SignalError as error:
            _log.warning("signal passed over: %s", error)
            return
        if row.deleted:
            # The row may tell no more than its id.
            if self._config.incremental_snapshot_watermarking_strategy == "insert_delete" and signal.id.endswith("-open"):
                self._incremental.window_closes(signal.id.removesuffix("-open"))
            return
        if self._from_source or signal.type in (OPEN, CLOSE):
            await self._obey(signal)

    async def _obey(self, signal: Signal) -> None:
        try:
            action = read_signal(signal, frozenset(self._sources.actions), former=self._former)
            await self._perform(action, signal)
        except SignalError as error:
            _log.warning("signal passed over %s: %s", _shown(signal), error)
        except CdcError as error:
            # A row of a chunk that cannot be sent ends the task, as one of the stream does: passed over, the snapshot would stand still.
            if error.passes or signal.type in (OPEN, CLOSE):
                raise
            _log.warning("signal not obeyed %s: %s", _shown(signal), error)

    async def _perform(self, action: Action, signal: Signal) -> None:
        incremental = self._incremental
        match action:
            case WindowOpen(chunk_id):
                incremental.window_opens(chunk_id)
            case WindowClose(chunk_id):
                incremental.window_closes(chunk_id)
            case ExecuteSnapshot():
                await self._execute(action)
            case StopSnapshot(collections):
                incremental.stop(collections)
            case PauseSnapshot():
                incremental.pause()
            case ResumeSnapshot():
                incremental.resume_reading()
            case LogMessage(message):
                _log.info("signal says: %s", message.replace("{}", self._offset_text()))
            case SchemaChanges(tables):
                for schema, table in tables:
                    await self._refresh(schema, table)
            case CustomSignal(_, data):
                try:
                    await self._sources.actions[signal.type].arrived(signal, data)
                except BaseException as error:  # noqa: BLE001 (a user's class may raise anything)
                    end_if_cancelled(error)
                    _log.warning("signal action raised %s error=%s", _shown(signal), type(error).__name__)

    async def _execute(self, action: ExecuteSnapshot) -> None:
        signals = self._capture.signal_table
        listed = [
            table.name
            for table in await pg_catalog.list_tables(self._query)
            if (table.schema, table.table) != signals and self._capture.captures(table.schema, table.table)
        ]
        # As recorded: the tables that an expression matches come in the order of a Java map.
        backtrack = self._capture.backtrack
        # Beside the event loop: thousands of patterns and tables take a while.
        collections, warnings = await asyncio.to_thread(
            wanted_collections, action, java_order(listed), former=self._former, backtrack=backtrack
        )
        if warnings:
            told, shown = brief(action.correlation_id), warnings[0][:_MOST_SHOWN]
            _log.warning("signal id=%s: entries of data-collections left out entries=%d first: %s", told, len(warnings), shown)
        names = [collection.name for collection in collections]
        if not names:
            return
        if action.bulk and (refusal := await self._blocking.bulk_refusal()):
            raise SignalError(refusal)
        if action.blocking:
            self.due.append((names, await asyncio.to_thread(filters_of, action.conditions, names, backtrack), action.bulk))
            return
        if not self._incremental.possible:
            raise SignalError("an incremental snapshot needs signal.data.collection, or read.only=true")
        if "c" in self._config.skipped_operations and not self._config.read_only:
            raise SignalError("skipped.operations leaves out inserts, watermarks too; take c out of it, or set read.only=true")
        if not self._config.incremental_snapshot_chunk_size:
            raise SignalError("incremental.snapshot.chunk.size is 0; set it to 1 or more")
        size = self._incremental.state.stored_size(collections, action.correlation_id)
        if size > MOST_STORED:
            raise SignalError(
                f"the offset would hold {size} bytes for its id and its {len(collections)} tables with their conditions, and a record of"
                f" Kafka {MOST_STORED}; ask for fewer tables at a time"
            )
        await self._incremental.check(self._query)
        self._incremental.add(collections, action.correlation_id)

    def _offset_text(self) -> str:
        """The offset as Java prints a map."""
        position = self._stream.position
        if position is None:
            return "<none>"
        offset = position.to_offset()
        return "{" + ", ".join(f"{key}={offset[key]}" for key in java_order(offset)) + "}"


def _shown(signal: Signal) -> str:
    return f"id={brief(signal.id)} type={brief(signal.type)} channel={signal.channel}"
