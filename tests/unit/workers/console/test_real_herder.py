"""The console over the worker's own herder, as the command ``understudy`` joins them, without Kafka and PostgreSQL."""

from __future__ import annotations

import asyncio
import re
from html import unescape

import httpx

from connector.preflight.finding import Finding
from connector.runner.context import TaskContext
from workers.__main__ import _app
from workers.herder.configuration_check import ConfigurationCheck
from workers.herder.herder import WorkerHerder
from workers.settings.worker_settings import WorkerSettings
from workers.stores.memory import MemoryLog

HOST = "http://worker.example:8083"
FORM = {
    "name": "a b",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "p.topic.prefix": "p",
    "p.database.hostname": "127.0.0.1",
    "p.database.user": "u",
    "p.database.dbname": "d",
    "p.database.password": "s3cr3t",
}


async def wait(_context: TaskContext, stop: asyncio.Event) -> None:
    await stop.wait()


async def nothing(_config: object, *, further: bool) -> list[Finding]:
    return []


def herder_of(settings: WorkerSettings) -> WorkerHerder:
    return WorkerHerder(
        settings,
        config_log=MemoryLog(),
        offset_log=MemoryLog(),
        status_log=MemoryLog(),
        run_task=wait,
        validate=ConfigurationCheck(nothing),
    )


async def test_a_connector_from_its_form_to_its_pause() -> None:
    settings = WorkerSettings.from_properties({"listeners": "http://127.0.0.1:8083"})

    herder = herder_of(settings)
    await herder.start()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(_app(settings, herder)), base_url=HOST) as client:
        csrf = re.findall(r'name="csrf" value="([^"]+)"', (await client.get("/ui/new")).text)[0]
        client.headers["Origin"] = HOST
        review = (await client.post("/ui/new", data={"csrf": csrf, **FORM})).text
        raw = unescape(re.findall(r'name="raw" value="([^"]*)"', review)[0])
        created = await client.post("/ui/create", data={"csrf": csrf, "raw": raw})
        await herder.settled()
        pages = [(await client.get(f"/ui{path}")).text for path in ("", "/connectors/a%20b", "/connectors/a%20b/config", "/workers")]
        paused = await client.post("/ui/connectors/a%20b/actions/pause", data={"csrf": csrf})
        await herder.settled()
    assert (created.status_code, created.headers["location"], paused.status_code) == (303, "/ui/connectors/a%20b", 303)
    assert all("a b" in page and "s3cr3t" not in page for page in pages)
    assert herder.connector_info("a b").config["database.password"] == "s3cr3t"
    assert herder.connector_status("a b").connector.state == "PAUSED"
    await herder.stop()


async def test_a_worker_may_have_no_console() -> None:
    settings = WorkerSettings.from_properties({"listeners": "http://127.0.0.1:8083", "console.enabled": "false"})
    herder = herder_of(settings)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(_app(settings, herder)), base_url=HOST) as client:
        assert (await client.get("/ui")).status_code == 404


async def test_a_slot_is_looked_at_with_the_configuration_that_the_task_reads() -> None:
    java = "com.example.Renamed"
    herder = herder_of(WorkerSettings.from_properties({f"class.map.{java}": "company.transforms:Renamed", "plugin.packages": "company"}))
    await herder.start()
    config = {"name": "a", "connector.class": "PostgresConnector", "transforms": "t", "transforms.t.type": java}
    await herder._config.put_connector("a", config)
    await herder.settled()
    assert (await herder.resolved_config("a"))["transforms.t.type"] == "company.transforms:Renamed"
    await herder.stop()
