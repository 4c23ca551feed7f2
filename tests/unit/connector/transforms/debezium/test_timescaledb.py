"""TimescaleDb: what the real transform made of events with this catalog, and when it read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest

from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.schema import INT32, STRING, Field, Schema
from connector.transforms.chain import Chain, Step
from connector.transforms.debezium.timescaledb import KEYS, Table, TimescaleDb
from tests.support.each_case import each_case

INTERNAL: Final = "_timescaledb_internal"
SOURCE: Final = Schema("struct", fields=(Field("schema", STRING.as_optional()), Field("table", STRING.as_optional())))
ROW: Final = Schema("struct", optional=True, fields=(Field("id", INT32),))
EVENT: Final = Schema("struct", name="p.t.Envelope", fields=(Field("after", ROW), Field("source", SOURCE)))


class Catalog:
    def __init__(self) -> None:
        self.reads = 0
        self.known: dict[Table, Table | None] = {
            Table(INTERNAL, "_hyper_1_1_chunk"): Table("public", "conditions"),
            Table(INTERNAL, "_hyper_2_2_chunk"): Table(INTERNAL, "_materialized_hypertable_2"),
            Table(INTERNAL, "compress_hyper_3_3_chunk"): Table(INTERNAL, "_compressed_hypertable_3"),
            Table(INTERNAL, "_hyper_99_4_chunk"): None,
        }

    def chunks(self) -> Mapping[Table, Table | None]:
        self.reads += 1
        return dict(self.known)

    def aggregates(self) -> Mapping[Table, Table]:
        return {Table(INTERNAL, "_materialized_hypertable_2"): Table("public", "conditions_summary")}


def event(table: str | None, schema: str | None = INTERNAL, value: Schema = EVENT) -> ConnectRecord:
    reported = {"after": {"id": 1}, "source": {"schema": schema, "table": table}}
    return ConnectRecord(f"p.{schema}.{table}", STRING, "k", value, reported, 9, (Header("a", STRING, "b"),), 3)


def made(catalog: Catalog, **options: str) -> TimescaleDb:
    return TimescaleDb.of(Options(KEYS, {name.replace("_", "."): value for name, value in options.items()})).with_metadata(catalog)


def headers(record: ConnectRecord) -> dict[str, str]:
    return {header.name.removeprefix("__debezium_timescaledb_"): header.value for header in record.headers}


def test_a_chunk_becomes_its_hypertable() -> None:
    found = made(Catalog()).apply(event("_hyper_1_1_chunk"))
    assert found.topic == "timescaledb.public.conditions"
    assert found.value == {"after": {"id": 1}, "source": {"schema": "public", "table": "conditions"}}
    assert headers(found) == {"a": "b", "chunk_table": "_hyper_1_1_chunk", "chunk_schema": INTERNAL}
    assert (found.partition, found.timestamp, found.key) == (3, 9, "k")
    assert found.value_schema is EVENT


def test_a_chunk_of_an_aggregate_becomes_its_view() -> None:
    found = made(Catalog()).apply(event("_hyper_2_2_chunk"))
    assert found.topic == "timescaledb.public.conditions_summary"
    assert found.value["source"] == {"schema": "public", "table": "conditions_summary"}
    assert list(headers(found)) == ["a", "chunk_table", "chunk_schema", "hypertable_table", "hypertable_schema"]
    assert headers(found)["hypertable_table"] == "_materialized_hypertable_2"


def test_a_compressed_chunk_goes_to_its_own_hypertable() -> None:
    assert made(Catalog()).apply(event("compress_hyper_3_3_chunk")).topic == f"timescaledb.{INTERNAL}._compressed_hypertable_3"


def test_the_catalog_is_read_at_the_first_chunk_and_at_each_unknown_table() -> None:
    catalog = Catalog()
    transform = made(catalog)
    for table, reads in (("_hyper_1_1_chunk", 1), ("_hyper_1_1_chunk", 1), ("_hyper_2_2_chunk", 1), ("unknown", 2), ("unknown", 3)):
        transform.apply(event(table))
        assert catalog.reads == reads
    catalog.known[Table(INTERNAL, "_hyper_1_5_chunk")] = Table("public", "conditions")
    assert transform.apply(event("_hyper_1_5_chunk")).topic == "timescaledb.public.conditions"
    assert catalog.reads == 4


@each_case(
    "record",
    [
        event("unknown"),
        event("_hyper_99_4_chunk"),
        event("t", "public"),
        event(None),
        event("_hyper_1_1_chunk", None),
        event("_hyper_1_1_chunk", value=Schema("struct", name="x", fields=EVENT.fields)),
        ConnectRecord("t"),
        ConnectRecord("t", value_schema=STRING, value="x"),
        ConnectRecord("t", value={"a": 1}),
        ConnectRecord("t", value_schema=Schema("struct", name="x.Envelope", fields=(Field("a", INT32),)), value={"a": 1}),
    ],
)
def test_other_records_stay(record: ConnectRecord) -> None:
    assert made(Catalog()).apply(record) is record


def test_a_source_block_without_names_is_an_error() -> None:
    source = Schema("struct", fields=(Field("x", STRING),))
    record = ConnectRecord("t", None, None, Schema("struct", name="x.Envelope", fields=(Field("source", source),)), {"source": {"x": "y"}})
    with pytest.raises(DataError, match="schema and table"):
        made(Catalog()).apply(record)


def test_the_options_name_schemas_prefix_and_database() -> None:
    transform = made(Catalog(), schema_list=f"public, {INTERNAL} ", target_topic_prefix="my.ts", database_hostname="db", database_port="1")
    assert transform.apply(event("_hyper_1_1_chunk")).topic == "my.ts.public.conditions"
    assert transform.apply(event("x", "public")).topic == "p.public.x"
    assert transform.database == {"database.hostname": "db", "database.port": "1"}
    catalog = Catalog()
    assert made(catalog, schema_list="").apply(event("_hyper_1_1_chunk")).topic == f"p.{INTERNAL}._hyper_1_1_chunk"
    assert catalog.reads == 0


def test_without_a_catalog_a_chunk_is_an_error() -> None:
    with pytest.raises(DataError, match="database"):
        TimescaleDb.of(Options(KEYS, {})).apply(event("_hyper_1_1_chunk"))


def test_a_tombstone_has_the_headers_that_name_the_chunk() -> None:
    _, shared = Chain([Step("t", "TimescaleDb", made(Catalog()))]).apply_with_shared(event("_hyper_1_1_chunk"))
    assert [header.value for header in shared] == ["_hyper_1_1_chunk", INTERNAL]
