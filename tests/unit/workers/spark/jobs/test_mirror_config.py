"""A mirror's configuration: what is taken, and what is refused in one sentence. No Spark is started."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.each_case import each_case
from workers.spark.failure import WRONG, JobError
from workers.spark.jobs.arrival import covers
from workers.spark.jobs.mirror_config import SinkConfig, parse_config, read_config

LEAST: Mapping[str, Any] = {"name": "m", "bootstrap": "k:9092", "checkpoint": "/c", "prefix": "shop", "sink": {"path": "/t"}}


LAKE: Mapping[str, Any] = {"format": "iceberg", "catalog": "lake", "path": "/t"}


def test_least_configuration_has_the_defaults() -> None:
    config = parse_config(LEAST)
    assert (config.format, config.trigger, config.consistency, config.sink) == ("json", "continuous", "row", SinkConfig(path="/t"))
    assert config.pattern == r"shop\..+"


def test_tables_of_options_are_flat_texts() -> None:
    options = {"kafka": {"kafka": {"security": {"protocol": "SSL"}}, "minPartitions": 4}, "spark": {"spark.ui.enabled": True}}
    config = parse_config({**LEAST, **options})
    assert config.kafka == {"kafka.security.protocol": "SSL", "minPartitions": "4"}
    assert config.spark == {"spark.ui.enabled": "true"}


def test_environment_is_read_where_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mirror.toml"
    file.write_text(
        'name="m"\nbootstrap="k"\ncheckpoint="/c"\nprefix="p"\ndsn="password=${env:SECRET}"\n[sink]\npath="/t"\n', encoding="utf-8"
    )
    assert read_config(file, {"SECRET": "s"}).dsn == "password=s"
    with pytest.raises(JobError, match="the environment has no SECRET"):
        read_config(file, {})


def test_environment_is_read_in_lists_too() -> None:
    rule = {"match": "public.customers", "mask": {"email": "hash", "name": "constant:${env:TEXT}"}, "salt": "${env:SALT}"}
    (read,) = parse_config({**LEAST, "table": [rule]}, {"SALT": "long secret", "TEXT": "hidden"}).table
    assert (read.salt, read.mask["name"]) == ("long secret", "constant:hidden")
    with pytest.raises(JobError, match="the environment has no SALT"):
        parse_config({**LEAST, "table": [rule]}, {"TEXT": "hidden"})


@pytest.mark.parametrize(
    "dsn",
    [
        "host=h user=u password=my secretpart",
        "postgresql://u:my@secretpart@h/x",
        "postgresql://u:my/secretpart@h/x",
        "postgresql://u:secretpart%zz@h/x",
        "postgres://u:x@[secretpart/x",
    ],
)
def test_wrong_connection_string_is_refused_without_its_text(dsn: str) -> None:
    for change in ({"dsn": dsn}, {"sink": {"format": "postgres", "dsn": dsn}}):
        with pytest.raises(JobError, match="dsn is no connection") as found:
            parse_config({**LEAST, **change})
        assert found.value.code == WRONG
        assert not any(part in str(found.value) for part in ("my", "secretpart"))


@pytest.mark.parametrize(
    "dsn",
    [
        "host=h password='my secret'",
        "",
        "service=x",
        "postgresql://u:p%40ss@h1:1,h2/x?sslmode=require",
        "postgresql://%40abstract/x",
        "postgres://[::1]:5/x",
    ],
)
def test_connection_strings_of_libpq_are_accepted(dsn: str) -> None:
    assert parse_config({**LEAST, "dsn": dsn}).dsn == dsn


def test_transaction_topic_is_read_with_the_others() -> None:
    config = parse_config({**LEAST, "consistency": "transaction", "transaction_topic": "shop.transaction"})
    assert config.pattern == r"(?:shop\..+)|(?:shop\.transaction)"


@pytest.mark.parametrize(
    ("trigger", "seconds"),
    [("continuous", 0), ("available-now", 0), ("500 milliseconds", 0.5), ("10 seconds", 10), ("2 minutes", 120), ("1 hours", 3600)],
)
def test_time_between_batches_is_that_of_the_trigger(trigger: str, seconds: float) -> None:
    assert parse_config({**LEAST, "trigger": trigger}).between == seconds


@pytest.mark.parametrize(
    "change",
    [
        {"sink": LAKE},
        {"sink": LAKE, "spark": {"spark.sql.catalog.lake.type": "hadoop", "spark.sql.catalog.lake.warehouse": "/t"}},
        {"sink": LAKE, "spark": {"spark.sql.catalog.lakes.type": "rest"}},
        {"sink": {"format": "iceberg", "catalog": "lake"}, "spark": {"spark.sql.catalog.lake.type": "rest"}},
        {"sink": {"format": "parquet", "catalog": "lake", "path": "/t"}},
        {"sink": {"format": "delta", "catalog": "lake", "path": "/t"}, "spark": {"spark.sql.catalog.lake.type": "x"}},
    ],
)
def test_catalog_and_path_that_do_not_contradict_are_taken(change: Mapping[str, Any]) -> None:
    parse_config({**LEAST, **change})


@each_case(
    ("change", "said"),
    [
        ({"bootsrap": "x"}, "unknown key bootsrap"),
        ({"sink": {"path": "/t", "folder": "/x"}}, "unknown key sink.folder"),
        ({"sink": "delta"}, r"sink must be a table: write \[sink\]"),
        ({"sink": {"format": "hudi", "path": "/t"}}, "sink.format is 'hudi'. Use one of delta, iceberg, parquet, postgres"),
        ({"sink": {"format": "postgres"}}, "sink.dsn is missing"),
        ({"sink": {"path": "/t", "on_failure": "go"}}, "sink.on_failure is 'go'. Use one of set-aside, stop"),
        ({"metrics": {}}, "metrics.port is missing"),
        ({"metrics": {"port": 70000}}, "metrics.port is 70000. Use a port from 1 to 65535"),
        ({"sink": {}}, "sink.path .* or sink.catalog must be set"),
        ({"sink": {"format": "parquet", "catalog": "lake"}}, r"sink.format is parquet: sink.path \(a folder\) must be set"),
        (
            {"sink": LAKE, "spark": {"spark.sql.catalog.lake.type": "rest"}},
            "sink.path makes lake .* has spark.sql.catalog.lake.type. Remove",
        ),
        ({"sink": LAKE, "spark": {"spark.sql.catalog.lake": {"catalog-impl": "x"}}}, "but .* has spark.sql.catalog.lake.catalog-impl"),
        ({"sink": LAKE, "spark": {"spark.sql.catalog.lake.warehouse": "/u"}}, "but .* has spark.sql.catalog.lake.warehouse"),
        ({"topics": "a"}, "Either topics .* or prefix .* and not both"),
        ({"format": "avro"}, r"format is avro, but the table \[registry\] with its url is missing"),
        ({"format": "protobuf"}, r"format is protobuf, but the table \[registry\] with its url is missing"),
        ({"format": "cloud-events-avro"}, r"format is cloud-events-avro, but the table \[registry\] with its url is missing"),
        (
            {"format": "cloud-events-avro", "registry": {"url": "http://r", "id_place": "headers"}},
            "registry.id_place is headers, but a CloudEvent's data has none. Set headers.enabled=false",
        ),
        ({"format": "protobuf-text"}, "format is 'protobuf-text'. Use one of json, cloud-events, cloud-events-avro, "),
        ({"format": "json-schema", "consistency": "transaction", "transaction_topic": "t"}, "this needs format json"),
        (
            {"format": "avro", "registry": {"url": "http://r", "use_id": "guid"}},
            "registry.use_id is 'guid'. Use one of contentId, globalId",
        ),
        (
            {"format": "avro", "registry": {"url": "http://r", "id_place": "9"}},
            "registry.id_place is '9'. Use one of 4-bytes, 8-bytes, hea",
        ),
        ({"format": "json-schema", "registry": {"url": "http://r", "id_place": "headers"}}, "registry.id_place is set, but .* Remove it"),
        ({"format": "ext-json", "registry": {"url": "http://r/apis/ccompat/v7"}}, "registry.url is not Apicurio's"),
        ({"trigger": "often"}, "trigger is 'often'"),
        ({"batch_records": 0}, "batch_records must be 1 or more"),
        ({"batch_records": "many"}, "batch_records must be a whole number"),
        ({"name": 7}, "name must be text"),
    ],
)
def test_what_is_wrong_is_named(change: Mapping[str, Any], said: str) -> None:
    with pytest.raises(JobError, match=said) as refusal:
        parse_config({**LEAST, **change})
    assert refusal.value.code == WRONG


def test_missing_key_and_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="bootstrap is missing"):
        parse_config({"name": "m", "checkpoint": "/c", "sink": {"path": "/t"}})
    with pytest.raises(JobError, match="cannot be read"):
        read_config(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("name = ", encoding="utf-8")
    with pytest.raises(JobError, match="is not TOML"):
        read_config(broken)


@pytest.mark.parametrize(
    ("read", "equal"),
    [({("a", 0): 5, ("b", 0): 1}, True), ({("a", 0): 4, ("b", 0): 9}, False), ({("a", 0): 5}, False), ({("a", 0): 6, ("b", 0): 1}, True)],
)
def test_mirror_has_arrived_when_it_has_read_every_partition_to_its_end(read: dict[tuple[str, int], int], equal: bool) -> None:
    assert covers(read, {("a", 0): 5, ("b", 0): 1, ("c", 0): 0}) is equal
