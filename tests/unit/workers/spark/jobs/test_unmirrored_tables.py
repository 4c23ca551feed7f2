"""The tables that a mirror lacks because their topics were set aside before any row was written. No Spark is started."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import SparkSession

from workers.spark.jobs import stream
from workers.spark.jobs.checkpoint import State
from workers.spark.jobs.mirror_config import parse_config
from workers.spark.topics.known import TopicState


def test_topics_set_aside_before_their_first_row_are_named_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = {
        "shop.public.orders": TopicState(aside="no layout"),
        "shop.public.refused": TopicState(table=("public", "refused"), aside="a rule"),
        "shop.public.stale": TopicState(table=("public", "stale"), kept="public.stale", aside="a value"),
        "shop.public.good": TopicState(table=("public", "good"), kept="public.good"),
        "other.public.good": TopicState(table=("public", "good"), aside="another topic fills the table"),
        "shop.heartbeat": TopicState(),
    }

    def opened(*_: Any) -> Any:
        return SimpleNamespace(last=lambda: State(topics=topics))

    monkeypatch.setattr(stream, "Checkpoint", opened)
    config = parse_config({"name": "m", "bootstrap": "k", "checkpoint": "/c", "prefix": "shop", "sink": {"path": "/t"}})
    found = stream.unmirrored_tables(config, cast(SparkSession, None))
    assert found == {"public.orders": "no layout", "public.refused": "a rule"}
