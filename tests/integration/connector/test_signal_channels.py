"""Signals and notifications through every channel, on a real Kafka, a real file and a running worker."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, ClassVar, Self

import httpx
import pytest
from aiokafka import AIOKafkaProducer

from connector.config.connector_config import ConnectorConfig
from connector.errors import CdcError, ErrorKind
from connector.notifications.custom_channel import NotificationChannel
from connector.notifications.notification import Notification
from connector.plugins.allowed import AllowedPlugins
from connector.runner.context import TaskContext
from connector.runner.notifications.notifier import Notifier
from connector.runner.signaling.signal_channels import SignalChannels
from connector.signals.custom_channel import SignalChannel
from connector.signals.signal import ExecuteSnapshot, Signal, read_signal
from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from tests.support.log_line import log_line, log_text
from tests.support.project import DOCS
from tests.support.task_context import shop_config, task_context
from tests.support.topics import read_to_end
from workers.quickstart.embedded.wait import wait_until

EVENTS = "text/event-stream"


PLUGINS = AllowedPlugins.parse(f"custom_channels, no_such_module, {__name__}")


def context_of(**properties: str) -> tuple[TaskContext, ConnectorConfig]:
    config = shop_config(**{"signal_poll_interval_ms": "50", **properties})
    return task_context(config, signal_directory="/", plugins=PLUGINS), config


class Channels:
    """The channels of a configuration, open, and what they bring."""

    def __init__(self, **properties: str) -> None:
        self.arrived: asyncio.Queue[Signal] = asyncio.Queue()
        self.context, config = context_of(**properties)
        self._channels = SignalChannels(self.context, config, self.arrived.put_nowait)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._channels.start(self._stack)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def next(self) -> Signal:
        async with asyncio.timeout(SECONDS):
            return await self.arrived.get()


async def send(bootstrap: str, topic: str, *records: tuple[bytes | None, bytes | None]) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    try:
        for key, value in records:
            await producer.send_and_wait(topic, value, key, partition=0)
    finally:
        await producer.stop()


def signal(number: str) -> bytes:
    return json.dumps({"id": number, "type": "log", "data": {"message": "x"}}).encode()


class Broken(logging.Handler):
    """Waits for the word that a channel is broken."""

    def __init__(self, channel: str) -> None:
        super().__init__()
        self._wanted = f"signal channel broken, trying again channel={channel} "
        self._reported = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self._wanted in log_line(record):
            self._reported.set()

    async def wait(self) -> None:
        async with asyncio.timeout(SECONDS):
            await self._reported.wait()

    def __enter__(self) -> Self:
        logging.getLogger("connector.runner.signaling.signal_channels").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("connector.runner.signaling.signal_channels").removeHandler(self)


async def test_kafka(kafka_bootstrap: str, caplog: pytest.LogCaptureFixture) -> None:
    name = f"signals-{uuid.uuid4().hex[:12]}"
    properties = {
        "signal_enabled_channels": "kafka",
        "signal_kafka_topic": name,
        "signal_kafka_bootstrap_servers": kafka_bootstrap,
        "signal_kafka_groupId": name,
    }
    async with Channels(**properties) as channels:
        # Neither topic nor group exist yet.
        await send(kafka_bootstrap, name, (b"shop", signal("s1")), (b"other", signal("s2")), (b"shop", b"secret"), (b"shop", signal("s3")))
        first, second = await channels.next(), await channels.next()
    assert first == Signal("s1", "log", '{"message": "x"}', "kafka", {"channelOffset": 0})
    assert (second.id, second.additional) == ("s3", {"channelOffset": 3})
    assert "offset=2 reason=it is not JSON" in log_text(caplog.records)
    assert "secret" not in log_text(caplog.records)
    # While nobody listens.
    await send(kafka_bootstrap, name, (b"shop", signal("s4")))
    async with Channels(**properties) as channels:
        # The last burst was handed over but perhaps not committed: a signal may come twice, and none is lost.
        while (again := await channels.next()).id != "s4":
            assert again.id in {"s1", "s3"}
        await send(kafka_bootstrap, name, (b"shop", signal("s5")))
        assert (await channels.next()).id == "s5"


async def test_a_topic_that_was_read_is_not_read_again(kafka_bootstrap: str) -> None:
    name = f"signals-{uuid.uuid4().hex[:12]}"
    properties = {
        "signal_enabled_channels": "kafka",
        "signal_kafka_topic": name,
        "signal_kafka_bootstrap_servers": kafka_bootstrap,
        "signal_kafka_groupId": name,
    }
    await send(kafka_bootstrap, name, (b"shop", signal("s1")))
    async with Channels(**properties) as channels:
        assert (await channels.next()).id == "s1"
        # The second burst is asked for once the first is committed.
        await send(kafka_bootstrap, name, (b"shop", signal("s2")))
        assert (await channels.next()).id == "s2"
    async with Channels(**properties) as channels:
        await send(kafka_bootstrap, name, (b"shop", signal("s3")))
        seen = [(await channels.next()).id]
        while seen[-1] != "s3":
            seen.append((await channels.next()).id)
    assert "s1" not in seen


async def test_a_kafka_that_is_away_harms_nothing(tmp_path: Path) -> None:
    path = tmp_path / "signals"
    channels = Channels(signal_enabled_channels="kafka,file", signal_kafka_bootstrap_servers="127.0.0.1:1", signal_file=str(path))
    with Broken("kafka") as broken:
        async with channels:
            path.write_bytes(signal("f1"))
            assert (await channels.next()).id == "f1"
            await broken.wait()


async def test_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "signals"
    async with Channels(signal_enabled_channels="file", signal_file=str(path)) as channels:
        path.write_bytes(b'{"id":"f0","type":"log","data":"secret"}\n' + signal("f1") + b"\n\n" + signal("f2"))
        assert [(await channels.next()).id, (await channels.next()).id] == ["f1", "f2"]
        assert path.read_bytes() == b""
        path.unlink()
        path.mkdir()
        with Broken("file") as broken:
            await broken.wait()
        path.rmdir()
        path.write_bytes(signal("f3"))
        assert (await channels.next()).id == "f3"
    assert "signal ignored channel=file" in log_text(caplog.records)
    assert "secret" not in log_text(caplog.records)


async def test_rest() -> None:
    async with Channels(signal_enabled_channels="source,jmx") as channels:
        assert channels.context.signals.offer(Signal("s1", "log", None, "jmx"))
        assert (await channels.next()).id == "s1"
    assert not channels.context.signals.offer(Signal("s2", "log", None, "jmx"))
    async with Channels() as channels:
        assert not channels.context.signals.offer(Signal("s3", "log", None, "jmx"))


class Counting(SignalChannel):
    """A channel that fails after its first signal, and continues at the next call."""

    def __init__(self) -> None:
        self.count = 0
        self.file = ""

    def configure(self, properties: Mapping[str, str]) -> None:
        self.file = properties["signal.file"]

    async def signals(self) -> AsyncIterator[Signal]:
        self.count += 1
        yield Signal(f"{self.file}-{self.count}", "log", None, "counting")
        raise RuntimeError("secret")


class Collecting(NotificationChannel):
    taken: ClassVar[list[str]] = []

    def configure(self, properties: Mapping[str, str]) -> None:
        self.taken.append(properties["topic.prefix"])

    def send(self, notification: Notification) -> None:
        self.taken.append(notification.type)
        raise RuntimeError("secret")


@pytest.fixture
def custom(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(sys.modules, "custom_channels", sys.modules[__name__])
    return "custom_channels"


async def test_a_channel_of_the_user_s(custom: str, caplog: pytest.LogCaptureFixture) -> None:
    async with Channels(signal_enabled_channels=f"{custom}:Counting", signal_file="mine") as channels:
        assert [(await channels.next()).id for _ in range(3)] == ["mine-1", "mine-2", "mine-3"]
    assert "reason=RuntimeError" in log_text(caplog.records)
    assert "secret" not in log_text(caplog.records)


@pytest.mark.parametrize("name", ["nowhere", "in-process", "com.example.Channel"])
def test_a_channel_that_the_reference_would_pass_over_has_no_effect(name: str, caplog: pytest.LogCaptureFixture) -> None:
    Channels(signal_enabled_channels=f"source,{name}")
    context, config = context_of(notification_enabled_channels=f"log,{name}")
    Notifier(context, config, None)  # type: ignore[arg-type]
    assert [f"channel={name}" in log_line(record) for record in caplog.records] == [True, True]


@pytest.mark.parametrize("name", ["no_such_module:Class", "custom_channels:Lost", "email:message"])
def test_a_python_class_that_is_nowhere(name: str) -> None:
    with pytest.raises(CdcError, match=r"signal\.enabled\.channels") as refusal:
        Channels(signal_enabled_channels=name)
    assert refusal.value.kind is ErrorKind.CONFIG_INVALID
    context, config = context_of(notification_enabled_channels=name)
    with pytest.raises(CdcError, match=r"notification\.enabled\.channels"):
        Notifier(context, config, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("properties", "reported"),
    [
        ({"signal_enabled_channels": "kafka"}, "signal.kafka.bootstrap.servers"),
        ({"notification_enabled_channels": "sink,log"}, "notification.sink.topic.name"),
        ({"notification_enabled_channels": "sink"}, "notification.sink.topic.name"),
    ],
)
def test_configurations_that_are_refused(properties: dict[str, str], reported: str) -> None:
    with pytest.raises(CdcError) as refusal:
        context_of(**properties)
    assert reported in refusal.value.message


def test_a_consumer_s_settings_that_cannot_be_used() -> None:
    for setting in ("security_protocol", "fetch_min_bytes"):
        with pytest.raises(CdcError) as refusal:
            Channels(signal_enabled_channels="kafka", signal_kafka_bootstrap_servers="127.0.0.1:1", **{f"signal_consumer_{setting}": "x"})
        assert refusal.value.kind is ErrorKind.CONFIG_INVALID
        assert setting.replace("_", ".") in refusal.value.message


def test_notifications_to_log_and_a_channel_of_the_user_s(custom: str, caplog: pytest.LogCaptureFixture) -> None:
    context, config = context_of(notification_enabled_channels=f"log,{custom}:Collecting")
    notifier = Notifier(context, config, None, new_id=lambda: "n1", now_ms=lambda: 7)  # type: ignore[arg-type]
    with caplog.at_level("INFO"):
        notifier.send(notifier.initial.started())
    assert sys.modules[custom].Collecting.taken == ["shop", "STARTED"]
    assert "notification aggregate=Initial Snapshot type=STARTED id=n1 data={'connector_name': 'shop'}" in log_text(caplog.records)
    assert "notification channel failed" in log_text(caplog.records)
    assert "secret" not in log_text(caplog.records)


def test_notifications_of_2_3_4(caplog: pytest.LogCaptureFixture) -> None:
    context, config = context_of(notification_enabled_channels="log", connector_plugin_version="2.3.4.Final")
    notifier = Notifier(context, config, None, new_id=lambda: "n1")  # type: ignore[arg-type]
    with caplog.at_level("INFO"):
        notifier.send(notifier.initial.started())
        notifier.send(notifier.initial.completed())
    assert [log_line(record) for record in caplog.records] == [
        "notification aggregate=Initial Snapshot type=Status COMPLETED id=n1 data={}"
    ]


async def test_the_channel_on_the_page() -> None:
    page = (DOCS / "signals.md").read_text(encoding="utf-8")
    source = page.partition("```python\n")[2].partition("```")[0].replace("86_400", "0")
    names: dict[str, Any] = {}
    exec(compile(source, "signals.md", "exec"), names)
    channel = names["Nightly"]()
    assert isinstance(channel, SignalChannel)
    channel.configure({})
    first = await anext(channel.signals())
    assert isinstance(read_signal(first), ExecuteSnapshot)


@pytest.fixture
def connector(pg: PgServer, shared_worker: Worker) -> Connector:
    database = pg.database("signals")
    database.execute(
        "CREATE TABLE a (id int PRIMARY KEY, v text)",
        "INSERT INTO a SELECT i, 'a' FROM generate_series(1, 3) i",
        "CREATE TABLE b (id int PRIMARY KEY)",
        'CREATE TABLE "C x" (id int PRIMARY KEY)',
        'INSERT INTO "C x" VALUES (1)',
    )
    return Connector(shared_worker, database, f"signals_{uuid.uuid4().hex[:12]}")


def reported(value: dict[str, Any]) -> tuple[str, str, str, str]:
    """Kind, table, rows or part, and listed tables."""
    more = value["additional_data"] if "additional_data" in value else value["additionalData"]
    table = more.get("current_collection_in_progress") or more.get("scanned_collection", "")
    part = f"{more['chunk_index']}/{more['total_chunks']}" if "chunk_index" in more else ""
    return value["type"], table, part or more.get("total_rows_scanned", ""), more.get("data_collections", "")


LISTED = "public.C x,public.a,public.b"
RECORDED = [
    ("STARTED", "", "", ""),
    ("IN_PROGRESS", "public.C x", "", LISTED),
    ("TABLE_SCAN_COMPLETED", "public.C x", "1", LISTED),
    ("IN_PROGRESS", "public.a", "", LISTED),
    ("TABLE_SCAN_COMPLETED", "public.a", "3", LISTED),
    ("IN_PROGRESS", "public.b", "", LISTED),
    ("TABLE_SCAN_COMPLETED", "public.b", "0", LISTED),
    ("COMPLETED", "", "", ""),
]
"""As the reference sent them for these tables."""


@pytest.mark.pg_once
async def test_notifications_of_the_initial_snapshot(connector: Connector) -> None:
    topic = f"{connector.name}-notes"
    channels = {"notification.enabled.channels": "sink,sse", "notification.sink.topic.name": topic}
    connector.create(channels)
    records = await read_to_end(connector.worker.bootstrap, topic)
    values = [json.loads(record.value or b"") for record in records]
    assert [reported(value) for value in values] == RECORDED
    assert all(value["aggregate_type"] == "Initial Snapshot" for value in values)
    assert [json.loads(record.key or b"") for record in records] == [{"id": value["id"]} for value in values]
    assert all(record.headers == () for record in records)
    path = f"/connectors/{connector.name}/notifications"
    listed = kept(connector)
    begins = listed[0]["number"]
    assert [(one["number"], reported(one)) for one in listed] == list(enumerate(RECORDED, begins))
    # A restart finds the snapshot complete, and its listeners are notified.
    async with httpx.AsyncClient(base_url=connector.worker.url, timeout=SECONDS) as client:
        headers = {"Accept": EVENTS, "Last-Event-ID": str(listed[-1]["number"])}
        async with client.stream("GET", path, headers=headers) as events:
            lines = events.aiter_lines()
            assert (await anext(lines)).startswith(":")
            assert (await client.post(f"/connectors/{connector.name}/restart?includeTasks=true")).is_success
            news = [line async for line in _event(lines)]
    assert news[:2] == [f"id: {begins + len(RECORDED)}", "event: Initial Snapshot"]
    assert json.loads(news[2].removeprefix("data: "))["type"] == "SKIPPED"
    assert connector.worker.rest("DELETE", path).status_code == httpx.codes.NO_CONTENT
    assert kept(connector) == []
    connector.delete()


def kept(connector: Connector) -> list[dict[str, Any]]:
    """What the list of notifications holds."""
    url = f"{connector.worker.url}/connectors/{connector.name}/notifications"
    found: list[dict[str, Any]] = httpx.get(url, headers={"Accept": "application/json"}).json()
    return found


async def _event(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """The lines of the next event."""
    begun = False
    async for line in lines:
        if line.startswith("id:"):
            begun = True
        if begun and not line:
            return
        if begun:
            yield line


@pytest.mark.pg_once
async def test_followers_do_not_delay_the_worker(pg: PgServer, worker: Callable[..., Worker]) -> None:
    database, own = pg.database("signals"), worker()
    connector = Connector(own, database, f"signals_{uuid.uuid4().hex[:12]}")
    connector.create()
    path = f"{own.url}/connectors/{connector.name}/notifications"
    async with httpx.AsyncClient(timeout=SECONDS) as client, client.stream("GET", path) as events:
        lines = events.aiter_lines()
        assert (await anext(lines)).startswith(":")
        code = await asyncio.to_thread(own.stop)
        assert [line async for line in lines if line.startswith("data")] == []
    assert code == 0
    assert "Traceback" not in own.log
    assert " level=error " not in own.log
    own.start()
    connector.delete()


@pytest.mark.pg_once
async def test_notifications_of_a_snapshot_in_parts(connector: Connector) -> None:
    topic = f"{connector.name}-notes"
    connector.create({"notification.enabled.channels": "sink", "notification.sink.topic.name": topic, "snapshot.max.threads": "2"})
    seen = [reported(json.loads(record.value or b"")) for record in await read_to_end(connector.worker.bootstrap, topic)]
    assert (seen[0], seen[-1]) == (RECORDED[0], RECORDED[-1])
    for table, rows in (("public.C x", "1"), ("public.a", "3"), ("public.b", "0")):
        assert [one for one in seen if one[1] == table] == [
            ("IN_PROGRESS", table, "", LISTED),
            ("TABLE_CHUNK_IN_PROGRESS", table, "0/1", ""),
            ("TABLE_CHUNK_COMPLETED", table, "0/1", LISTED),
            ("TABLE_SCAN_COMPLETED", table, rows, LISTED),
        ]
    connector.delete()


@pytest.mark.pg_once
async def test_a_snapshot_that_fails(connector: Connector) -> None:
    topic = f"{connector.name}-notes"
    connector.post(
        {
            "notification.enabled.channels": "sink",
            "notification.sink.topic.name": topic,
            "snapshot.select.statement.overrides": "public.b",
            "snapshot.select.statement.overrides.public.b": "SELECT 1 / (count(*) - count(*)) AS id FROM public.b",
        }
    )
    connector.worker.await_state(connector.name, "FAILED")
    seen = [reported(json.loads(record.value or b"")) for record in await read_to_end(connector.worker.bootstrap, topic)]
    assert seen[:6] == RECORDED[:6]
    assert seen[6:] == [("TABLE_SCAN_COMPLETED", "public.b", "", ""), ("ABORTED", "", "", "")]
    connector.delete()


@pytest.mark.pg_once
async def test_a_signal_by_rest(connector: Connector) -> None:
    path = f"/connectors/{connector.name}/signals"
    message = f"hello {connector.name}"
    body = {"id": "s1", "type": "log", "data": {"message": message}}
    connector.create()
    refused = connector.worker.rest("POST", path, body)
    assert (refused.status_code, "signal.enabled.channels" in refused.text) == (httpx.codes.CONFLICT, True)
    changed = connector.config({"signal.enabled.channels": "source,http"})
    assert connector.worker.rest("PUT", f"/connectors/{connector.name}/config", changed).is_success

    def taken() -> bool:
        answer = connector.worker.rest("POST", path, body)
        assert answer.status_code in (httpx.codes.ACCEPTED, httpx.codes.CONFLICT), answer.text
        return bool(answer.status_code == httpx.codes.ACCEPTED and answer.json() == {"id": "s1"})

    wait_until(taken, lambda: "the task to take signals", SECONDS)
    wait_until(lambda: message in connector.worker.log, lambda: f"the message in\n{connector.worker.log}", SECONDS)
    connector.put("pause")
    connector.worker.await_state(connector.name, "PAUSED")
    assert connector.worker.rest("POST", path, body).status_code == httpx.codes.CONFLICT
    connector.delete()
