"""The task's sink is opened with the steps of its plan, and the log names the options that none of them knows."""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any, cast

import pytest

from connector.config.connector_config import ConnectorConfig
from connector.converters.converter import ConverterChoice
from connector.delivery.progress import Progress
from connector.delivery.record_conversion import ConversionPlan
from connector.meters.task_meters import TaskMeters
from connector.runner.context import TaskContext
from connector.runner.sinks import exactly_once

JSON = "org.apache.kafka.connect.json.JsonConverter"
HEADERS = "org.apache.kafka.connect.storage.SimpleHeaderConverter"


class Inner:
    """Stands for the KafkaSink."""

    stores_offsets = False
    delivered = 0
    active = 3

    def __init__(self, *_: object, **__: object) -> None:
        pass

    async def start(self) -> None:
        pass

    async def stop(self) -> None:
        pass


@pytest.mark.parametrize(("options", "reported"), [({}, []), ({"schema.enable": "secret"}, ["value.converter.schema.enable"])])
async def test_unknown_options_are_named_once(
    options: dict[str, str], reported: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(exactly_once, "KafkaSink", Inner)
    plan = ConversionPlan({}, ConverterChoice(JSON), ConverterChoice(JSON, options), ConverterChoice(HEADERS))
    kafka = SimpleNamespace(admin={}, topic_creation=True)
    context: Any = SimpleNamespace(
        meters=TaskMeters(),
        kafka=kafka,
        exactly_once=None,
        topic_used=None,
        backtrack=None,
        conversion=plan,
        progress=Progress(),
        topic_described=None,
    )
    config = SimpleNamespace(raw={}, topic_creation={}, errors_retry_timeout=0, errors_retry_delay_max_ms=60_000)
    async with AsyncExitStack() as stack:
        await exactly_once.open_sink(cast("TaskContext", context), cast("ConnectorConfig", config), stack)
    assert [record.__dict__["fields"]["properties"] for record in caplog.records if "properties" in record.__dict__["fields"]] == reported
