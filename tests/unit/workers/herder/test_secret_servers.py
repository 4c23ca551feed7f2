"""Connectors whose configurations refer to a server's secrets: the worker answers while it waits for the server, and shows no value."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from connect_api.herder import HerderError
from connect_api.models import config_infos
from tests.support.herder_bench import CONFIG, worker
from tests.support.json_server import JsonServer, json_server
from tests.support.project import TLS
from tests.support.until import until
from workers.secret_stores import kubernetes
from workers.settings.worker_settings import SettingsError, WorkerSettings
from workers.telemetry.logging import configure

PROVIDERS = {"config.providers": "secrets", "config.providers.secrets.class": "io.strimzi.kafka.KubernetesSecretConfigProvider"}
READ = "GET /api/v1/namespaces/shop/secrets/db"
FOUND = (200, {"data": {"password": base64.b64encode(b"hunter2secret").decode(), "version": base64.b64encode(b"2.3.4.Final").decode()}})
BY_SECRET = {**CONFIG, "database.password": "${secrets:db:password}"}


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JsonServer]:
    """The worker runs in a pod of the namespace shop, beside an API server."""
    shutil.copy(TLS / "authority.pem", tmp_path / "ca.crt")
    (tmp_path / "token").write_text("t0ken")
    (tmp_path / "namespace").write_text("shop")
    make = kubernetes.KubernetesStore
    monkeypatch.setattr("workers.secret_stores.classes.KubernetesStore", lambda kind, environment: make(kind, tmp_path, environment))
    with json_server(tls=True) as server:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
        server.answers[READ] = FOUND
        yield server


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure("DEBUG", stream)
    yield stream
    root.handlers[:] = before
    root.setLevel(level)


async def test_a_task_gets_the_value_and_nobody_else(api: JsonServer, log: io.StringIO) -> None:
    async with worker(properties=PROVIDERS) as bench:
        await bench.create(BY_SECRET)
        await bench.began.wait()
        assert bench.running["shop"].config["database.password"] == "hunter2secret"
        infos = config_infos(await bench.herder.validate_config("PostgresConnector", dict(BY_SECRET)), warnings=True)
        shown = [json.dumps(infos), str(bench.herder.connector_info("shop")), str(bench.herder.connector_status("shop"))]
    assert "${secrets:db:password}" in shown[1]
    for text in (*shown, log.getvalue()):
        assert "hunter2secret" not in text
        assert "t0ken" not in text


async def test_a_restart_reads_the_secret_again(api: JsonServer) -> None:
    async with worker(properties=PROVIDERS) as bench:
        await bench.create(BY_SECRET)
        await bench.began.wait()
        bench.began.clear()
        api.answers[READ] = (200, {"data": {"password": base64.b64encode(b"changed").decode()}})
        await bench.herder.restart_task("shop", 0)
        await bench.began.wait()
        assert bench.running["shop"].config["database.password"] == "changed"


async def test_the_worker_answers_while_the_server_does_not(api: JsonServer) -> None:
    async with worker(properties=PROVIDERS) as bench:
        api.answers[READ] = None
        waiting = asyncio.create_task(bench.herder.validate_config("PostgresConnector", dict(BY_SECRET)))
        # This thread waits for the request, so that the loop must be free for the other one.
        await asyncio.get_running_loop().run_in_executor(None, api.asked.wait)
        assert not waiting.done()
        assert list(bench.herder.connectors()) == []
        api.ended.set()
        with pytest.raises(HerderError) as refused:
            await waiting
    assert refused.value.status == 400
    assert "The reference ${secrets:db:password} in the property database.password cannot be resolved now" in refused.value.message


async def test_a_refusal_fails_the_task_and_an_outage_does_not(api: JsonServer, log: io.StringIO) -> None:
    async with worker(properties=PROVIDERS) as bench:

        async def failed() -> bool:
            return bench.states() == ("RUNNING", ["FAILED"])

        async def tried_again() -> bool:
            return "trying again" in log.getvalue()

        await bench.create(BY_SECRET)
        await bench.began.wait()
        api.answers[READ] = (403, {})
        await bench.herder.restart_task("shop", 0)
        await until(failed, lambda: str(bench.states()))
        status = bench.herder.connector_status("shop").tasks[0]
        assert "The service account may not get the Secret db in the namespace shop (403)" in (status.trace or "")
        api.answers[READ] = (503, {})
        bench.began.clear()
        await bench.herder.restart_task("shop", 0)
        await until(tried_again, log.getvalue)
        assert bench.states() == ("RUNNING", ["RUNNING"])
        api.answers[READ] = FOUND
        await bench.began.wait()
        assert bench.running["shop"].config["database.password"] == "hunter2secret"


async def test_the_version_of_a_state_asks_no_server(api: JsonServer) -> None:
    async with worker(properties=PROVIDERS) as bench:
        await bench.create({**BY_SECRET, "connector.plugin.version": "${secrets:db:version}"})
        asked = len(api.requests)
        assert bench.herder.connector_status("shop").connector.version == "2.3.4.Final"
        bench.herder.mbeans()
        assert len(api.requests) == asked


def test_the_worker_s_own_properties_may_be_secrets(api: JsonServer) -> None:
    own = {**PROVIDERS, "sasl.jaas.config": 'x required password="${secrets:shop/db:password}";'}
    assert WorkerSettings.from_properties(own).properties["sasl.jaas.config"] == 'x required password="hunter2secret";'
    api.answers[READ] = (403, {})
    with pytest.raises(SettingsError, match=r"the property sasl\.jaas\.config cannot be resolved: The service account may not get"):
        WorkerSettings.from_properties(own)
