"""What a task is given when it starts, for tests that run parts of a task without a worker."""

from __future__ import annotations

from typing import Any, Final

from connector.config.connector_config import ConnectorConfig, parse
from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.progress import Progress
from connector.ports import JsonObject
from connector.record.json_converter import ConverterSettings
from connector.runner.context import TaskContext

_CONFIG: Final = {
    "name": "shop",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "127.0.0.1",
    "database.user": "postgres",
    "database.dbname": "shop",
    "topic.prefix": "shop",
    "signal.poll.interval.ms": "1",
}


class NoOffsets:
    """An offset store that holds nothing and takes nothing."""

    async def load(self, partition: JsonObject) -> JsonObject | None:
        """Nothing is stored."""
        return None

    async def store(self, partition: JsonObject, offset: JsonObject | None) -> None:
        """Nothing may be stored."""
        raise AssertionError


def shop_config(**properties: str) -> ConnectorConfig:
    """The configuration of a connector named shop; an underscore in a property's name stands for a dot."""
    config, _ = parse({**_CONFIG, **{name.replace("_", "."): value for name, value in properties.items()}})
    return config


def task_context(config: ConnectorConfig, **more: Any) -> TaskContext:
    """The context of a task with this configuration and JSON without schemas; ``more`` are further members of TaskContext."""
    plain = ConverterSettings(schemas_enable=False)
    given = {"offsets": NoOffsets(), "progress": Progress(), "topic_used": print, **more}
    return TaskContext(config.raw["name"], config.raw, plain, plain, KafkaSettings({}, {}), **given)
