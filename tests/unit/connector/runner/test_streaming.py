"""What one run of the stream stores and confirms, with a server and an offset topic made by hand."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, cast

from connector.catalog.selection import Selection
from connector.config.connector_config import ConnectorConfig
from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.offsets import StoredOffset
from connector.delivery.progress import Progress
from connector.events.capture import Capture
from connector.events.stream_settings import StreamSettings
from connector.events.stream_source import StreamSource
from connector.io.kafka.sink import KafkaSink
from connector.io.kafka.topic_creation import TopicCreator
from connector.io.postgres.replication_connection import Replication
from connector.ports import JsonObject
from connector.record.json_converter import ConverterSettings
from connector.runner.context import TaskContext
from connector.runner.heartbeat import Heartbeat
from connector.runner.notifications.notifier import Notifier
from connector.runner.signaling.signals import SignalSources
from connector.runner.streaming import StreamRun
from connector.signals.inbox import SignalInbox
from connector.start.snapshotter import CustomSnapshot
from connector.types.codec import Column
from tests.support import wal_script
from tests.support.fake_signal_source import FakeSignalSource
from tests.support.stream_rig import INT4, TYPES, catalog_table, configured, relation_of
from tests.support.wal_script import WalScript
from tests.support.warned import no_warning

# Nothing of it is captured, so that no row needs a catalog or a broker.
OTHER = catalog_table("other", Column("id", INT4, not_null=True), primary_key=["id"])
CONFIG = configured(table_include_list="public.captured", status_update_interval_ms="3600000")


class Server:
    """A :class:`Replication` that sends the test's messages and records the confirmations."""

    def __init__(self) -> None:
        self._frames: asyncio.Queue[list[bytes]] = asyncio.Queue()
        self.until: asyncio.Queue[float] = asyncio.Queue()
        """Until when each burst waits for more frames."""
        self.confirmed: list[int] = []
        self.busy: asyncio.Event | None = None
        """Set when a confirmation comes, which the server then does not take; the next one it does."""

    def send(self, *frames: bytes) -> None:
        self._frames.put_nowait(list(frames))

    async def frames(self, most: int, most_bytes: int, until: float = 0.0) -> Sequence[bytes]:
        self.until.put_nowait(until)
        return await self._frames.get()

    async def confirm(self, written: int, flushed: int, now_ns: int) -> None:
        if self.busy is not None and not self.busy.is_set():
            self.busy.set()
            await asyncio.Event().wait()
        self.confirmed.append(flushed)


class Offsets:
    """An :class:`OffsetStore` that remembers where each stored offset starts."""

    def __init__(self, stored: JsonObject | None = None) -> None:
        self._stored = stored
        self.starts: asyncio.Queue[int] = asyncio.Queue()

    async def load(self, partition: JsonObject) -> JsonObject | None:
        return self._stored

    async def store(self, partition: JsonObject, offset: JsonObject | None) -> None:
        assert offset is not None
        self._stored = offset
        self.starts.put_nowait(StoredOffset.parse(offset).start)


class Sink(KafkaSink):
    """A fake that reports when the keeper of offsets has read it."""

    def __init__(self) -> None:
        super().__init__(KafkaSettings({}, {}), TopicCreator({}, {}, print))
        self.looks: asyncio.Queue[None] = asyncio.Queue()

    @property
    def reached(self) -> Any:
        self.looks.put_nowait(None)
        return super().reached

    async def looked_at(self) -> None:
        """Wait until what is reached now has been stored, if it is to be stored at all."""
        self.looks = asyncio.Queue()
        for _ in range(2):
            await self.looks.get()


class Run:
    def __init__(
        self,
        stored: JsonObject | None = None,
        start: int = 0,
        config: ConnectorConfig = CONFIG,
        progress: Progress | None = None,
        producer: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.server, self.offsets, self.sink = Server(), Offsets(stored), Sink()
        plain = ConverterSettings(schemas_enable=False)
        self.context = TaskContext(
            "rig",
            config.raw,
            plain,
            plain,
            KafkaSettings(producer, {}),
            self.offsets,
            progress or Progress(),
            print,
            offset_flush_interval=0.001,
        )
        offset = StoredOffset.parse(stored) if stored is not None else None
        self.run = StreamRun(
            self.context,
            config,
            Capture(Selection.of(config), TYPES, plain, plain, no_warning),
            self.sink,
            cast("Replication", self.server),
            StreamSettings(),
            Notifier(self.context, config, self.sink),
            CustomSnapshot(),
            source=cast("StreamSource", None),
            signal_source=FakeSignalSource([]),
            offset=offset,
            last=offset,
            start=start,
            sources=SignalSources(self.context, config),
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        stop = asyncio.Event()
        task = asyncio.create_task(self.run.run(stop, Heartbeat(CONFIG, self.sink, "heartbeat", self.context)))
        try:
            async with asyncio.timeout(10):
                yield
        finally:
            stop.set()
            await task


def committed(wal: WalScript) -> int:
    """A transaction without captured changes; its end."""
    wal.begin()
    return wal.commit()


async def test_a_keepalive_s_position_is_not_overwritten_by_the_commit_before_it() -> None:
    rig, wal = Run(), WalScript()
    end = committed(wal)
    async with rig.running():
        rig.server.send(*wal.take())
        assert await rig.offsets.starts.get() == end
        rig.server.send(wal_script.keepalive(end + 1000, reply=True))
        assert await rig.offsets.starts.get() == end + 1000
        # The server writes on, in another database, and asks for nothing.
        rig.server.send(wal_script.keepalive(end + 2000))
        await rig.sink.looked_at()
        assert rig.offsets.starts.empty()
    assert await rig.offsets.starts.get() == end + 2000
    assert rig.server.confirmed[-1] == end + 2000


async def test_a_burst_without_events_lets_no_later_one_wait() -> None:
    rig, wal = Run(producer={"linger.ms": "60000"}), WalScript()
    async with rig.running():
        committed(wal)
        rig.server.send(*wal.take())
        assert [await rig.server.until.get() for _ in range(2)] == [-math.inf, -math.inf]


async def test_no_burst_waits_for_more_by_default() -> None:
    rig, wal = Run(), WalScript()
    async with rig.running():
        committed(wal)
        rig.server.send(*wal.take())
        assert [await rig.server.until.get() for _ in range(2)] == [0.0, 0.0]


async def test_a_transaction_that_is_half_sent_after_a_keepalive_leaves_the_offset_there() -> None:
    rig, wal = Run(), WalScript()
    end = committed(wal)
    async with rig.running():
        rig.server.send(*wal.take())
        assert await rig.offsets.starts.get() == end
        rig.server.send(wal_script.keepalive(end + 1000, reply=True))
        assert await rig.offsets.starts.get() == end + 1000
        wal.begin()
        wal.relation(relation_of(OTHER))
        wal.insert(relation_of(OTHER), "1", lsn=end + 10)
        rig.server.send(*wal.take())
        assert await rig.offsets.starts.get() == end + 1000
    assert max(rig.server.confirmed) == end + 1000


async def test_a_keepalive_of_before_the_stored_offset_does_not_set_it_back() -> None:
    stored = {"lsn": 500, "lsn_proc": 500, "lsn_commit": 400, "messageType": "COMMIT"}
    rig = Run(stored, start=500)
    async with rig.running():
        # The slot was not confirmed up to the offset before the worker ended.
        rig.server.send(wal_script.keepalive(450, reply=True))
        await rig.sink.looked_at()
        assert rig.offsets.starts.empty()
        rig.server.send(wal_script.keepalive(600, reply=True))
        assert await rig.offsets.starts.get() == 600
    assert min(rig.server.confirmed) == 500


async def test_a_run_that_is_stopped_between_offset_and_confirmation_confirms_at_its_end() -> None:
    rig, wal = Run(), WalScript()
    rig.server.busy = asyncio.Event()
    end = committed(wal)
    async with rig.running():
        rig.server.send(*wal.take())
        assert await rig.offsets.starts.get() == end
        await rig.server.busy.wait()
        assert rig.server.confirmed == []
    assert rig.server.confirmed == [end]


async def test_a_run_confirms_nothing_twice_at_its_end() -> None:
    rig, wal = Run(), WalScript()
    end = committed(wal)
    async with rig.running():
        rig.server.send(*wal.take())
        assert await rig.offsets.starts.get() == end
        await rig.sink.looked_at()
        assert rig.server.confirmed == [end]
    assert rig.server.confirmed == [end]


class SeenProgress(Progress):
    """Sets ``begun`` when the phase becomes ``streaming``, and remembers whether signals by REST are accepted then."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "phase" and value == "streaming":
            self.accepts = self.signals.channel == "http"
            self.begun.set()

    def watch(self, signals: SignalInbox) -> None:
        self.signals, self.accepts, self.begun = signals, False, asyncio.Event()


async def test_a_run_that_shows_that_it_streams_accepts_signals_by_rest() -> None:
    progress = SeenProgress()
    run = Run(config=configured(signal_enabled_channels="http"), progress=progress)
    progress.watch(run.context.signals)
    async with run.running():
        await progress.begun.wait()
    assert progress.accepts
