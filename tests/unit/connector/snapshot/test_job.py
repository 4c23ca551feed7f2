"""A job reaches another process whole, its configuration parsed."""

from __future__ import annotations

import pickle

from connector.config.connector_config import parse
from connector.delivery.kafka_settings import KafkaSettings
from connector.events.envelope import SourceFacts
from connector.record.json_converter import ConverterSettings
from connector.snapshot.job import Job
from tests.support.stream_rig import TYPES, configured


def test_a_job_survives_its_way() -> None:
    rules = {
        "snapshot.select.statement.overrides": "public.a",
        "snapshot.select.statement.overrides.public.a": "SELECT 1",
        "snapshot.max.threads": "2",
        "column.mask.with.3.chars": "public.a.b",
        "topic.creation.groups": "g",
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
        "topic.creation.g.include": "x",
        "driver.options": "-c geqo=off",
        "producer.override.linger.ms": "5",
    }
    config, _ = parse({**configured().raw, **rules})
    plain = ConverterSettings()
    job = Job(config, plain, plain, KafkaSettings({}, {}), TYPES, "name", 1, SourceFacts(1, 2, 3), b"", 20, {})
    arrived = pickle.loads(pickle.dumps(job))
    assert arrived == job
    assert arrived.config.snapshot_select_overrides == {"public.a": "SELECT 1"}
    assert arrived.config.topic_creation["g"]["include"] == "x"
