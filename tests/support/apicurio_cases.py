"""Records whose conversion was recorded from Apicurio's AvroConverter 3.0.9 and 2.6.13, with what it asked of the registry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from connector.converters.converter import Side
from connector.record.schema import FLOAT64, INT32, INT64, STRING, Schema
from tests.support.avro_cases import POINT, VARIABLE, array, decimal, mapping, struct

SERDE: Final = "io.apicurio.registry.serde."
REGISTER: Final = {"apicurio.registry.auto-register": "true"}
GENERATIONS: Final = ("v2", "v3")


@dataclass(frozen=True, slots=True)
class Conversion:
    """One record, with the converter's options without its URL."""

    name: str
    schema: Schema | None
    value: Any
    options: dict[str, str]
    side: Side = "value"
    topic: str = "s.public.t"
    converter: str = "AvroConverter"


def conversions() -> list[Conversion]:
    """Return all; their names differ."""
    key = struct("s.public.t.Key", id=INT32)
    row = struct("s.public.t.Value", id=INT32.with_default(0), name=STRING.as_optional(), number=VARIABLE.as_optional())
    source = replace(struct("io.debezium.connector.postgresql.Source", version=STRING, lsn=INT64.as_optional()), version=1)
    envelope = replace(
        struct("s.public.t.Envelope", before=row.as_optional(), after=row.as_optional(), source=source, op=STRING), version=2
    )
    full = {"id": 7, "name": "n", "number": {"scale": 2, "value": b"\1"}}
    event = {"before": None, "after": full, "source": {"version": "3", "lsn": None}, "op": "c"}
    parts = struct(
        "p.V", points=array(POINT), more=array(POINT).as_optional(), named=mapping(STRING, POINT), some=array(POINT.as_optional())
    )
    point = {"x": 1.0, "y": 2.0, "wkb": None}
    held = {"points": [point], "more": None, "named": {"a": point}, "some": [None]}
    prefixed = {name: f"apicurio.registry.{name}" for name in ("dereference-schema", "use-id", "id-handler", "headers.enabled")}
    options: list[tuple[str, dict[str, str]]] = [
        ("defaults", {}),
        ("dereferenced", {prefixed["dereference-schema"]: "true"}),
        ("with references", {prefixed["dereference-schema"]: "false"}),
        ("contentId", {prefixed["use-id"]: "contentId", prefixed["headers.enabled"]: "false"}),
        ("globalId", {prefixed["use-id"]: "globalId", prefixed["headers.enabled"]: "false"}),
        ("headers", {prefixed["headers.enabled"]: "true"}),
        ("headers with contentId", {prefixed["headers.enabled"]: "true", prefixed["use-id"]: "contentId"}),
        ("headers with globalId", {prefixed["headers.enabled"]: "true", prefixed["use-id"]: "globalId"}),
        (
            "own header",
            {prefixed["headers.enabled"]: "true", prefixed["use-id"]: "contentId", "apicurio.registry.headers.value.contentId.name": "own"},
        ),
        ("as-confluent", {"apicurio.registry.as-confluent": "true", prefixed["headers.enabled"]: "false"}),
        ("enable-confluent-id-handler", {"apicurio.registry.enable-confluent-id-handler": "true", prefixed["headers.enabled"]: "false"}),
        ("group", {"apicurio.registry.artifact.group-id": "g"}),
        ("artifact", {"apicurio.registry.artifact.artifact-id": "a"}),
        ("version", {"apicurio.registry.artifact.version": "5"}),
        ("without meta data", {"connect.meta.data": "false"}),
        *(
            (strategy, {"apicurio.registry.artifact-resolver-strategy": f"{SERDE}{package}{strategy}"})
            for strategy, package in (
                ("SimpleTopicIdStrategy", "strategy."),
                ("RecordIdStrategy", "avro.strategy."),
                ("TopicRecordIdStrategy", "avro.strategy."),
                ("QualifiedRecordIdStrategy", "avro.strategy."),
            )
        ),
    ]
    found = [Conversion(name, envelope, event, REGISTER | more) for name, more in options]
    found += [
        Conversion("key", key, {"id": 1}, REGISTER, "key"),
        Conversion("key in headers", key, {"id": 1}, REGISTER | {prefixed["headers.enabled"]: "true"}, "key"),
        Conversion("members of collections", parts, held, REGISTER),
        Conversion("members of collections with references", parts, held, REGISTER | {prefixed["dereference-schema"]: "false"}),
        Conversion("optional struct", row.as_optional(), full, REGISTER),
        Conversion("text", STRING, "abc", REGISTER),
        Conversion("bytes", Schema("bytes"), b"abc", REGISTER),
        Conversion("optional bytes", Schema("bytes", optional=True), b"abc", REGISTER),
        Conversion("array", array(STRING), ["a"], REGISTER),
        Conversion("null", row.as_optional(), None, REGISTER),
        Conversion("null without schema", None, None, REGISTER),
        Conversion("null where required", row, None, REGISTER),
        Conversion("unknown", row, full, {}),
        Conversion("latest of nothing", row, full, {"apicurio.registry.find-latest": "true"}),
        Conversion("if-exists", row, full, REGISTER | {"apicurio.registry.auto-register.if-exists": "FAIL"}),
        Conversion("odd topic", row, full, REGISTER, "value", "a.b_c-d"),
    ]
    json = "ExtJsonConverter"
    money = struct("p.M", price=decimal(2), none=STRING.with_default("d").as_optional(), text=STRING, number=FLOAT64)
    amounts = {"price": Decimal("1.28"), "none": None, "text": 'q"\u00e9\n', "number": 1.5}
    found += [
        Conversion("json", envelope, event, REGISTER, converter=json),
        Conversion("json key", key, {"id": 1}, REGISTER, "key", converter=json),
        Conversion("json globalId", row, full, REGISTER | {prefixed["use-id"]: "globalId"}, converter=json),
        Conversion("json contentId", row, full, REGISTER | {prefixed["use-id"]: "contentId"}, converter=json),
        Conversion("json headers", row, full, REGISTER | {prefixed["headers.enabled"]: "true"}, converter=json),
        Conversion("json numbers", money, amounts, REGISTER | {"decimal.format": "numeric"}, converter=json),
        Conversion("json nulls", money, amounts, REGISTER | {"replace.null.with.default": "false"}, converter=json),
        Conversion("json collections", parts, held, REGISTER, converter=json),
        Conversion("json text", STRING, "abc", REGISTER, converter=json),
        Conversion("json null", None, None, REGISTER, converter=json),
        Conversion("json unknown", row, full, {}, converter=json),
        Conversion(
            "json topic",
            row,
            full,
            REGISTER | {"apicurio.registry.artifact-resolver-strategy": f"{SERDE}strategy.SimpleTopicIdStrategy"},
            converter=json,
        ),
    ]
    return found
