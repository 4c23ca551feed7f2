"""Events equal those that Debezium 3.6.3 sent to a file, with the core of its integration of 3.5.0 (recorded; times and ids replaced)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from connector.catalog.table import CatalogTable
from connector.config.connector_config import parse
from connector.lineage.dataset import Dataset, DatasetField, table_dataset, topic_dataset
from connector.lineage.job import LineageJob
from connector.lineage.run_event import LineageRun, RunFailure
from connector.lineage.run_id import run_id
from connector.record.schema import Field, Schema
from connector.types.codec import Column, TypeInfo

RECORDED: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("events_recorded.json").read_text())
TYPES: Final = {
    number: TypeInfo(number, name, "pg_catalog")
    for number, name in enumerate(("int4", "varchar", "numeric", "_text", "timestamptz", "json", "int2", "text", "uuid"), 1)
}
OIDS: Final = {info.name: oid for oid, info in TYPES.items()}
SERIAL: Final = "nextval('orders_id_seq'::regclass)"
ORDERS: Final = CatalogTable(
    1,
    "public",
    "orders",
    (
        Column("id", OIDS["int4"], default=SERIAL, serial=True),
        Column("customer", OIDS["varchar"], comment="Who bought"),
        Column("amount", OIDS["numeric"]),
        Column("tags", OIDS["_text"]),
        Column("placed", OIDS["timestamptz"]),
        Column("note", OIDS["json"]),
    ),
)
ITEMS: Final = CatalogTable(
    2, "public", "items", (Column("order_id", OIDS["int4"]), Column("pos", OIDS["int2"]), Column("name", OIDS["text"]))
)
NOKEY: Final = CatalogTable(3, "public", "nokey", (Column("a", OIDS["int4"]), Column("b", OIDS["uuid"])))


def given(name: str) -> dict[str, str]:
    """The configuration of a recorded connector, read from its events, with its password."""
    pairs = dict(line.split("=", 1) for line in RECORDED[name]["facets"]["debezium_config"]["configs"])
    del pairs["task.class"]
    return {**pairs, "database.password": "sesame"}


def run(name: str) -> LineageRun:
    config, _ = parse(given(name))
    return LineageRun(LineageJob.of(config, given(name), 0), "run 1", "1.31.0")


def ordered(event: dict[str, Any]) -> dict[str, Any]:
    """Tags and owners are in the order of a Java HashMap."""
    facets = event["job"]["facets"]
    for name, key in (("tags", "key"), ("ownership", "name")):
        members = facets[name]["tags" if name == "tags" else "owners"]
        members.sort(key=lambda each: each[key])
    event["run"]["facets"]["debezium_config"]["configs"].sort()
    return event


def expected(name: str, step: str) -> list[dict[str, Any]]:
    recorded = RECORDED[name]
    [events] = [each["events"] for each in recorded["steps"] if each["step"] == step]
    whole = []
    for event in events:
        facets = {**recorded["facets"], **({"errorMessage": event["errorMessage"]} if "errorMessage" in event else {})}
        shared = {"eventTime": "time", "producer": recorded["producer"], "schemaURL": recorded["schemaURL"], "job": recorded["job"]}
        own = {key: event[key] for key in ("eventType", "inputs", "outputs")}
        whole.append(ordered(json.loads(json.dumps({**shared, **own, "run": {"runId": event["run"], "facets": facets}}))))
    return whole


def schema_of(fields: list[dict[str, Any]]) -> Schema:
    """A schema with the recorded fields."""
    return Schema("struct", fields=tuple(Field(each["name"], _of(each)) for each in fields))


def _of(field: dict[str, Any]) -> Schema:
    return schema_of(field["fields"]) if "fields" in field else Schema(field["type"].lower())


@pytest.mark.parametrize(("name", "step"), [("store", "snapshot"), ("plain", "start")])
def test_start_and_tables_and_topics_equal_the_recording(name: str, step: str) -> None:
    of, (config, _) = run(name), parse(given(name))
    events = expected(name, step)
    assert ordered(of.event("START", "time")) == events[0]
    assert ordered(of.event("RUNNING", "time")) == events[1]
    inputs = [event for event in events[2:] if event["inputs"]]
    found = [ordered(of.event("RUNNING", "time", [table_dataset(each, TYPES, config)])) for each in (ITEMS, _with_extra(name), NOKEY)]
    assert [inputs[:3], inputs[3:]] == [found, found]
    outputs = [event for event in events[2:] if event["outputs"]]
    assert len(outputs) == 3
    for event in outputs:
        [topic] = event["outputs"]
        dataset = topic_dataset(topic["name"], schema_of(topic["facets"]["schema"]["fields"]), config)
        assert ordered(of.event("RUNNING", "time", [dataset])) == event


def _with_extra(name: str) -> CatalogTable:
    """The second connector was recorded after the first one's column had been added."""
    if name == "store":
        return ORDERS
    return CatalogTable(1, "public", "orders", (*ORDERS.columns, Column("extra", OIDS["int4"])))


def test_streamed_table_and_its_change_equal_the_recording() -> None:
    of, (config, _) = run("store"), parse(given("store"))
    [before] = expected("store", "insert")
    streamed = CatalogTable(1, "public", "orders", ORDERS.columns, streamed=True)
    assert ordered(of.event("RUNNING", "time", [table_dataset(streamed, TYPES, config)])) == before
    after, _topic = expected("store", "added column")
    changed = CatalogTable(1, "public", "orders", (*ORDERS.columns, Column("extra", OIDS["int4"])), streamed=True)
    assert ordered(of.event("RUNNING", "time", [table_dataset(changed, TYPES, config)])) == after


def test_stop_equals_the_recording() -> None:
    [complete] = expected("plain", "stop")
    assert ordered(run("plain").event("COMPLETE", "time")) == complete


def test_failure_equals_the_recording_but_for_the_language() -> None:
    first, *_ = expected("store", "lost connection")
    failure = RunFailure("Database connection failed when reading from copy", "stack trace")
    found = ordered(run("store").event("FAIL", "time", failure=failure))
    assert found["run"]["facets"]["errorMessage"].pop("programmingLanguage") == "Python"
    first["run"]["facets"]["errorMessage"].pop("programmingLanguage")
    first["run"]["runId"] = "run 1"
    assert found == first


def test_secrets_are_masked() -> None:
    config, _ = parse(given("store"))
    own = {"database.password": "sesame", "transforms.a.Secret": "sesame", "my.token": "sesame", "name": "store"}
    job = LineageJob.of(config, own, 0, ["my.token"])
    assert not any("sesame" in line for line in job.configs)
    assert "my.token=********" in job.configs
    assert "name=store" in job.configs


def test_column_comments_are_descriptions_where_events_have_them() -> None:
    config, _ = parse({**given("store"), "include.schema.comments": "true"})
    fields = table_dataset(ORDERS, TYPES, config).fields
    assert [field.description for field in fields if field.name == "customer"] == ["Who bought"]
    dataset = Dataset("input", "TABLE", "n", "t", (DatasetField("a", "int4", "Why"),))
    [found] = run("store").event("RUNNING", "time", [dataset])["inputs"]
    assert found["facets"]["schema"]["fields"] == [{"name": "a", "type": "int4", "description": "Why"}]


def test_run_id_is_a_uuid_of_version_7() -> None:
    assert run_id(0x0123456789AB * 1_000_000, b"\xff" * 10) == "01234567-89ab-7fff-bfff-ffffffffffff"
