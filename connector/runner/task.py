"""One run of a task: read the database's state, decide, take the snapshot, stream, and end.

On every path the order is: Kafka's acknowledgement of records, then the offset in Kafka, then the confirmation to the slot.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from connector.catalog.filters import BUILTIN_SCHEMAS
from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable
from connector.config.connector_config import parse
from connector.delivery.offsets import StoredOffset, partition
from connector.delivery.sink import Sink
from connector.errors import CdcError, ErrorKind
from connector.events.capture import Capture, context_headers, key_change_headers
from connector.events.envelope import event_form
from connector.events.stream_settings import StreamSettings
from connector.io.postgres import catalog as pg_catalog
from connector.io.postgres import server as pg_server
from connector.io.postgres.connection import Connection, connect
from connector.io.postgres.publication_setup import ensure_publication
from connector.io.postgres.replica_identity import set_replica_identities
from connector.io.postgres.replication_connection import CreatedSlot, Replication
from connector.io.postgres.signal_source import PostgresSignalSource
from connector.io.postgres.stream_source import PostgresStreamSource
from connector.log import EventLog
from connector.ports import Span
from connector.preflight.unmatched_rules import idle_rules, needs_columns
from connector.record.batch import encode_headers
from connector.runner.context import TaskContext
from connector.runner.heartbeat import Heartbeat
from connector.runner.lineage import reported_run
from connector.runner.meter_settings import meter_settings
from connector.runner.notifications.notifier import Notifier
from connector.runner.plugin_frames import PluginFrames
from connector.runner.replication_start import start_replication
from connector.runner.signaling.signals import SignalSources
from connector.runner.sinks.exactly_once import open_sink
from connector.runner.slot.busy import drop_when_free
from connector.runner.snapshot.bulk_lock import sole_snapshot
from connector.runner.snapshot.catch_up import BoundedReplication
from connector.runner.snapshot.custom import custom_snapshot, tell_aborted
from connector.runner.snapshot.initial import SnapshotPoint, SnapshotRun
from connector.runner.snapshot.notices import SnapshotNotices, tells_of_parts
from connector.runner.streaming import StreamRun
from connector.runner.task_stop import TaskStop
from connector.snapshot.bulk import BulkReader
from connector.start.decision import FROM_SLOT, FROM_SNAPSHOT, Decision, SlotState, decide
from connector.start.guardrail import check_guardrail
from connector.wire.lsn import format_lsn
from connector.wire.output_plugin import DECODERBUFS, PGOUTPUT, PLUGINS, adapter

LOG: Final = EventLog(__name__)


async def run_task(context: TaskContext, stop: TaskStop, bulk: BulkReader | None = None) -> None:
    """Run a task until ``stop`` is set or the work is done (initial_only). After ``stop`` the task ends within about a second.

    ``bulk`` reads the rows of blocking snapshots that a signal requests with type ``spark``. Raises CdcError; its kind says whether to
    retry. The task keeps the context's offsets and progress current.
    """
    async with reported_run(context, stop) as reporting:
        await _run(reporting, stop, bulk)


async def _run(context: TaskContext, stop: TaskStop, bulk: BulkReader | None) -> None:
    task = await _task(context, bulk)
    work = asyncio.create_task(task.run(stop), name=f"run {context.connector}")
    stopped = asyncio.create_task(stop.wait(), name=f"stop {context.connector}")
    try:
        await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            if task.cancellable:
                work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work
        else:
            work.result()
    except BaseException as problem:
        if not stop.is_set():
            task.starting.end(problem)
            context.tracing.failed(problem)
        raise
    finally:
        task.starting.end()
        for pending in (work, stopped):
            pending.cancel()
        await asyncio.gather(work, stopped, return_exceptions=True)
        context.progress.phase = "stopped"
        context.meters.settings = None


async def take_initial_snapshot(context: TaskContext, bulk: BulkReader) -> None:
    """Take the initial snapshot of a stopped connector, and store the offset from which the connector will stream.

    Publication and slot are created as at the connector's start, and they stay. An aborted snapshot is taken again by the same rules
    (:mod:`connector.start.decision`); streaming then begins at the slot's position. Raises CdcError, and CdcError(CONFIG_INVALID) if the
    stored offset and the configuration require no snapshot.
    """
    try:
        await (await _task(context, bulk)).take_initial_snapshot()
    finally:
        context.progress.phase = "stopped"


async def _task(context: TaskContext, bulk: BulkReader | None) -> TaskRun:
    config, notices = parse(context.config)
    for notice in notices:
        LOG.warning("configuration notice", notice=notice)
    context.meters.settings = meter_settings(config)
    # Long lists of patterns take time to compile, so a thread compiles them.
    return TaskRun(context, await asyncio.to_thread(Selection.of, config, context.backtrack), bulk)


class TaskRun:
    """One run of a task. ``bulk`` as in :func:`run_task`."""

    def __init__(self, context: TaskContext, selection: Selection, bulk: BulkReader | None = None) -> None:
        self._context = context
        self._bulk = bulk
        self._selection = selection
        self._config = config = selection.config
        self._custom = custom_snapshot(selection, context.plugins)
        self._sources = SignalSources(context, config)
        self._plugin = config.plugin_name or DECODERBUFS
        self._exporting: Replication | None = None
        """The connection that owns the temporary slot of the exported snapshot."""
        self._slot_at = 0
        """The slot's confirmed LSN at the start. The server sends no transaction that ended before it."""
        self._plugin_open = False
        """Whether neither the configuration nor a slot decides the output plugin, so that pgoutput may replace the default."""
        self.cancellable = True
        """Whether a stop cancels the present step, which the next start repeats. Streaming ends by itself after the current burst, and
        closing, if cancelled, would leave connections open."""
        self.starting: Span = context.tracing.starts()
        """Traces the start, until the task streams."""
        self._notifier: Notifier

    async def run(self, stop: TaskStop) -> None:
        """See :func:`run_task`."""
        async with contextlib.AsyncExitStack() as stack:
            try:
                await self._work(stack, stop)
            finally:
                self.cancellable = False

    async def _work(self, stack: contextlib.AsyncExitStack, stop: TaskStop) -> None:
        config = self._config
        # With exactly-once delivery this is the first step. Earlier producers are then fenced and cannot change what is read below.
        fenced = await self._open_sink(stack) if self._context.exactly_once is not None else None
        query = await self._query(stack)
        decision, facts = await self._decide(query)
        capture = await self._capture(query)
        sink = fenced or await self._open_sink(stack)
        self._notifier = Notifier(self._context, config, sink)
        stack.push_async_callback(self._notifier.close)
        replication, created = await self._prepare(stack, query, decision, facts)
        start = decision.start
        if decision.catch_up:
            if created is not None:
                await self._catch_up(stop, sink, capture, query, decision, created.consistent_point)
                if stop.is_set():
                    return
                self.cancellable = True
            decision = replace(decision, offset=None)
        if decision.snapshot:
            point = await self._snapshot(query, sink, capture, decision, created)
            start = point.stream_from
            if self._exporting is not None:
                # The temporary slot would retain WAL as long as the stream runs.
                await self._exporting.close()
        else:
            self._context.meters.snapshot.skipped = True
            self._notifier.send(self._notifier.initial.skipped())
            if decision.stream and start == FROM_SNAPSHOT:
                # As in Debezium, no offset is stored before the first event. Until then only the slot holds the position.
                start = created.consistent_point if created else FROM_SLOT
        if replication is None:
            self.cancellable = False
            self._context.progress.phase = "idle"
            self.starting.end()
            LOG.info("nothing more to do after the snapshot")
            await stop.wait()
            return
        if decision.advance_slot:
            await pg_server.advance_slot(query, config.slot_name, decision.advance_slot)
        await self._stream(stack, stop, replication, sink, capture, query, decision, start)
        # Kafka Connect does not stop the task of a paused connector. Without the slot it could not be resumed.
        if config.slot_drop_on_stop and not stop.paused:
            await replication.close()
            await drop_when_free(query, config.slot_name)

    async def take_initial_snapshot(self) -> None:
        """See :func:`take_initial_snapshot`."""
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(sole_snapshot(self._config))
            query = await self._query(stack)
            decision, facts = await self._decide(query)
            known = self._selection.mode
            repeated = known is not None and known.wants(offset=True)
            if not decision.snapshot or decision.catch_up or repeated:
                raise CdcError(
                    ErrorKind.CONFIG_INVALID,
                    f"No initial snapshot is to be taken: {decision.why} (snapshot.mode={self._config.snapshot_mode})",
                    "Remove the offsets of the stopped connector and use snapshot.mode=initial, or send the running one a signal",
                )
            capture = await self._capture(query)
            sink = await self._open_sink(stack)
            self._notifier = Notifier(self._context, self._config, sink)
            stack.push_async_callback(self._notifier.close)
            _replication, created = await self._prepare(stack, query, decision, facts)
            await self._snapshot(query, sink, capture, decision, created, self._bulk)

    async def rehearse(self, stop: asyncio.Event, sink: Sink, opened: Callable[[int], object]) -> None:
        """Stream from a new temporary slot with the name in ``slot.name`` to ``sink``. Only that slot is made, and it goes with this call.

        ``opened`` is called with the LSN from which on the slot sends transactions.
        """
        config = self._config
        async with contextlib.AsyncExitStack() as stack:
            query = await self._query(stack)
            capture = await self._capture(query)
            self._notifier = Notifier(self._context, config, sink)
            stack.push_async_callback(self._notifier.close)
            replication = await self._replication(stack)
            timeout = config.internal_create_slot_command_timeout
            created = await replication.create_slot(config.slot_name, self._plugin, temporary=True, timeout_s=timeout)
            opened(created.consistent_point)
            decision = Decision(False, False, True, FROM_SLOT, "rehearsal")
            await self._stream(stack, stop, replication, sink, capture, query, decision, FROM_SLOT)

    async def _query(self, stack: contextlib.AsyncExitStack) -> Connection:
        query = await connect(self._config, "Understudy General")
        stack.push_async_callback(query.close)
        if self._config.database_query_timeout_ms:
            await query.execute(f"SET statement_timeout = {self._config.database_query_timeout_ms}".encode())
        return query

    async def _capture(self, query: Connection) -> Capture:
        config = self._config
        types = await pg_catalog.read_types(query)
        context = self._context
        selection = self._selection
        capture = Capture(selection, types, context.key_converter, context.value_converter, LOG.warning, context.plugins)
        listed = await pg_catalog.list_tables(query)
        captured = await asyncio.to_thread(_filtered, selection, listed)
        context.meters.captured = tuple(sorted(table.name for table in captured))
        if config.guardrail_collections_max:
            check_guardrail(config, len(captured), LOG.warning)
        report = context.table_described
        described = await pg_catalog.describe_tables(query, captured) if report or needs_columns(config) else captured
        if report:
            for table in described:
                report(table, types)
        names = [(table.schema, table.table) for table in listed if table.schema not in BUILTIN_SCHEMAS]
        for rule in await asyncio.to_thread(idle_rules, selection, names, described, types):
            LOG.warning("rule matches nothing", property=rule.key, reason=rule.text)
        return capture

    async def _prepare(
        self, stack: contextlib.AsyncExitStack, query: Connection, decision: Decision, facts: pg_server.ServerFacts
    ) -> tuple[Replication | None, CreatedSlot | None]:
        """Prepare publication, replica identities and slot, if the decision is to stream."""
        if not decision.stream:
            return None, None
        if self._plugin == PGOUTPUT:
            await self._publication(query, facts)
        await set_replica_identities(query, self._selection.identity_rules, self._selection.filters.captures)
        if decision.drop_slot:
            await pg_server.drop_slot(query, self._config.slot_name)
        return await self._slot(stack, query, decision, facts)

    async def _decide(self, query: Connection) -> tuple[Decision, pg_server.ServerFacts]:
        config = self._config
        stored = await self._context.offsets.load(partition(config.topic_prefix))
        offset = StoredOffset.parse(stored) if stored is not None else None
        known = self._selection.mode
        slot: SlotState | None = None
        if known is None or known.stream:
            slot = await pg_server.slot_state(query, config.slot_name)
        self._slot_at = slot.confirmed if slot is not None else 0
        mode = self._custom.mode(offset, slot, emulation=config.emulation) if known is None else known
        facts = await pg_server.server_facts(query, streams=mode.stream)
        if config.plugin_name is None and slot is not None and slot.plugin in PLUGINS:
            self._plugin = slot.plugin
        self._plugin_open = config.plugin_name is None and slot is None
        checked = config.internal_log_position_check_enable
        decision = decide(mode, slot, offset, config.offset_mismatch_strategy, self._plugin, check_position=checked)
        LOG.info("start decided", why=decision.why, snapshot=decision.snapshot, stream=decision.stream)
        if decision.unsent is not None:
            offset_lsn, slot_lsn = decision.unsent
            LOG.warning(
                "slot is ahead of the stored offset",
                slot=config.slot_name,
                offset=format_lsn(offset_lsn),
                slot_position=format_lsn(slot_lsn),
                bytes=slot_lsn - offset_lsn,
                effect="the server does not send what was committed between the two; if captured tables changed, these changes are missing"
                " until a new snapshot is taken",
            )
        return decision, facts

    async def _open_sink(self, stack: contextlib.AsyncExitStack) -> Sink:
        sink, self._context = await open_sink(self._context, self._config, stack)
        return sink

    async def _publication(self, query: Connection, facts: pg_server.ServerFacts) -> None:
        config = self._config
        captured = self._selection.captured(await pg_catalog.list_tables(query))
        await ensure_publication(
            query,
            config.publication_name,
            config.publication_autocreate_mode,
            [(table.schema, table.table) for table in captured],
            via_root=config.publish_via_partition_root,
            skipped=self._selection.skipped_operations,
            timeout_s=config.internal_create_slot_command_timeout,
            standby=facts.standby,
        )

    async def _slot(
        self,
        stack: contextlib.AsyncExitStack,
        query: Connection,
        decision: Decision,
        facts: pg_server.ServerFacts,
    ) -> tuple[Replication, CreatedSlot | None]:
        """Open the replication connection. Return it with the new slot, if one is created: the connector's or a temporary one."""
        config = self._config
        replication = await self._replication(stack)
        timeout = config.internal_create_slot_command_timeout
        if decision.create_slot:
            failover = config.slot_failover and facts.version >= 170000 and not facts.standby
            try:
                created = await replication.create_slot(config.slot_name, self._plugin, failover=failover, timeout_s=timeout)
            except CdcError as error:
                # Servers since 2026 refuse a library that is not allowed as an output plugin. Older ones report a missing file.
                if not self._plugin_open or error.kind not in (ErrorKind.SOURCE_OBJECT_MISSING, ErrorKind.SOURCE_PERMISSION):
                    raise
                LOG.info("output plugin is missing or not allowed", plugin=self._plugin, used=PGOUTPUT, slot=config.slot_name)
                self._plugin = PGOUTPUT
                await self._publication(query, facts)
                created = await replication.create_slot(config.slot_name, PGOUTPUT, failover=failover, timeout_s=timeout)
            LOG.info("slot created", slot=created.name, plugin=self._plugin)
            return replication, created
        if decision.snapshot and decision.start == FROM_SNAPSHOT:
            # Only a slot's exported snapshot ends exactly where a stream can begin. If the position were read separately, transactions
            # that are in the WAL but not yet visible would be lost.
            exporting = self._exporting = await self._replication(stack)
            name = f"understudy_{uuid.uuid4().hex[:20]}"
            try:
                return replication, await exporting.create_slot(name, PGOUTPUT, temporary=True, timeout_s=timeout)
            except CdcError as error:
                if error.kind is not ErrorKind.SOURCE_SETTING:
                    raise
                LOG.warning(
                    "no slot free for an exact snapshot", slot=config.slot_name, effect="changes since the slot are sent again after it"
                )
        return replication, None

    async def _replication(self, stack: contextlib.AsyncExitStack) -> Replication:
        replication = Replication(await connect(self._config, "Understudy Streaming", replication=True))
        stack.push_async_callback(replication.close)
        return replication

    async def _snapshot(
        self,
        query: Connection,
        sink: Sink,
        capture: Capture,
        decision: Decision,
        created: CreatedSlot | None,
        bulk: BulkReader | None = None,
    ) -> SnapshotPoint:
        config = self._config
        if config.snapshot_delay_ms:
            LOG.info("snapshot delayed", ms=config.snapshot_delay_ms)
            await asyncio.sleep(config.snapshot_delay_ms / 1000)
        broken_off = decision.stream and created is None
        slot = await pg_server.slot_state(query, config.slot_name) if broken_off else None
        run = SnapshotRun(
            self._context,
            capture,
            sink,
            headers=encode_headers(self._headers),
            stream_from=slot.confirmed if slot else None,
            notices=SnapshotNotices(self._notifier, in_parts=tells_of_parts(config)),
            custom=self._custom,
            bulk=bulk,
        )
        self._context.meters.snapshot.begins()
        span = self._context.tracing.begin("snapshot")
        try:
            point = await run.run(created.snapshot if created else None, created.consistent_point if created else None)
        except BaseException as problem:
            span.end(problem)
            self._context.meters.snapshot.ends(completed=False)
            tell_aborted(self._custom)
            await self._notifier.send_last(self._notifier.initial.aborted())
            raise
        span.end()
        self._context.meters.snapshot.ends(completed=True)
        self._custom.completed()
        if decision.stream and config.streaming_delay_ms:
            LOG.info("streaming delayed", ms=config.streaming_delay_ms)
            await asyncio.sleep(config.streaming_delay_ms / 1000)
        return point

    async def _catch_up(self, stop: asyncio.Event, sink: Sink, capture: Capture, query: Connection, decision: Decision, until: int) -> None:
        """Stream from the offset up to the snapshot's position, or until ``stop``."""
        LOG.info("catching up before the snapshot", from_lsn=decision.catch_up, until_lsn=until)
        async with contextlib.AsyncExitStack() as stack:
            bounded = BoundedReplication(await connect(self._config, "Understudy Streaming", replication=True), until)
            stack.push_async_callback(bounded.close)
            ended = await stack.enter_async_context(bounded.until_ended(stop))
            await self._stream(stack, ended, bounded, sink, capture, query, decision, decision.catch_up)

    @property
    def _headers(self) -> list[tuple[str, bytes]]:
        if not hasattr(self, "_run_headers"):
            self._run_headers = list(context_headers(self._config, self._context.task_id, str(uuid.uuid4())))
        return self._run_headers

    async def _stream(
        self,
        stack: contextlib.AsyncExitStack,
        stop: asyncio.Event,
        replication: Replication,
        sink: Sink,
        capture: Capture,
        query: Connection,
        decision: Decision,
        start: int,
    ) -> None:
        config = self._config
        reader = adapter(self._plugin, query.info.parameter_status("server_encoding") or "UTF8")
        if reader is not None:
            replication.translate = PluginFrames(reader, query).translate
        await start_replication(query, replication, config, self._plugin, start)
        stored = await self._context.offsets.load(partition(config.topic_prefix))
        run = StreamRun(
            self._context,
            config,
            capture,
            sink,
            replication,
            self._stream_settings(),
            self._notifier,
            self._custom,
            source=PostgresStreamSource(query),
            signal_source=PostgresSignalSource(query, config.publication_name if self._plugin == PGOUTPUT else None),
            offset=decision.offset,
            last=StoredOffset.parse(stored) if stored is not None else None,
            start=max(start, self._slot_at),
            sources=self._sources,
            bulk=self._bulk,
        )
        heartbeat = Heartbeat(config, sink, capture.topics.heartbeat(), self._context)
        self.cancellable = False
        LOG.info("streaming", slot=config.slot_name, plugin=self._plugin, publication=config.publication_name)
        await heartbeat.start(stack)
        if not isinstance(replication, BoundedReplication):
            self.starting.end()
        await run.run(stop, heartbeat)

    def _stream_settings(self) -> StreamSettings:
        config = self._config
        return StreamSettings(
            tombstones=config.tombstones_on_delete,
            skipped=frozenset(config.skipped_operations) - {"none"},
            headers=encode_headers(self._headers),
            key_change_headers=key_change_headers(self._headers),
            header_holds_document=self._context.conversion is not None,
            conversion_failure=config.event_converting_failure_handling_mode,
            processing_failure=config.event_processing_failure_handling_mode,
            form=event_form(config.emulation),
            pgoutput_names=self._plugin == PGOUTPUT,
            skip_unchanged=config.skip_messages_without_change,
        )


def _filtered(selection: Selection, tables: Sequence[CatalogTable]) -> list[CatalogTable]:
    """Return the captured tables. Call it in a thread, because there may be many patterns and tables."""
    selection.learn(tables)
    return [table for table in tables if selection.filters.captures(table.schema, table.table)]
