"""The worker's side of snapshots with Spark: its settings, its refusals, and the failure of its process."""

from __future__ import annotations

from typing import cast

import pytest

from connector.errors import CdcError, ErrorKind
from connector.extras import install_command
from connector.snapshot.bulk import BulkPlan
from workers.bulk import spark_snapshots as bulk_snapshots
from workers.bulk.spark_snapshots import SparkSnapshots
from workers.settings.keys import sort_out


def test_where_spark_runs_is_the_workers_to_say() -> None:
    properties = {"understudy.spark.master": "spark://a:7077", "understudy.spark.conf.spark.executor.memory": "4g", "group.id": "g"}
    assert sort_out(properties) == ([], [], [])
    place = SparkSnapshots.of(properties)._place
    assert (place.master, dict(place.settings)) == ("spark://a:7077", {"spark.executor.memory": "4g"})
    assert SparkSnapshots.of({"understudy.spark.master": " "})._place.master == "local[*]"


async def test_without_pyspark_it_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_snapshots, "find_spec", lambda _: None)
    message = await SparkSnapshots.of({}).refusal()
    assert message is not None
    assert "PySpark is not installed" in message
    assert message.endswith(f"`{install_command('spark')}`")


async def test_the_check_s_message_is_the_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")
    # A module of Python's own that takes any argument and says something.
    monkeypatch.setattr(bulk_snapshots, "_MODULE", "this")
    message = await SparkSnapshots.of({}).refusal()
    assert message is not None
    assert message.startswith("The Zen of Python")


async def test_a_check_that_breaks_is_a_refusal_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_snapshots, "find_spec", lambda _: True)
    monkeypatch.setattr(bulk_snapshots, "_MODULE", "no.such.module")
    message = await SparkSnapshots.of({}).refusal()
    assert message is not None
    assert "ended with code 1" in message


async def test_a_process_that_dies_is_an_error_that_ends_the_snapshot_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_snapshots, "_MODULE", "no.such.module")
    with pytest.raises(CdcError, match="ended with code 1") as raised:
        await SparkSnapshots.of({}).read(cast(BulkPlan, None), lambda _: None)
    assert raised.value.kind is ErrorKind.INTERNAL
    assert not raised.value.passes
