"""The converters that are compared, by area, with random options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from connector.converters.converter import Side
from tests.differential.converters.schemas import Style

_KAFKA: Final = "org.apache.kafka.connect."
_CONFLUENT: Final = "io.confluent.connect."
_REGISTRY_URL: Final = "schema.registry.url"
_OF_TYPE: Final = {
    "Boolean": "boolean",
    "Double": "double",
    "Float": "float",
    "Integer": "int32",
    "Long": "int64",
    "Short": "int16",
    "ByteArray": "bytes",
}
"""Converters of one type."""
_ENCODINGS: Final = ("UTF-8", "UTF8", "ISO-8859-1", "US-ASCII", "UTF-16", "UTF-16LE", "windows-1252")


@dataclass(frozen=True, slots=True)
class Choice:
    """A converter with its options. ``bytes_as`` is the Java type in which it gets bytes."""

    name: str
    options: dict[str, str]
    side: Side
    style: Style = field(default_factory=Style)
    bytes_as: str = "buffer"
    small_ints: bool = False
    """Integers without a schema are an ``Integer`` in Java where they fit, and not a ``Long``."""

    events: bool = False
    """The records are change events with headers."""

    def with_registry(self, url: str) -> dict[str, str]:
        """Return the options with this registry, where they name one."""
        return self.options | {name: url for name in self.options if name.endswith(_REGISTRY_URL)}

    @property
    def has_registry(self) -> bool:
        """Whether it registers schemas."""
        return any(name.endswith(_REGISTRY_URL) for name in self.options)


def _flags(random: Random, *names: str, share: float = 0.35) -> dict[str, str]:
    return {name: random.choice(("true", "false")) for name in names if random.random() < share}


def _side(random: Random) -> Side:
    return random.choice(("key", "value", "value"))


def _json(random: Random) -> Choice:
    options = _flags(random, "schemas.enable", "replace.null.with.default")
    if random.random() < 0.4:
        options["decimal.format"] = random.choice(("NUMERIC", "numeric", "BASE64"))
    return Choice(f"{_KAFKA}json.JsonConverter", options, random.choice(("key", "value", "header")))


def _plain(random: Random) -> Choice:
    side: Side = random.choice(("key", "value", "header"))
    match random.randrange(5):
        case 0 | 1:
            options = {"converter.encoding": random.choice(_ENCODINGS)} if random.random() < 0.5 else {}
            return Choice(f"{_KAFKA}storage.StringConverter", options, side)
        case 2:
            return Choice(f"{_KAFKA}storage.SimpleHeaderConverter", {}, "header")
        case 3:
            name = random.choice(tuple(_OF_TYPE))
            return Choice(f"{_KAFKA}converters.{name}Converter", {}, side, Style(root=_OF_TYPE[name]), bytes_as="bytes")
    name, bytes_as = random.choice((("BinaryDataConverter", "buffer"), ("ByteArrayConverter", "bytes")))
    options = {}
    if random.random() < 0.6 and side != "header":
        options = {"delegate.converter.type": f"{_KAFKA}json.JsonConverter"}
        options |= {f"delegate.converter.type.{option}": flag for option, flag in _flags(random, "schemas.enable").items()}
    return Choice(f"io.debezium.converters.{name}", options, side, Style(root=random.choice((None, "bytes"))), bytes_as=bytes_as)


def _avro(random: Random) -> Choice:
    options = {_REGISTRY_URL: "mock://avro"} | _flags(
        random,
        "connect.meta.data",
        "enhanced.avro.schema.support",
        "generalized.sum.type.support",
        "scrub.invalid.names",
        "discard.type.doc.default",
        "allow.optional.map.keys",
        "ignore.default.for.nullables",
    )
    style = Style(odd=random.choice((0, 0, 0.1)) if options.get("scrub.invalid.names") != "true" else 0.3, sums=random.random() < 0.4)
    return Choice(f"{_CONFLUENT}avro.AvroConverter", options, _side(random), style, small_ints=True)


def _json_schema(random: Random) -> Choice:
    options = {_REGISTRY_URL: "mock://json"} | _flags(
        random,
        "object.additional.properties",
        "use.optional.for.nonrequired",
        "generalized.sum.type.support",
        "ignore.default.for.nullables",
        "flatten.singleton.unions",
    )
    if random.random() < 0.4:
        options["decimal.format"] = random.choice(("NUMERIC", "BASE64"))
    return Choice(f"{_CONFLUENT}json.JsonSchemaConverter", options, _side(random), Style(sums=random.random() < 0.4))


def _protobuf(random: Random) -> Choice:
    options = {_REGISTRY_URL: "mock://protobuf"} | _flags(
        random,
        "optional.for.nullables",
        "wrapper.for.nullables",
        "scrub.invalid.names",
        "generalized.sum.type.support",
        "ignore.default.for.nullables",
        "enhanced.protobuf.schema.support",
        "skip.known.types",
    )
    odd = 0.3 if options.get("scrub.invalid.names") == "true" else random.choice((0, 0, 0.1))
    return Choice(
        f"{_CONFLUENT}protobuf.ProtobufConverter",
        options,
        _side(random),
        Style(odd=odd, sums=random.random() < 0.4, root=random.choice(("struct", "struct", None))),
    )


def _cloud_events(random: Random) -> Choice:
    flags = ("extension.attributes.enable", "opentelemetry.tracing.attributes.enable", "json.schemas.enable")
    options = _flags(random, *flags, "json.replace.null.with.default", "schema.data.name.source.header.enable")
    if random.random() < 0.3:
        options["json.decimal.format"] = random.choice(("NUMERIC", "BASE64"))
    if random.random() < 0.4:
        options["schema.name.adjustment.mode"] = random.choice(("none", "avro", "avro_unicode"))
    if random.random() < 0.2:
        options["schema.cloudevents.name"] = random.choice(("com.example.Event", "my-Name", "é"))
    if random.random() < 0.5:
        parts = [f"{part}:{random.choice(('header', 'generate'))}" for part in ("id", "type", "traceparent", "dataSchemaName")]
        options["metadata.source"] = ",".join((random.choice(("value", "header")), *random.sample(parts, random.randint(0, 4))))
    if random.random() < 0.3:
        options |= {"data.serializer.type": "avro", f"avro.{_REGISTRY_URL}": "mock://events"}
        if random.random() < 0.5:
            options["serializer.type"] = "avro"
    odd = random.choice((0, 0.05))
    return Choice("io.debezium.converters.CloudEventsConverter", options, "value", Style(odd=odd), events=True, small_ints=True)


AREAS: Final[dict[str, Callable[[Random], Choice]]] = {
    "json": _json,
    "plain": _plain,
    "avro": _avro,
    "json-schema": _json_schema,
    "protobuf": _protobuf,
    "cloud-events": _cloud_events,
}
"""What chooses a converter, by the name of its area."""
NEED_CONFLUENT: Final = frozenset({"avro", "json-schema", "protobuf", "cloud-events"})
