"""Topics as the connector's own converters write them: each format shows the same changes as JsonConverter's, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import Row

from connector.converters.confluent_keys import HEADER_ID
from connector.converters.converter import ConverterChoice
from tests.support.spark.converted_topic import FULL, ROW, TOPIC, RecordingRegistry, Written, changes, envelope, flat, rows
from tests.support.spark.memory_sink import MemorySink
from tests.support.spark.topic_log import Record, frame
from workers.spark.changes import known_topic, typed
from workers.spark.jobs.batches import Batches
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror import Mirror
from workers.spark.jobs.mirror_config import parse_config
from workers.spark.jobs.topic_format import format_of
from workers.spark.topics.formats import Format
from workers.spark.topics.known import Unreadable
from workers.spark.topics.survey import survey
from workers.spark.topics.topic import Topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KAFKA: Final = "org.apache.kafka.connect."
APICURIO: Final = "io.apicurio.registry.utils.converter."
LEAST: Final[Mapping[str, Any]] = {"name": "m", "bootstrap": "k:9092", "checkpoint": "/c", "prefix": "shop", "sink": {"path": "/t"}}
V2: Final = "/apis/registry/v2"
V3: Final = "/apis/registry/v3"


@dataclass(frozen=True)
class Case:
    """Converters, and the configuration that reads what they write. ``api`` is the path of the registry's API."""

    value: ConverterChoice
    key: ConverterChoice
    config: dict[str, Any]
    api: str | None = None
    describes: bool = False

    def records(self, registry: RecordingRegistry, schema: Any, values: Any) -> list[Record]:
        return Written(registry.resolve, self.key, self.value, self.describes).records(schema, values)

    def form(self, registry: RecordingRegistry) -> Format:
        if self.api is None:
            return format_of(parse_config({**LEAST, **self.config}))
        known = {"url": registry.url + self.api, **self.config.get("registry", {})}
        return format_of(parse_config({**LEAST, **self.config, "registry": known}))


def both(name: str, config: dict[str, Any], api: str | None = None, **options: str) -> Case:
    """The same converter for keys and values."""
    choice = ConverterChoice(name, {each.replace("_", "."): value for each, value in options.items()})
    return Case(choice, choice, config, api)


def apicurio(name: str, version: int, config: dict[str, Any], **options: str) -> Case:
    """One of Apicurio's converters. An option's name is without ``apicurio.registry.``."""
    api = V2 if version == 2 else V3
    given = {f"apicurio.registry.{each.replace('_', '-')}": value for each, value in options.items()}
    given = {each.replace("headers-enabled", "headers.enabled"): value for each, value in given.items()}
    choice = ConverterChoice(APICURIO + name, {"apicurio.registry.url": f"http://r{api}", **given})
    return Case(choice, choice, config, api)


def with_delegate(case: Case) -> Case:
    """Debezium's BinaryDataConverter, which gives envelopes to the case's converter."""
    given = {f"delegate.converter.type.{name}": value for name, value in case.value.options.items()}
    choice = ConverterChoice("io.debezium.converters.BinaryDataConverter", {"delegate.converter.type": case.value.name, **given})
    return Case(choice, choice, case.config, case.api)


JSON: Final = both(f"{KAFKA}json.JsonConverter", {}, replace_null_with_default="false")
AVRO: Final = {"format": "avro"}
SCHEMA_ID: Final = "io.apicurio.registry.serde.Legacy8ByteIdHandler"
CASES: Final[dict[str, Case]] = {
    "avro of confluent": both("io.confluent.connect.avro.AvroConverter", AVRO, "", schema_registry_url="http://r"),
    "avro of confluent, GUIDs in headers": both(
        "io.confluent.connect.avro.AvroConverter",
        AVRO,
        "",
        schema_registry_url="http://r",
        key_schema_id_serializer=HEADER_ID,
        value_schema_id_serializer=HEADER_ID,
    ),
    "avro of apicurio 3": apicurio("AvroConverter", 3, AVRO, auto_register="true"),
    "avro of apicurio 2": apicurio("AvroConverter", 2, AVRO, auto_register="true"),
    "avro of apicurio 3, 8 bytes, globalId": apicurio(
        "AvroConverter",
        3,
        {**AVRO, "registry": {"id_place": "8-bytes", "use_id": "globalId"}},
        auto_register="true",
        id_handler=SCHEMA_ID,
        use_id="globalId",
    ),
    "avro of apicurio 3, headers": apicurio(
        "AvroConverter", 3, {**AVRO, "registry": {"id_place": "headers"}}, auto_register="true", headers_enabled="true"
    ),
    "ext-json of apicurio 3": apicurio("ExtJsonConverter", 3, {"format": "ext-json"}, auto_register="true"),
    "ext-json of apicurio 2": apicurio("ExtJsonConverter", 2, {"format": "ext-json"}, auto_register="true"),
    "json-schema of confluent": both(
        "io.confluent.connect.json.JsonSchemaConverter", {"format": "json-schema"}, "", schema_registry_url="http://r"
    ),
    "json-schema of confluent, GUIDs in headers": both(
        "io.confluent.connect.json.JsonSchemaConverter",
        {"format": "json-schema"},
        "",
        schema_registry_url="http://r",
        key_schema_id_serializer=HEADER_ID,
        value_schema_id_serializer=HEADER_ID,
    ),
    "json in BinaryDataConverter": with_delegate(JSON),
}


CLOUD: Final = {"format": "cloud-events"}


def cloud_events(**options: str) -> Case:
    """CloudEventsConverter for values beside JsonConverter for keys."""
    given = {name.replace("_", "."): value for name, value in options.items()}
    return Case(ConverterChoice("io.debezium.converters.CloudEventsConverter", given), JSON.value, CLOUD)


CASES["cloud-events"] = cloud_events(json_replace_null_with_default="false")

CLOUD_AVRO: Final = {"format": "cloud-events-avro"}


def cloud_events_avro(key: ConverterChoice, *, api: str = "", config: dict[str, Any] | None = None, **options: str) -> Case:
    """CloudEventsConverter with data in Avro. An option of AvroConverter begins with ``avro_``."""
    given = {name.replace("_", "."): value for name, value in options.items()}
    given = {
        name.replace("auto.register", "auto-register").replace("id.handler", "id-handler").replace("use.id", "use-id"): value
        for name, value in given.items()
    }
    url = {"avro.apicurio.registry.url": f"http://r{api}"} if api else {"avro.schema.registry.url": "http://r"}
    value = ConverterChoice("io.debezium.converters.CloudEventsConverter", {"data.serializer.type": "avro", **url, **given})
    return Case(value, key, config or CLOUD_AVRO, api)


AVRO_KEY: Final = CASES["avro of confluent"].key
CASES.update(
    {
        "cloud-events, data in avro": cloud_events_avro(JSON.key),
        "cloud-events, data in avro of apicurio, 8 bytes": cloud_events_avro(
            CASES["avro of apicurio 3, 8 bytes, globalId"].key,
            api=V3,
            config={**CLOUD_AVRO, "registry": {"id_place": "8-bytes", "use_id": "globalId"}},
            avro_apicurio_registry_auto_register="true",
            avro_apicurio_registry_id_handler=SCHEMA_ID,
            avro_apicurio_registry_use_id="globalId",
        ),
        "cloud-events, data in avro, metadata in headers": replace(
            cloud_events_avro(
                JSON.key, extension_attributes_enable="false", metadata_source="header,id:generate,type:generate,dataSchemaName:generate"
            ),
            describes=True,
        ),
        "cloud-events in avro": cloud_events_avro(AVRO_KEY, serializer_type="avro"),
        "cloud-events in avro, GUIDs in headers of keys": cloud_events_avro(
            CASES["avro of confluent, GUIDs in headers"].key, serializer_type="avro"
        ),
        "cloud-events in avro of apicurio": cloud_events_avro(
            JSON.key,
            api=V3,
            serializer_type="avro",
            avro_apicurio_registry_auto_register="true",
            # The converter gives Apicurio's no headers, so the option has no effect.
            avro_apicurio_registry_headers_enabled="true",
        ),
    }
)


@pytest.fixture
def registry() -> Iterator[RecordingRegistry]:
    with RecordingRegistry() as running:
        yield running


def shown(spark: SparkSession, case: Case, registry: RecordingRegistry, schema: Any, values: Any) -> list[Row]:
    """The changes in the records that the case's converters write."""
    records, form = frame(spark, case.records(registry, schema, values)), case.form(registry)
    found = known_topic(records, TOPIC, form)
    assert isinstance(found, Topic), found
    collected: list[Row] = typed(form.cut(records), found).orderBy("position.offset").collect()
    return collected


@pytest.fixture(scope="module")
def expected(spark: SparkSession) -> Callable[[Any, Any], list[Row]]:
    """The changes in JsonConverter's records, with their schemas."""
    known: dict[int, list[Row]] = {}

    def of(schema: Any, values: Any) -> list[Row]:
        if len(values) not in known:
            known[len(values)] = shown(spark, JSON, RecordingRegistry(), schema, values)
        return known[len(values)]

    return of


def test_json_shows_every_change(expected: Callable[[Any, Any], list[Row]]) -> None:
    first, second, third, fourth, tombstone, truncate = expected(envelope(), changes())
    assert [row["op"] for row in (first, second, third, fourth, tombstone, truncate)] == ["c", "u", "c", "d", "tombstone", "t"]
    assert first["after"].asDict().keys() == {str(field["field"]) for field in ROW}
    assert first["after"]["sparse"].asDict() == {"dimensions": 9, "vector": {1: 0.5, 7: 2.0}}
    assert (second["unavailable"], second["after"]["name"], second["after"]["small"]) == (["name"], None, 4)
    assert (third["after"]["price"], fourth["before"]["id"], fourth["source"]["lsn"]) == (None, 2, 104)


LONG: Final = (
    "avro of apicurio 3",
    "avro of apicurio 2",
    "ext-json of apicurio 3",
    "json-schema of confluent, GUIDs in headers",
    "cloud-events, data in avro",
    "cloud-events, data in avro of apicurio, 8 bytes",
    "cloud-events, data in avro, metadata in headers",
    "cloud-events in avro",
    "cloud-events in avro, GUIDs in headers of keys",
    "cloud-events in avro of apicurio",
)
"""Cases whose parts other cases show.

Apicurio's own two are shown with flattened rows, its second API with Extended JSON, and CloudEvents in Avro with CloudEvents in
JSON and events in Avro.
"""


@pytest.mark.parametrize("case", [pytest.param(case, marks=[pytest.mark.long] * (name in LONG), id=name) for name, case in CASES.items()])
def test_every_format_shows_the_same_changes(
    spark: SparkSession, registry: RecordingRegistry, expected: Callable[[Any, Any], list[Row]], case: Case
) -> None:
    assert shown(spark, case, registry, envelope(), changes()) == expected(envelope(), changes())


@pytest.mark.parametrize("name", ["avro of apicurio 3", "ext-json of apicurio 3", "json-schema of confluent"])
def test_flattened_rows_are_the_same(
    spark: SparkSession, registry: RecordingRegistry, expected: Callable[[Any, Any], list[Row]], name: str
) -> None:
    assert shown(spark, CASES[name], registry, flat(), rows()) == expected(flat(), rows())


@pytest.mark.long
def test_cloud_events_without_schemas_show_the_same_rows(spark: SparkSession, registry: RecordingRegistry) -> None:
    bare = both(f"{KAFKA}json.JsonConverter", {}, schemas_enable="false", replace_null_with_default="false")
    known = cloud_events(json_schemas_enable="false", json_replace_null_with_default="false")
    case = Case(known.value, bare.key, CLOUD)
    # A truncate without a schema shows no columns.
    values = changes()[:-1]
    assert shown(spark, case, registry, envelope(), values) == shown(spark, bare, registry, envelope(), values)


@pytest.mark.long
@pytest.mark.parametrize("name", ["cloud-events", "cloud-events in avro", "json-schema of confluent", "avro of apicurio 3, headers"])
def test_mirror_has_the_rows(spark: SparkSession, registry: RecordingRegistry, tmp_path: Path, name: str) -> None:
    case, sink = CASES[name], MemorySink(spark)
    batches = Batches(Checkpoint(spark, str(tmp_path)), case.form(registry), sink, Mirror(sink))
    records = case.records(registry, envelope(), changes())
    batches.apply(frame(spark, records[:3]), 0)
    assert [(row["id"], row["name"], row["small"]) for row in sink.rows()] == [(1, FULL["name"], 4), (2, None, 0)]
    batches.apply(frame(spark, records[3:5]), 1)
    assert [row["id"] for row in sink.rows()] == [1]
    batches.apply(frame(spark, records[5:]), 2)
    assert sink.rows() == []


@pytest.mark.long
@pytest.mark.parametrize("name", ["cloud-events, data in avro", "cloud-events in avro"])
def test_the_beginning_of_a_snapshot_is_noticed(spark: SparkSession, registry: RecordingRegistry, name: str) -> None:
    case, (key, value) = CASES[name], changes()[0]
    assert value is not None
    source = value["source"]
    assert isinstance(source, dict)
    records = [
        record
        for state in ("first", "false")
        for record in case.records(registry, envelope(), [(key, {**value, "source": {**source, "snapshot": state}})])
    ]
    form = case.form(registry)
    noticed = [survey(form.cut(frame(spark, [record])), form.signs)[0].begins for record in records]
    assert noticed == [True, False]


def refusal(spark: SparkSession, registry: RecordingRegistry, written: Case, read: Case) -> str:
    """Why ``read`` does not read what ``written`` writes."""
    found = known_topic(frame(spark, written.records(registry, envelope(), changes())), TOPIC, read.form(registry))
    assert isinstance(found, Unreadable), found
    return found.reason


def test_records_without_ids_are_refused(spark: SparkSession, registry: RecordingRegistry) -> None:
    avro = CASES["avro of confluent"]
    assert "it has no schema's id where AvroConverter writes one" in refusal(spark, registry, JSON, avro)
    mixed = Case(avro.value, JSON.key, avro.config, avro.api)
    assert "its key has no schema's id where AvroConverter writes one" in refusal(spark, registry, mixed, avro)
    for name, writer in (("ext-json of apicurio 3", "ExtJsonConverter"), ("json-schema of confluent", "JsonSchemaConverter")):
        assert f"it has no schema's id where {writer}" in refusal(spark, registry, JSON, CASES[name])


@pytest.mark.long
def test_json_of_another_format_is_refused_with_the_format(spark: SparkSession, registry: RecordingRegistry) -> None:
    written = {"ext-json of apicurio 3": "Set format to ext-json", "cloud-events": "Set format to cloud-events"}
    written |= {"avro of confluent": "begins as a registry's records do. Set format"}
    for name, said in written.items():
        assert said in refusal(spark, registry, CASES[name], JSON)
    assert "it is not a CloudEvent" in refusal(spark, registry, CASES["ext-json of apicurio 3"], CASES["cloud-events"])


def test_texts_and_bytes_are_refused(spark: SparkSession, registry: RecordingRegistry) -> None:
    texts = both(f"{KAFKA}storage.StringConverter", {})
    said = refusal(spark, registry, texts, JSON)
    assert said.endswith("it is not JSON: StringConverter wrote it, whose text cannot be read back. Use another converter")
    keys = refusal(spark, registry, Case(JSON.value, texts.key, {}), JSON)
    assert "its key is not JSON: StringConverter wrote it" in keys


def test_cloud_events_that_lack_something_name_the_option(spark: SparkSession, registry: RecordingRegistry) -> None:
    lacking = cloud_events(extension_attributes_enable="false")
    assert "Set extension.attributes.enable=true" in refusal(spark, registry, lacking, lacking)
    packed = cloud_events(data_serializer_type="avro", avro_schema_registry_url="http://r")
    assert "Set format to cloud-events-avro" in refusal(spark, registry, packed, packed)
    whole = cloud_events_avro(AVRO_KEY, serializer_type="avro")
    avro = CASES["avro of confluent"]
    assert "Set format to cloud-events-avro" in refusal(spark, registry, Case(whole.value, avro.key, avro.config), avro)


@pytest.mark.long
def test_cloud_events_in_avro_that_lack_what_those_in_json_may_lack_name_the_option(
    spark: SparkSession, registry: RecordingRegistry
) -> None:
    for form in ("json", "avro"):
        lacking = cloud_events_avro(AVRO_KEY, serializer_type=form, extension_attributes_enable="false")
        assert "Set extension.attributes.enable=true" in refusal(spark, registry, lacking, lacking)
    good = CASES["cloud-events, data in avro"]
    for other in (CASES["cloud-events"], CASES["avro of confluent"]):
        assert "not a CloudEvent whose data is Avro with a schema's id" in refusal(spark, registry, other, good)


def test_cloud_events_in_avro_that_lack_something_name_the_option(spark: SparkSession, registry: RecordingRegistry) -> None:
    texts = cloud_events_avro(both(f"{KAFKA}storage.StringConverter", {}).key)
    assert "its key is neither JSON nor Avro" in refusal(spark, registry, texts, texts)
    long = CASES["cloud-events, data in avro of apicurio, 8 bytes"]
    packed = Case(ConverterChoice(long.value.name, {**long.value.options, "serializer.type": "avro"}), long.key, long.config, long.api)
    assert "Legacy8ByteIdHandler" in refusal(spark, registry, packed, packed)
