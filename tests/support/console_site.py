"""The console over a herder in memory: connectors in every state, and a database whose slot flows."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import cast

import uvicorn
from fastapi import FastAPI

from connect_api.app import create_app
from connect_api.herder import ConfigInfos, ConfigKey, ConfigValue, Offset, State
from connect_api.login import Login
from connector.delivery.progress import Progress, TableProgress
from connector.preflight.slot_health import SlotHealth
from connector.start.decision import SlotState
from tests.support.fake_herder import VERSION, WORKER, FakeHerder
from workers.console.events import ReadLatest
from workers.console.flow import Flow
from workers.console.group_flows import Ask
from workers.console.site import add_console
from workers.console.watched import WatchedWorker
from workers.group.ownership import Member
from workers.herder.plugin_config import plugin_config
from workers.quickstart.embedded.place import free_port
from workers.records.latest import StoredRecord
from workers.settings.console import ConsoleSettings

OTHER = "10.0.0.8:8083"
"""The group's other worker, if there is one."""
SLOT = SlotState("debezium", "pgoutput", True, True, "shop", True, "pid 71 (Understudy Streaming, local)", 100, 200, "reserved")
HEALTH = SlotHealth("db:5432/shop", "debezium", "pgoutput", True, role="cdc", replicates=True, slot=SLOT, lsn=2248)


@dataclass
class FakeWorker(FakeHerder):
    """Obeys :class:`workers.console.watched.WatchedWorker`."""

    running: dict[str, Progress] = field(default_factory=dict)
    elsewhere: dict[str, Flow] = field(default_factory=dict)
    """The flows of the connectors of another worker."""
    silent: bool = False
    """The other worker does not answer."""

    def running_progress(self, name: str) -> Progress | None:
        return self.running.get(name)

    def members(self) -> Sequence[Member]:
        here = Member(WORKER, "http://10.0.0.7:8083", True, tuple(name for name in self.known if name not in self.elsewhere), here=True)
        return [here, Member(OTHER, f"http://{OTHER}", False, tuple(self.elsewhere), here=False)] if self.elsewhere else [here]

    def task_status(self, name: str, task: int) -> State:
        state = super().task_status(name, task)
        return replace(state, worker_id=OTHER) if name in self.elsewhere else state

    async def ask(self, url: str, _headers: Mapping[str, str], _connector: str) -> Mapping[str, Flow] | None:
        """The other worker's answer; None while it is silent."""
        assert url == f"http://{OTHER}"
        return None if self.silent else self.elsewhere

    def version_for(self, config: Mapping[str, str]) -> str:
        return config.get("connector.plugin.version", VERSION)

    async def resolved_config(self, name: str) -> Mapping[str, str]:
        return self.connector_info(name).config

    def progress(self, name: str) -> Mapping[str, object]:
        self.connector_info(name)
        return (self.running.get(name) or Progress(phase="stopped")).describe()

    def plugin_config(self, plugin: str, version: str | None) -> Sequence[ConfigKey]:
        return plugin_config(plugin, version)

    async def validate_config(self, plugin: str, config: Mapping[str, str | None]) -> ConfigInfos:
        key = next(key for key in plugin_config(plugin, None) if key.name == "topic.prefix")
        errors = () if config.get("topic.prefix") else ("The 'topic.prefix' value is invalid: A value is required",)
        value = ConfigValue(key.name, config.get(key.name), (), errors, True)
        return ConfigInfos(plugin, len(errors), ("Connector",), [(key, value)])


def shop() -> FakeWorker:
    """Four connectors: streaming, in its snapshot, paused, failed."""
    worker = FakeWorker()
    flowing = worker.add("orders")
    flowing.config |= {"database.hostname": "db", "database.password": "pa55", "slot.name": "debezium"}
    flowing.offsets = [Offset({"server": "orders"}, {"lsn": 2200, "txId": 7})]
    flowing.topics = ["orders.public.items", "orders.public.orders"]
    worker.add("customers")
    worker.add("archive", target="PAUSED")
    worker.add("<b>returns</b>", trace="PostgreSQL refused while connecting: password wrong. Check database.password\nCaused by: no login")
    worker.running["orders"] = Progress(
        "streaming", events=900, acknowledged_lsn=2200, received_lsn=5272, last_event_source_ms=1_795_000_000_000
    )
    tables = [TableProgress("public.customers", 600, 1000, 3.0), TableProgress("public.zip", 20, 20, 0.1, done=True)]
    worker.running["customers"] = Progress("snapshot", tables, events=620)
    return worker


async def found_health(_config: Mapping[str, str]) -> SlotHealth:
    return HEALTH


def envelope(op: str, before: object, after: object) -> bytes:
    """An event of the table public.orders."""
    return json.dumps({"op": op, "before": before, "after": after, "source": {"schema": "public", "table": "orders"}}).encode()


async def latest(topic: str, count: int) -> Sequence[StoredRecord]:
    """Three records in ``orders.public.orders``; none elsewhere."""
    if topic != "orders.public.orders":
        return []
    was, now = {"id": 7, "state": "new", "api_key": "k1"}, {"id": 7, "state": "<b>paid</b>", "api_key": "k2"}
    records = [
        StoredRecord(0, 12, 1_795_000_000_345, b'{"id":7}', None),
        StoredRecord(0, 11, 1_795_000_000_234, b'{"id":7}', envelope("d", now, None)),
        StoredRecord(0, 10, 1_795_000_000_123, b'{"id":7}', envelope("u", was, now)),
    ]
    return records[:count]


def site(
    worker: FakeWorker,
    *,
    login: Login | None = None,
    read_only: bool = False,
    read: ReadLatest | None = latest,
    ask: Ask | None = None,
) -> FastAPI:
    """The REST interface with the console; for a running event loop."""
    app = create_app(worker, login=login)
    sampler = add_console(
        app,
        cast("WatchedWorker", worker),
        login=login,
        read_only=read_only,
        look=found_health,
        read=read,
        ask=ask or worker.ask,
        hidden=ConsoleSettings().hidden,
    )
    moments = itertools.count(0, 5)
    sampler._clock = lambda: float(next(moments))
    base = worker.running.get("orders")
    for events in (0, 40, 140, 150, 320, 330, 600, 640, 900):
        if base is not None:
            base.events = events
        sampler.sample()
    return app


@contextmanager
def served(worker: FakeWorker, *, read_only: bool = False, read: ReadLatest = latest) -> Iterator[str]:
    """Serve the console on a port; its address."""
    port, ready, servers = free_port(), threading.Event(), list[uvicorn.Server]()

    async def serve() -> None:
        app = site(worker, read_only=read_only, read=read)
        server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None, lifespan="off", ws="none"))
        server.capture_signals = _no_signals  # type: ignore[method-assign]
        servers.append(server)
        ready.set()
        await server.serve()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait()
    while not servers[0].started:
        thread.join(0.01)
    yield f"http://127.0.0.1:{port}"
    servers[0].should_exit = True
    thread.join()


@contextmanager
def _no_signals() -> Iterator[None]:
    yield
