"""A task's life: look, decide, snapshot, stream, end in order.

Order on every path: Kafka's acknowledgement, then the offset in Kafka, then the slot.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from connector.bulk import BulkReader
from connector.capture import Capture, context_headers, key_change_headers
from connector.config import ConnectorConfig, parse
from connector.envelope import event_form
from connector.errors import CdcError, ErrorKind
from connector.filters import BUILTIN_SCHEMAS
from connector.guardrail import check_guardrail
from connector.idle_rules import idle_rules, needs_columns
from connector.io import pg_catalog, pg_server
from connector.io.kafka_sink import KafkaSink
from connector.io.pg_connection import Connection, connect
from connector.io.pg_publication import ensure_publication
from connector.io.pg_replica_identity import set_replica_identities
from connector.io.pg_replication import CreatedSlot, Replication
from connector.lsn import format_lsn
from connector.offsets import StoredOffset, partition
from connector.output_plugin import DECODERBUFS, PGOUTPUT, PLUGINS, adapter, start_options
from connector.ports import TaskContext
from connector.reconcile import FROM_SLOT, FROM_SNAPSHOT, Decision, SlotState, decide
from connector.record_batch import encode_headers
from connector.runner.catch_up import BoundedReplication
from connector.runner.custom_snapshot import custom_snapshot, decided_by, tell_aborted
from connector.runner.exactly_once import open_sink
from connector.runner.heartbeat import Heartbeat
from connector.runner.notifier import Notifier
from connector.runner.plugin_frames import PluginFrames
from connector.runner.signals import SignalSources
from connector.runner.snapshot import SnapshotPoint, SnapshotRun
from connector.runner.snapshot_notices import SnapshotNotices
from connector.runner.streaming import StreamRun
from connector.snapshot import SnapshotMode
from connector.stream import StreamSettings
from connector.table import CatalogTable

_log = logging.getLogger(__name__)

_SLOT_RETRY_S = 0.25
"""How soon a busy slot is asked for again while its last walsender may still be ending."""
_SLOT_LOOK_S = 0.5
"""How often a slot that stays busy is looked at, within slot.retry.delay.ms."""
_UNKNOWN_OPTION: Final = "22023"
"""SQLSTATE of an output plugin's answer to an option it does not have."""


async def run_task(context: TaskContext, stop: asyncio.Event, bulk: BulkReader | None = None) -> None:
    """Run until ``stop`` is set (then end in order, within about a second) or the work is done (initial_only).

    ``bulk`` reads the rows of snapshots on demand that are to be read in bulk. Raises CdcError; its kind says whether to try again.
    The context's offsets and progress are kept current.
    """
    task = _Task(context, _parsed(context), bulk)
    work = asyncio.create_task(task.run(stop), name=f"run {context.connector}")
    stopped = asyncio.create_task(stop.wait(), name=f"stop {context.connector}")
    try:
        await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            # Streaming ends by itself at the next burst; everything before it is abandoned, to begin again at the next start.
            if not task.streaming:
                work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work
        else:
            work.result()
    finally:
        for pending in (work, stopped):
            pending.cancel()
        await asyncio.gather(work, stopped, return_exceptions=True)
        context.progress.phase = "stopped"


async def take_initial_snapshot(context: TaskContext, bulk: BulkReader) -> None:
    """Take the initial snapshot of a connector that does not run, and store its end: the connector will stream from there.

    Publication and slot are made as at the connector's own start, and stay. What broke off before is begun again, by the same rules
    (:mod:`connector.reconcile`): streaming will then begin where the slot stands. Raises CdcError, CdcError(CONFIG_INVALID) when the
    stored offset or the configuration asks for no snapshot.
    """
    try:
        await _Task(context, _parsed(context), bulk).take_initial_snapshot()
    finally:
        context.progress.phase = "stopped"


def _parsed(context: TaskContext) -> ConnectorConfig:
    config, notices = parse(context.config)
    for notice in notices:
        _log.warning("configuration %s", notice)
    return config


class _Task:
    def __init__(self, context: TaskContext, config: ConnectorConfig, bulk: BulkReader | None = None) -> None:
        self._context = context
        self._bulk = bulk
        self._config = config
        self._custom = custom_snapshot(config, context.plugins)
        self._sources = SignalSources(context, config)
        self._plugin = config.plugin_name or DECODERBUFS
        self._exporting: Replication | None = None
        """Has the temporary slot whose snapshot is read."""
        self._slot_at = 0
        """Where the slot stood at the start: it sends nothing that ended before."""
        self._plugin_open = False
        """Nothing says which output plugin it must be, so that pgoutput may take the default's place."""
        self.streaming = False
        self._notifier: Notifier

    async def run(self, stop: asyncio.Event) -> None:
        config = self._config
        async with contextlib.AsyncExitStack() as stack:
            # With exactly-once delivery first of all: what is read from here on, former producers can no longer change.
            fenced = await self._open_sink(stack) if self._context.exactly_once is not None else None
            query = await self._query(stack)
            decision, facts = await self._decide(query)
            capture = await self._capture(query)
            sink = fenced or await self._open_sink(stack)
            self._notifier = Notifier(self._context, config, sink)
            replication, created = await self._prepare(stack, query, capture, decision, facts)
            start = decision.start
            if decision.catch_up:
                if created is not None:
                    await self._catch_up(stop, sink, capture, query, decision, created.consistent_point)
                    if stop.is_set():
                        return
                    self.streaming = False
                decision = replace(decision, offset=None)
            if decision.snapshot:
                point = await self._snapshot(query, sink, capture, decision, created)
                start = point.stream_from
                if self._exporting is not None:
                    # Its temporary slot would hold back WAL as long as the stream runs.
                    await self._exporting.close()
            else:
                self._notifier.send(self._notifier.initial.skipped())
                if decision.stream and start == FROM_SNAPSHOT:
                    # No offset is stored yet, as in the reference: until the first event the slot alone knows where to go on.
                    start = created.consistent_point if created else FROM_SLOT
            if replication is None:
                self._context.progress.phase = "idle"
                _log.info("snapshot only: nothing more to do")
                await stop.wait()
                return
            if decision.advance_slot:
                await pg_server.advance_slot(query, config.slot_name, decision.advance_slot)
            await self._stream(stack, stop, replication, sink, capture, query, decision, start)
            if config.slot_drop_on_stop:
                await replication.close()
                await _drop_when_free(query, config.slot_name)

    async def take_initial_snapshot(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            query = await self._query(stack)
            decision, facts = await self._decide(query)
            if not decision.snapshot or decision.catch_up or self._config.snapshot_mode == "always":
                raise CdcError(
                    ErrorKind.CONFIG_INVALID,
                    f"No initial snapshot is to be taken: {decision.why} (snapshot.mode={self._config.snapshot_mode})",
                    "Remove the offsets of the stopped connector and use snapshot.mode=initial, or send the running one a signal",
                )
            capture = await self._capture(query)
            sink = await self._open_sink(stack)
            self._notifier = Notifier(self._context, self._config, sink)
            _replication, created = await self._prepare(stack, query, capture, decision, facts)
            await self._snapshot(query, sink, capture, decision, created, self._bulk)

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
        capture = Capture(config, types, context.key_converter, context.value_converter, _log.warning, context.plugins, context.backtrack)
        listed = await pg_catalog.list_tables(query)
        captured = await asyncio.to_thread(_captured, capture, listed)
        if config.guardrail_collections_max:
            check_guardrail(config, len(captured), _log.warning)
        described = await pg_catalog.describe_tables(query, captured) if needs_columns(config) else captured
        names = [(table.schema, table.table) for table in listed if table.schema not in BUILTIN_SCHEMAS]
        for rule in await asyncio.to_thread(idle_rules, config, names, described, types, capture.backtrack):
            _log.warning("rule matches nothing property=%s: %s", rule.key, rule.text)
        return capture

    async def _prepare(
        self, stack: contextlib.AsyncExitStack, query: Connection, capture: Capture, decision: Decision, facts: pg_server.ServerFacts
    ) -> tuple[Replication | None, CreatedSlot | None]:
        """Publication, replica identities and slot, where the decision is to stream."""
        if not decision.stream:
            return None, None
        if self._plugin == PGOUTPUT:
            await self._publication(query, capture)
        await set_replica_identities(
            query, self._config.replica_identities, capture.tables.captures, self._config.database_dbname, capture.backtrack
        )
        if decision.drop_slot:
            await pg_server.drop_slot(query, self._config.slot_name)
        return await self._slot(stack, query, capture, decision, facts)

    async def _decide(self, query: Connection) -> tuple[Decision, pg_server.ServerFacts]:
        config = self._config
        stored = await self._context.offsets.load(partition(config.topic_prefix))
        offset = StoredOffset.parse(stored) if stored is not None else None
        known = None if self._custom.decides else self._mode()
        slot: SlotState | None = None
        if known is None or known.stream:
            slot = await pg_server.slot_state(query, config.slot_name)
        self._slot_at = slot.confirmed if slot is not None else 0
        mode = self._custom.mode(offset, slot, former=config.version < (3,)) if known is None else known
        facts = await pg_server.server_facts(query, streams=mode.stream)
        if config.plugin_name is None and slot is not None and slot.plugin in PLUGINS:
            self._plugin = slot.plugin
        self._plugin_open = config.plugin_name is None and slot is None
        checked = config.internal_log_position_check_enable
        decision = decide(mode, slot, offset, config.offset_mismatch_strategy, self._plugin, check_position=checked)
        _log.info("start decided why=%s snapshot=%s stream=%s", decision.why, decision.snapshot, decision.stream)
        if decision.unsent is not None:
            offset_lsn, slot_lsn = decision.unsent
            _log.warning(
                "slot is ahead of the stored offset slot=%s offset=%s slot_position=%s bytes=%d: the server sends nothing that was"
                " committed between the two; changes of captured tables, if there were any, are missing until a new snapshot is taken",
                config.slot_name,
                format_lsn(offset_lsn),
                format_lsn(slot_lsn),
                slot_lsn - offset_lsn,
            )
        return decision, facts

    def _mode(self) -> SnapshotMode:
        config = self._config
        return SnapshotMode.of(
            decided_by(config),
            based_on={
                "data": config.snapshot_mode_configuration_based_snapshot_data,
                "stream": config.snapshot_mode_configuration_based_start_stream,
                "on_data_error": config.snapshot_mode_configuration_based_snapshot_on_data_error,
            },
        )

    async def _open_sink(self, stack: contextlib.AsyncExitStack) -> KafkaSink:
        sink, self._context = await open_sink(self._context, self._config, stack)
        return sink

    async def _publication(self, query: Connection, capture: Capture) -> None:
        config = self._config
        captured = [
            (table.schema, table.table) for table in await pg_catalog.list_tables(query) if capture.captures(table.schema, table.table)
        ]
        await ensure_publication(
            query,
            config.publication_name,
            config.publication_autocreate_mode,
            captured,
            via_root=config.publish_via_partition_root,
            skipped=config.skipped_operations if "skipped.operations" in config.raw else None,
            timeout_s=config.internal_create_slot_command_timeout,
        )

    async def _slot(
        self,
        stack: contextlib.AsyncExitStack,
        query: Connection,
        capture: Capture,
        decision: Decision,
        facts: pg_server.ServerFacts,
    ) -> tuple[Replication, CreatedSlot | None]:
        """The replication connection; with it the slot when it is made now, else a temporary one for its exact snapshot."""
        config = self._config
        replication = await self._replication(stack)
        timeout = config.internal_create_slot_command_timeout
        if decision.create_slot:
            failover = config.slot_failover and facts.version >= 170000 and not facts.standby
            try:
                created = await replication.create_slot(config.slot_name, self._plugin, failover=failover, timeout_s=timeout)
            except CdcError as error:
                # Servers since 2026 say that such a library may not be an output plugin, older ones that there is no such file.
                if not self._plugin_open or error.kind not in (ErrorKind.SOURCE_OBJECT_MISSING, ErrorKind.SOURCE_PERMISSION):
                    raise
                _log.info("the server has or allows no output plugin %s: %s is used slot=%s", self._plugin, PGOUTPUT, config.slot_name)
                self._plugin = PGOUTPUT
                await self._publication(query, capture)
                created = await replication.create_slot(config.slot_name, PGOUTPUT, failover=failover, timeout_s=timeout)
            _log.info("slot created slot=%s plugin=%s", created.name, self._plugin)
            return replication, created
        if decision.snapshot and decision.start == FROM_SNAPSHOT:
            # Only a slot's exported snapshot ends exactly where a stream can begin: a position read beside a snapshot
            # misses transactions that are written but not yet visible.
            exporting = self._exporting = await self._replication(stack)
            name = f"understudy_{uuid.uuid4().hex[:20]}"
            try:
                return replication, await exporting.create_slot(name, PGOUTPUT, temporary=True, timeout_s=timeout)
            except CdcError as error:
                if error.kind is not ErrorKind.SOURCE_SETTING:
                    raise
                _log.warning("no slot free for an exact snapshot: changes since slot=%s are sent again after it", config.slot_name)
        return replication, None

    async def _replication(self, stack: contextlib.AsyncExitStack) -> Replication:
        replication = Replication(await connect(self._config, "Understudy Streaming", replication=True))
        stack.push_async_callback(replication.close)
        return replication

    async def _snapshot(
        self,
        query: Connection,
        sink: KafkaSink,
        capture: Capture,
        decision: Decision,
        created: CreatedSlot | None,
        bulk: BulkReader | None = None,
    ) -> SnapshotPoint:
        config = self._config
        if config.snapshot_delay_ms:
            _log.info("snapshot delayed ms=%d", config.snapshot_delay_ms)
            await asyncio.sleep(config.snapshot_delay_ms / 1000)
        broken_off = decision.stream and created is None
        slot = await pg_server.slot_state(query, config.slot_name) if broken_off else None
        run = SnapshotRun(
            self._context,
            config,
            capture,
            sink,
            headers=encode_headers(self._headers),
            stream_from=slot.confirmed if slot else None,
            notices=SnapshotNotices(self._notifier, config),
            custom=self._custom,
            bulk=bulk,
        )
        try:
            point = await run.run(created.snapshot if created else None, created.consistent_point if created else None)
        except BaseException:
            tell_aborted(self._custom)
            await self._notifier.send_last(self._notifier.initial.aborted())
            raise
        self._custom.completed()
        if decision.stream and config.streaming_delay_ms:
            _log.info("streaming delayed ms=%d", config.streaming_delay_ms)
            await asyncio.sleep(config.streaming_delay_ms / 1000)
        return point

    async def _catch_up(
        self, stop: asyncio.Event, sink: KafkaSink, capture: Capture, query: Connection, decision: Decision, until: int
    ) -> None:
        """Stream from the offset up to what the snapshot holds, or until ``stop``."""
        _log.info("catching up before the snapshot from=%d until=%d", decision.catch_up, until)
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
        sink: KafkaSink,
        capture: Capture,
        query: Connection,
        decision: Decision,
        start: int,
    ) -> None:
        config = self._config
        reader = adapter(self._plugin, query.info.parameter_status("server_encoding") or "UTF8")
        if reader is not None:
            replication.translate = PluginFrames(reader, query).translate
        choices = start_options(self._plugin, query.info.server_version, config.publication_name, config.slot_stream_options)
        for last, options in enumerate(choices, start=1):
            try:
                await self._start_replication(query, replication, start, options)
            except CdcError as error:
                if last == len(choices) or _UNKNOWN_OPTION not in error.detail:
                    raise
            else:
                break
        settings = StreamSettings(
            tombstones=config.tombstones_on_delete,
            skipped=frozenset(config.skipped_operations) - {"none"},
            headers=encode_headers(self._headers),
            key_change_headers=key_change_headers(self._headers),
            conversion_failure=config.event_converting_failure_handling_mode,
            processing_failure=config.event_processing_failure_handling_mode,
            form=event_form(config.version),
            pgoutput_names=self._plugin == PGOUTPUT,
            skip_unchanged=config.skip_messages_without_change,
        )
        stored = await self._context.offsets.load(partition(config.topic_prefix))
        run = StreamRun(
            self._context,
            config,
            capture,
            sink,
            query,
            replication,
            settings,
            self._notifier,
            self._custom,
            offset=decision.offset,
            last=StoredOffset.parse(stored) if stored is not None else None,
            start=max(start, self._slot_at),
            publication=config.publication_name if self._plugin == PGOUTPUT else None,
            sources=self._sources,
            bulk=self._bulk,
        )
        heartbeat = Heartbeat(config, sink, capture.topics.heartbeat(), self._context)
        self.streaming = True
        self._context.progress.phase = "streaming"
        _log.info("streaming slot=%s plugin=%s publication=%s", config.slot_name, self._plugin, config.publication_name)
        await heartbeat.start(stack)
        await run.run(stop, heartbeat)

    async def _start_replication(self, query: Connection, replication: Replication, start: int, options: dict[str, str]) -> None:
        """Ask again while the slot is busy: first as fast as a dying walsender ends, then when it is free, or as the configuration says.

        A walsender whose network was cut keeps the slot for wal_sender_timeout, a minute by default.
        """
        config = self._config
        quick = 20
        for attempt in range(quick + config.slot_max_retries + 1):
            try:
                await replication.start(config.slot_name, start, options)
            except CdcError as error:
                if error.kind is not ErrorKind.SLOT_BUSY or attempt == quick + config.slot_max_retries:
                    raise
                if attempt == quick:
                    _log.warning("slot busy slot=%s told=%s", config.slot_name, error.message)
                if attempt < quick:
                    await asyncio.sleep(_SLOT_RETRY_S)
                else:
                    await _until_free(query, config.slot_name, config.slot_retry_delay_ms / 1000)
            else:
                return


def _captured(capture: Capture, tables: Sequence[CatalogTable]) -> list[CatalogTable]:
    """Run in a thread: patterns and tables may be many."""
    capture.tables.learn((table.schema, table.table) for table in tables)
    return [table for table in tables if capture.tables.captures(table.schema, table.table)]


async def _until_free(query: Connection, slot: str, seconds: float) -> None:
    """Wait until nobody uses the slot, or for so many seconds."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        await asyncio.sleep(min(_SLOT_LOOK_S, left))
        state = await pg_server.slot_state(query, slot)
        if state is None or not state.active:
            return


async def _drop_when_free(query: Connection, slot: str) -> None:
    for _ in range(20):
        state = await pg_server.slot_state(query, slot)
        if state is None:
            return
        if not state.active:
            await pg_server.drop_slot(query, slot)
            return
        await asyncio.sleep(0.05)
    _log.warning("slot not dropped: still in use slot=%s", slot)
