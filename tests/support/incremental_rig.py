"""An incremental snapshot without servers: the runner and the stream are real; the reader of chunks, the sink and the catalog are not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from connector.incremental.state import Collection
from connector.notifications.notification import Notification
from connector.record.batch import NO_HEADERS
from connector.runner.incremental import IncrementalRun
from connector.runner.notifications.notifier import Notifier

from .chunk_tables import SIGNALS, TABLES
from .fake_chunk_reader import FakeChunkReader
from .recording_sink import RecordingSink
from .stream_rig import StreamRig, configured
from .task_context import task_context

ROWS: Final = {"a": {1: "v", 2: "v", 3: "v"}, "b": {1: "v", 2: "v"}}
"""The tables as every test finds them."""
SECONDS: Final = 10.0
"""How long a test waits for an event that must come at once."""


class IncrementalRig:
    """One run of the stream. ``offset`` is what an earlier one stored; ``read_only`` without watermarks.

    The stream brings each watermark as soon as it is written, unless ``by_hand``: then tests call ``run.window_opens`` and
    ``run.window_closes``.
    """

    def __init__(
        self,
        tables: Mapping[str, Mapping[int, str]] | None = None,
        *,
        offset: Mapping[str, object] | None = None,
        read_only: bool = False,
        by_hand: bool = False,
        **properties: str,
    ) -> None:
        self.config = configured(
            signal_data_collection="public.sig",
            read_only=str(read_only).lower(),
            notification_enabled_channels="jmx",
            incremental_snapshot_chunk_size=properties.pop("rows", "2"),
            **properties,
        )
        self.stream_rig = StreamRig(*TABLES.values(), SIGNALS, config=self.config)
        self.reader = FakeChunkReader(ROWS if tables is None else tables)
        self.sink = RecordingSink()
        self.notifications: list[Notification] = []
        self.context = task_context(self.config, notify=self.notifications.append)
        self.stored_ends: asyncio.Queue[None] = asyncio.Queue()
        """One for each time that the end of a snapshot was to be stored."""
        self.windows: asyncio.Queue[None] = asyncio.Queue()
        """One for each second watermark that the stream has brought."""
        self._by_hand = by_hand or read_only
        self.run = IncrementalRun(
            self.context,
            self.config,
            self.stream_rig.capture,
            self.sink.as_sink,
            self.stream_rig.stream,
            Notifier(self.context, self.config, self.sink.as_sink),
            headers=NO_HEADERS,
            ended=self._ended,
            reader=self.reader,
        )
        self.run.resume(offset or {})
        self.task: asyncio.Task[None] | None = None

    async def _ended(self) -> None:
        self.stored_ends.put_nowait(None)

    def ask(self, *tables: str, id: str = "s") -> None:  # noqa: A002 (the signal's own word)
        """The signal execute-snapshot for these tables."""
        self.run.add([Collection(f"public.{table}") for table in tables], id)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read chunks meanwhile; a failure of the reader is raised at the end, unless the test has taken it."""
        self.task = asyncio.create_task(self.run.run())
        stream = [] if self._by_hand else [asyncio.create_task(self._bring(opening=opening)) for opening in (True, False)]
        try:
            async with asyncio.timeout(SECONDS):
                yield
        finally:
            for task in (*stream, self.task):
                task.cancel()
            await asyncio.gather(*stream, self.task, return_exceptions=True)

    async def _bring(self, *, opening: bool) -> None:
        queue = self.reader.opened if opening else self.reader.closed
        while True:
            chunk_id = await queue.get()
            if opening:
                self.run.window_opens(chunk_id)
            else:
                self.run.window_closes(chunk_id)
                self.windows.put_nowait(None)

    async def end(self) -> None:
        """Wait until a snapshot has ended and that was to be stored."""
        await self.stored_ends.get()

    async def failure(self) -> BaseException:
        """Wait until the reader has failed, and with what."""
        assert self.task is not None
        await asyncio.wait([self.task])
        error = self.task.exception()
        assert error is not None
        return error

    def keys(self, table: str) -> list[int]:
        """Keys of the rows that were sent, in their order."""
        return [sent.payload["after"]["id"] for sent in self.sink.sent.get(f"srv.public.{table}", [])]

    @property
    def reported(self) -> list[str]:
        """Types of the notifications, in their order; a table's end with its status."""
        found = []
        for notification in self.notifications:
            data = notification.additional_data or {}
            found.append(" ".join([notification.type, *(data[name] for name in ("scanned_collection", "status") if name in data)]))
        return found
