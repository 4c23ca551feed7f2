"""The tables that have the rows of topics, by the checkpoint's state. No Spark is started."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.spark.jobs.kept_tables import kept_of
from workers.spark.topics.formats import json_format
from workers.spark.topics.known import Known, TopicState
from workers.spark.types import UNAVAILABLE

VALUE = (
    '{"type":"struct","fields":[{"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"}],"optional":true,"field":"after"},'
    '{"type":"struct","fields":[],"field":"source"},{"type":"string","field":"op"}]}'
)
KEY = '{"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"}]}'


def state(table: str, kept: str | None, followed: tuple[int, int] | None = (1, 1)) -> TopicState:
    return TopicState(("public", table), (Known(1, 2, VALUE, KEY, (1, 1)),), kept=kept, followed=followed)


def found(**topics: TopicState) -> list[tuple[str, str]]:
    layout = json_format(UNAVAILABLE, None).schemas.layout
    kept = kept_of({f"shop.public.{name}": topic for name, topic in topics.items()}, layout)
    return [(one.source.full_name, one.table.full_name) for one in kept]


def test_each_table_of_a_mirror_is_listed_once() -> None:
    both = {name: state(name, f"public.{name}") for name in ("orders", "orders_history")}
    assert found(**both) == [("public.orders", "public.orders"), ("public.orders_history", "public.orders_history")]


def test_histories_are_told_from_mirrors() -> None:
    assert found(orders=state("orders", "public.orders_history")) == [("public.orders", "public.orders_history")]
    assert [table for _, table in found(orders=state("orders", None))] == ["public.orders", "public.orders_history"]


def test_topic_that_filled_no_table_has_none() -> None:
    assert found(orders=state("orders", None, None)) == []
