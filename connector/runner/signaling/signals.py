"""Performs signals: those of the signal table at their place in the stream, those of other channels between two bursts of frames."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Final

from connector.config.connector_config import ConnectorConfig
from connector.errors import CdcError, ErrorKind
from connector.events.capture import Capture
from connector.events.stream import Stream
from connector.events.transitions import SignalRow
from connector.incremental.state import MOST_STORED, filters_of, wanted_collections
from connector.java.hash_map import java_order
from connector.log import EventLog
from connector.plugins.loading import load
from connector.plugins.user_code import let_operator_through
from connector.ports import SignalSource
from connector.runner.context import TaskContext
from connector.runner.incremental import IncrementalRun
from connector.runner.signaling.signal_channels import SignalChannels
from connector.runner.snapshot.blocking import BlockingSnapshot
from connector.runner.user_code import end_if_cancelled
from connector.signals.custom_action import SignalAction
from connector.signals.signal import (
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

LOG: Final = EventLog(__name__)

_MOST_SHOWN: Final = 300
"""The most characters of a warning that may quote a signal."""

Refresh = Callable[[str, str], Awaitable[None]]
"""``refresh(schema, table)`` reads a table's description again."""


class SignalSources:
    """A task's signal channels except the signal table, and the user's signal actions.

    They are created before the task's other steps, so a class that cannot be loaded fails the task at once. Raises
    CdcError(CONFIG_INVALID).
    """

    def __init__(self, context: TaskContext, config: ConnectorConfig) -> None:
        self.arrived: asyncio.Queue[Signal] = asyncio.Queue()
        self.channels = SignalChannels(context, config, self.arrived.put_nowait)
        self.actions = dict(_action(name, context) for name in config.signal_actions)


def _action(name: str, context: TaskContext) -> tuple[str, SignalAction]:
    """Load a signal action. Return the type of signal that it performs, and the action."""
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
    """Performs all signals of one run of the stream. ``gate`` is held while frames or a signal of another channel are handled."""

    def __init__(
        self,
        config: ConnectorConfig,
        capture: Capture,
        source: SignalSource,
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
        self._source = source
        self._stream = stream
        self._incremental = incremental
        self._blocking = blocking
        self._sources = sources
        self._gate = gate
        self._refresh = refresh
        self._changed = changed
        self._emulation = config.emulation
        self._from_source = "source" in config.signal_enabled_channels
        self.due: list[tuple[list[str], dict[str, str], bool]] = []
        """Blocking snapshots that wait for the end of the open transaction: tables, statements for some of them, whether Spark reads them.

        Nothing that is streamed meanwhile may count as reached, because after a crash the stream must deliver the signal again.
        """

    async def start(self, stack: AsyncExitStack) -> None:
        """Open the channels except the signal table; the stack closes them."""
        await self._sources.channels.start(stack)

    async def run(self) -> None:
        """Perform the signals of the channels until cancelled. Raises CdcError when the connection to the database is lost."""
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
        """Perform the signal of a row of the signal table that the stream delivered. The stream waits meanwhile."""
        try:
            signal = source_signal(row.cells)
        except SignalError as error:
            LOG.warning("signal ignored", reason=error)
            return
        if row.deleted:
            # The deleted row may contain only its id.
            if self._config.incremental_snapshot_watermarking_strategy == "insert_delete" and signal.id.endswith("-open"):
                self._incremental.window_closes(signal.id.removesuffix("-open"))
            return
        if self._from_source or signal.type in (OPEN, CLOSE):
            await self._obey(signal)

    async def _obey(self, signal: Signal) -> None:
        try:
            action = read_signal(signal, frozenset(self._sources.actions), emulation=self._emulation)
            await self._perform(action, signal)
        except SignalError as error:
            LOG.warning("signal ignored", **_shown(signal), reason=error)
        except CdcError as error:
            # An error at a watermark, such as a row that cannot be sent, ends the task. Otherwise the snapshot would never continue.
            if error.passes or signal.type in (OPEN, CLOSE):
                raise
            LOG.warning("signal failed", **_shown(signal), reason=error)

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
                LOG.info("log signal", message=message.replace("{}", self._offset_text()))
            case SchemaChanges(tables):
                for schema, table in tables:
                    await self._refresh(schema, table)
            case CustomSignal(_, data):
                try:
                    await self._sources.actions[signal.type].arrived(signal, data)
                except BaseException as error:  # noqa: BLE001 (a user's class may raise anything)
                    end_if_cancelled(error)
                    LOG.warning("signal action failed", **_shown(signal), error=type(error).__name__)

    async def _execute(self, action: ExecuteSnapshot) -> None:
        signals = self._capture.selection.signal_table
        listed = [
            f"{schema}.{table}"
            for schema, table in await self._source.tables()
            if (schema, table) != signals and self._capture.selection.captures(schema, table)
        ]
        # As recorded, the tables that an expression matches are in the order of a Java map.
        backtrack = self._capture.selection.backtrack
        # In a thread, because there may be thousands of patterns and tables.
        collections, warnings = await asyncio.to_thread(
            wanted_collections, action, java_order(listed), emulation=self._emulation, backtrack=backtrack
        )
        if warnings:
            first = warnings[0][:_MOST_SHOWN]
            LOG.warning("entries of data-collections ignored", id=brief(action.correlation_id), entries=len(warnings), first=first)
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
        if not self._config.incremental_snapshot_chunk_size:
            raise SignalError("incremental.snapshot.chunk.size is 0; set it to 1 or more")
        size = self._incremental.state.stored_size(collections, action.correlation_id)
        if size > MOST_STORED:
            raise SignalError(
                f"the offset would hold {size} bytes for its id and its {len(collections)} tables with their conditions, and a record of"
                f" Kafka {MOST_STORED}; ask for fewer tables at a time"
            )
        if signals is not None and not self._config.read_only:
            deletes = self._config.incremental_snapshot_watermarking_strategy == "insert_delete"
            await self._source.check_signal_table(*signals, deletes=deletes)
        self._incremental.add(collections, action.correlation_id)

    def _offset_text(self) -> str:
        """Return the offset as Java prints a map."""
        position = self._stream.position
        if position is None:
            return "<none>"
        offset = position.to_offset()
        return "{" + ", ".join(f"{key}={offset[key]}" for key in java_order(offset)) + "}"


def _shown(signal: Signal) -> dict[str, str]:
    return {"id": brief(signal.id), "type": brief(signal.type), "channel": signal.channel}
