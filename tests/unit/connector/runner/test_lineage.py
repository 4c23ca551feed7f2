"""Reports of runs: their order, their end, and that a report neither delays nor fails a task."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connector.catalog.table import CatalogTable
from connector.errors import CdcError, ErrorKind
from connector.io.openlineage import Emit, LineageSetupError
from connector.record.schema import INT32, Field, Schema
from connector.runner import lineage
from connector.runner.lineage import MOST_WAITING, LineageSender, reported_run
from connector.types.codec import Column, TypeInfo
from tests.support.task_context import shop_config, task_context

TABLE = CatalogTable(1, "public", "orders", (Column("id", 23),))
TYPES = {23: TypeInfo(23, "int4", "pg_catalog")}
TOPIC = Schema("struct", fields=(Field("id", INT32),))


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first event imports OpenLineage's client, which takes longer than a task waits at its end if the machine is busy.
    monkeypatch.setattr(lineage, "_CLOSE_S", 60.0)


def written_to(tmp_path: Path) -> tuple[Path, Mapping[str, str]]:
    """Where events are written, and the properties that ask for it."""
    events, settings = tmp_path / "events.jsonl", tmp_path / "openlineage.yml"
    settings.write_text(f"transport:\n  type: file\n  location: {events}\n")
    return events, {"openlineage_integration_enabled": "true", "openlineage_integration_config_file_path": str(settings)}


def read(events: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in events.read_text().splitlines()]


async def test_run_with_a_table_and_a_topic(tmp_path: Path) -> None:
    events, properties = written_to(tmp_path)
    async with reported_run(task_context(shop_config(**properties)), asyncio.Event()) as context:
        assert context.table_described is not None
        assert context.topic_described is not None
        context.table_described(TABLE, TYPES)
        context.topic_described("shop.public.orders", TOPIC)
    found = read(events)
    assert [event["eventType"] for event in found] == ["START", "RUNNING", "RUNNING", "RUNNING", "COMPLETE"]
    names = [[each["name"] for each in event["inputs"] + event["outputs"]] for event in found]
    assert names == [[], [], ["shop.public.orders"], ["shop.public.orders"], []]
    assert len({event["run"]["runId"] for event in found}) == 1


async def test_failure_ends_the_run_without_the_servers_words_and_secrets(tmp_path: Path) -> None:
    events, properties = written_to(tmp_path)
    context = task_context(shop_config(**properties), hide=lambda text: text.replace("sesame", "${file:s}"))
    failed = CdcError(ErrorKind.SOURCE_OBJECT_MISSING, "Slot 'sesame' is missing", "Create it", "row (1, secret)")
    with pytest.raises(CdcError):
        async with reported_run(context, asyncio.Event()):
            raise failed
    last = read(events)[-1]
    assert last["eventType"] == "FAIL"
    assert last["run"]["facets"]["errorMessage"]["message"] == "Slot '${file:s}' is missing"
    assert "secret" not in events.read_text()


async def test_error_of_a_stopping_task_is_no_failure(tmp_path: Path) -> None:
    events, properties = written_to(tmp_path)
    stop = asyncio.Event()
    stop.set()
    with pytest.raises(CdcError):
        async with reported_run(task_context(shop_config(**properties)), stop):
            raise CdcError(ErrorKind.SOURCE_OBJECT_MISSING, "Gone")
    assert [event["eventType"] for event in read(events)] == ["START", "RUNNING", "COMPLETE"]


async def test_custom_pattern_masks_further_properties(tmp_path: Path) -> None:
    events, properties = written_to(tmp_path)
    more = {"custom_sanitize_pattern": r".*\.user", "database_password": "sesame"}
    async with reported_run(task_context(shop_config(**properties, **more)), asyncio.Event()):
        pass
    configs = read(events)[0]["run"]["facets"]["debezium_config"]["configs"]
    assert {"database.user=********", "database.password=********", "database.dbname=shop"} <= set(configs)


async def test_passwords_by_their_definition_are_masked(tmp_path: Path) -> None:
    events, properties = written_to(tmp_path)
    names = (
        "value.converter.bearer.auth.token",
        "value.converter.schema.registry.bearer.auth.token",
        "value.converter.schema.registry.ssl.keystore.key",
        "value.converter.avro.apicurio.registry.auth.client.secret",
        "producer.override.ssl.keystore.key",
        "producer.override.ssl.truststore.certificates",
    )
    context = task_context(shop_config(**properties))
    context = replace(context, config={**context.config, **dict.fromkeys(names, "sesame"), "value.converter.max.retries": "2"})
    async with reported_run(context, asyncio.Event()):
        pass
    configs = set(read(events)[0]["run"]["facets"]["debezium_config"]["configs"])
    assert {f"{name}=********" for name in names} | {"value.converter.max.retries=2"} <= configs
    assert "sesame" not in events.read_text()


async def test_nothing_is_reported_unless_it_is_asked_for() -> None:
    context = task_context(shop_config())
    async with reported_run(context, asyncio.Event()) as found:
        assert found is context


async def test_without_the_client_the_task_runs_and_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing() -> str:
        raise LineageSetupError("The client is missing")

    monkeypatch.setattr(lineage, "adapter_version", missing)
    _events, properties = written_to(tmp_path)
    context = task_context(shop_config(**properties))
    async with reported_run(context, asyncio.Event()) as found:
        assert found is context
    assert [record.__dict__["fields"] for record in caplog.records] == [{"reason": "The client is missing"}]


def test_unsent_events_are_counted_and_warned_of_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    sent: list[object] = []

    def emit(event: dict[str, Any], /) -> None:
        now[0] = event["at"]
        sent.append(event)
        raise OSError

    sender = LineageSender(lambda: emit, lambda: now[0])
    for at in (1, 2, 3, 70):
        sender.send({"at": at})
    sender.close(100.0)
    warned = [record.__dict__["fields"] for record in caplog.records if record.levelno == logging.WARNING]
    assert len(sent) == 4
    assert warned == [{"reason": "OSError", "events": 1}, {"reason": "OSError", "events": 3}]


def test_events_beyond_the_limit_are_lost_and_sending_never_waits(caplog: pytest.LogCaptureFixture) -> None:
    free, began = threading.Event(), threading.Event()
    sent: list[object] = []

    def emit(event: dict[str, Any], /) -> None:
        began.set()
        free.wait()
        sent.append(event)

    sender = LineageSender(lambda: emit)
    sender.send({})
    began.wait()
    for _ in range(MOST_WAITING + 1):
        sender.send({})
    assert [record.__dict__["fields"]["reason"] for record in caplog.records] == ["too many events wait"]
    free.set()
    sender.close(30.0)
    assert len(sent) == MOST_WAITING + 1


def test_unusable_settings_are_one_line_and_events_are_dropped(caplog: pytest.LogCaptureFixture) -> None:
    def refused() -> Emit:
        raise LineageSetupError("why")

    sender = LineageSender(refused)
    sender.send({})
    sender.close(30.0)
    assert [record.__dict__["fields"] for record in caplog.records] == [{"reason": "why"}]
