"""Random configurations of connectors: good, odd and bad values for the properties that the reference lists."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from .call import JSON, Call, Fields

CONNECTOR: Final = "io.debezium.connector.postgresql.PostgresConnector"

_BOOLEANS: Final = ("true", "false", "TRUE", "False", " true", "true ", "yes", "1", "0", "tru", "")
_NUMBERS: Final = (
    *("0", "1", "2", "3", "10", "100", "8192", "-1", "-2", "+5", " 7 ", "07", "1.0", "1.5", "1e3", "0x10", "1_000", "1L", "", " "),
    *("x", "NaN"),
    *("32767", "32768", "2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808"),
    *("٣", "1,000", "99999999999999999999999999", ".5", "5.", "1f", "1d", "0x1p3", "Infinity", "-0", "−1"),  # noqa: RUF001
)
_TEXTS: Final = (
    *("", " ", "  ", "\t", "x", " x ", "a,b", "a,,b", ",", " , ", "a, b ", "a,a", "public", "public.t", "public.t,public.u", "PUBLIC.T"),
    *("(", "[", "[a-", "a{2,1}", "*", "+", "?", "a**", "\\", "(?<n", "(?i)public\\..*", ".*", "public.(t|u)", "(?z)", "\\p{Foo}"),
    *("\\Q", "x)"),
    *("public.t:id", "public.t:id;public.u:a,b", "public.t:", ":id", ";", "(.*).t:pk", "public.t:id:x", "t:^id", "a:b", "a:b,c:d"),
    *("a=b", "a=b,c"),
    *("é", "日本語", "😀", "ß", "İ", "\u00a0", "\u2003x", "\u200b", "\x00", "\x1f", "a\nb", "\r\n", "'", '"', "`", "%", "%s", "${x}"),
    *("$1", "$9"),
    *("a.b.c", "..", ".", "a/b", "a b", "a-b", "a_b", "_a", "1a", "A" * 63, "a" * 64, "a" * 249, "a" * 250, "x" * 3000, "null"),
    *("none", "NONE"),
    *("true", "0", "-1", "12", "1.5", "public.t.c", "public.t.c:x", "bytes", "json", "yyyy-MM-dd", "yyyy-bb", "UTC"),
    *("Europe/Berlin", "+02:00"),
    *("a:int32", "a:int32,b:string", "int8", "a:nope", "field", "a.b,c", "*:*", "host:9092", "host", "host:x", "127.0.0.1:9092"),
    *("http://x", "://"),
)
_CLASSES: Final = (
    *("", " ", "x", "no.such.Class", "org.apache.kafka.connect.json.JsonConverter"),
    *("JsonConverter", "Json", "org.apache.kafka.connect.storage.StringConverter", "StringConverter", "String", "SimpleHeaderConverter"),
    *("org.apache.kafka.connect.storage.SimpleHeaderConverter", "org.apache.kafka.connect.converters.ByteArrayConverter", "ByteArray"),
    "io.debezium.converters.BinaryDataConverter",
    *("io.debezium.converters.ByteArrayConverter", "io.debezium.transforms.ExtractNewRecordState"),
    *("org.apache.kafka.connect.transforms.Cast", "org.apache.kafka.connect.transforms.Cast$Value", "RegexRouter", "HasHeaderKey"),
    *("io.debezium.connector.postgresql.PostgresConnector", " JsonConverter ", "jsonconverter", "é", "PostgresConnector"),
    *("Postgres", "Filter"),
    *("org/apache/kafka/connect/json/JsonConverter", "org.apache.kafka.connect.transforms.TimestampRouter", "RecordIsTombstone", "Cast"),
)
_JSON: Final = ("null", "true", "false", "0", "1", "-1", "5.0", "1E3", "1e-2", "-0", "0.10", "123456789012345678901234567890", '""')
_NESTED: Final = ("[]", "{}", '["a"]', '{"a": 1}', "[[1]]")
_HOSTS: Final = ("database.hostname", "database.port")
"""Other hosts and ports may take minutes."""
_ALIASES: Final = ("a", "b", "c", "a.b", "A", "é", "x y", "type", "predicate", "")
_WORKER_GROUPS: Final = {
    "topic.creation.default.partitions": _NUMBERS,
    "topic.creation.default.replication.factor": _NUMBERS,
    "topic.creation.default.cleanup.policy": _TEXTS,
    "topic.creation.groups": ("g", "g,h", "default", "", " ", "g,g", ",", "g, h"),
    "topic.creation.g.include": _TEXTS,
    "topic.creation.g.exclude": _TEXTS,
    "topic.creation.g.partitions": _NUMBERS,
    "topic.creation.g.replication.factor": _NUMBERS,
    "topic.creation.h.include": _TEXTS,
    "errors.tolerance": ("none", "all", "ALL", "All ", "", "x"),
    "errors.retry.timeout": _NUMBERS,
    "errors.retry.delay.max.ms": _NUMBERS,
    "errors.log.enable": _BOOLEANS,
    "errors.log.include.messages": _BOOLEANS,
    "config.action.reload": ("none", "restart", "RESTART", "Restart", "", "x"),
    "tasks.max": _NUMBERS,
    "tasks.max.enforce": _BOOLEANS,
    "exactly.once.support": ("requested", "required", "REQUIRED", "Requested", "", "x"),
    "transaction.boundary": ("poll", "interval", "connector", "POLL", "Connector", "", "x"),
    "transaction.boundary.interval.ms": _NUMBERS,
    "offsets.storage.topic": _TEXTS,
    "key.converter": _CLASSES,
    "value.converter": _CLASSES,
    "header.converter": _CLASSES,
    **{f"{kind}.converter.schemas.enable": _BOOLEANS for kind in ("key", "value", "header")},
    **{f"{kind}.converter.schemas.cache.size": _NUMBERS for kind in ("key", "value")},
    "value.converter.decimal.format": ("BASE64", "NUMERIC", "numeric", "x", ""),
    "value.converter.converter.encoding": ("UTF-8", "utf8", "x", "", "US-ASCII"),
    "value.converter.delegate.converter.type": _CLASSES,
    "value.converter.converter.type": ("key", "value", "header", "KEY", "x", ""),
    "producer.override.acks": ("all", "1", "0", "-1", "x", ""),
    "producer.override.linger.ms": _NUMBERS,
    "producer.override.compression.type": ("zstd", "gzip", "GZIP", "x", ""),
    "consumer.override.max.poll.records": _NUMBERS,
    "admin.override.retries": _NUMBERS,
    "producer.override.unknown": _TEXTS,
    "unknown.property": _TEXTS,
    "": _TEXTS,
    " ": _TEXTS,
    "é": _TEXTS,
    "database.serverTimezone": _TEXTS,
    "column.mask.with.5.chars": _TEXTS,
    "column.mask.with.x.chars": _TEXTS,
    "column.mask.hash.SHA-256.with.salt.s": _TEXTS,
    "column.truncate.to.5.chars": _TEXTS,
    "driver.connectTimeout": _NUMBERS,
    "database.applicationName": _TEXTS,
}


@dataclass(frozen=True, slots=True)
class Option:
    """A property or an option of a plugin, with values that mean something to it."""

    name: str
    type: str
    usual: tuple[str, ...] = ()
    """The recommended values and the default."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """What the reference lists: the connector's properties, and the plugins of each type with their options."""

    properties: tuple[Option, ...]
    plugins: Mapping[str, Mapping[str, tuple[Option, ...]]]

    @classmethod
    def of(cls, url: str) -> Catalog:
        """Asked from a worker."""
        # Only a validation lists recommended values.
        minimal = json.dumps({"connector.class": CONNECTOR, "name": "n"}).encode()
        checked = Call("PUT", f"/connector-plugins/{CONNECTOR}/config/validate", minimal, JSON).send(url).json
        properties = tuple(_option(entry["definition"], entry["value"]["recommended_values"]) for entry in checked["configs"])
        plugins: dict[str, dict[str, tuple[Option, ...]]] = {"transformation": {}, "predicate": {}}
        for plugin in Call("GET", "/connector-plugins?connectorsOnly=false").send(url).json:
            if plugin["type"] in plugins:
                listed = Call("GET", f"/connector-plugins/{plugin['class']}/config").send(url).json
                plugins[plugin["type"]][plugin["class"]] = tuple(_option(each, ()) for each in listed) if isinstance(listed, list) else ()
        return cls(properties, plugins)


def _option(definition: Mapping[str, Any], recommended: Sequence[Any]) -> Option:
    default = definition["default_value"]
    usual = [*(str(value) for value in recommended), *([] if default is None else [str(default)])]
    return Option(definition["name"], definition["type"], tuple(dict.fromkeys(usual)))


def configuration(random: Random, catalog: Catalog, base: Mapping[str, str]) -> Fields:
    """A configuration over ``base``, the same for each state of ``random``: a few random properties, sometimes many."""
    fields: list[tuple[str, str]] = [(name, json.dumps(value)) for name, value in base.items()]
    if random.random() < 0.1:
        fields = [field for field in fields if random.random() < 0.7]
    for _ in range(random.choice((1, 2, 3, 5, 8, 15))):
        option = random.choice(catalog.properties)
        if option.name in _HOSTS:
            continue
        fields.append((option.name, _value(random, option)))
    if random.random() < 0.5:
        for _ in range(random.choice((1, 2, 4))):
            name = random.choice(tuple(_WORKER_GROUPS))
            fields.append((name, _text(random, random.choice(_WORKER_GROUPS[name]))))
    for kind, group in (("transformation", "transforms"), ("predicate", "predicates")):
        if random.random() < 0.4:
            fields += _plugins(random, group, catalog.plugins[kind])
    if random.random() < 0.9:
        # The last of duplicates, as a client would send it; otherwise with duplicates.
        fields = list(dict(fields).items())
    if random.random() < 0.2:
        random.shuffle(fields)
    return tuple(fields)


def _plugins(random: Random, group: str, plugins: Mapping[str, tuple[Option, ...]]) -> list[tuple[str, str]]:
    aliases = random.choices(_ALIASES, weights=(20, 10, 5, 2, 2, 1, 1, 1, 1, 1), k=random.choice((1, 1, 2, 3)))
    separator = random.choice((",", ",", ",", ", ", " ,", ",,"))
    fields = [(group, _text(random, separator.join(aliases)))]
    for alias in dict.fromkeys(aliases):
        prefix = f"{group}.{alias}."
        chosen = random.choice(tuple(plugins))
        named = chosen if random.random() < 0.85 else random.choice((*_CLASSES, chosen.rsplit(".", 1)[1], f" {chosen} "))
        if random.random() < 0.95:
            fields.append((prefix + "type", _text(random, named)))
        fields += [(prefix + option.name, _value(random, option)) for option in plugins[chosen] if random.random() < 0.4]
        if group == "transforms" and random.random() < 0.3:
            fields.append((prefix + "predicate", _text(random, random.choice(_ALIASES))))
        if random.random() < 0.2:
            fields.append((prefix + "negate", _text(random, random.choice(_BOOLEANS))))
        if random.random() < 0.1:
            fields.append((prefix + "unknown", _text(random, "x")))
        if random.random() < 0.1:
            fields.append(
                (
                    prefix + random.choice(("plugin.version", "type.version")),
                    _text(random, random.choice(("1", "4.3.0", "", "[4,5)", "latest"))),
                )
            )
    return fields


def _value(random: Random, option: Option) -> str:
    pools = {"BOOLEAN": _BOOLEANS, "INT": _NUMBERS, "SHORT": _NUMBERS, "LONG": _NUMBERS, "DOUBLE": _NUMBERS, "CLASS": _CLASSES}
    if option.usual and random.random() < 0.4:
        usual = random.choice(option.usual)
        return _text(
            random, random.choice((usual, usual, usual, usual.upper(), usual.capitalize(), f" {usual}", f"{usual} ", f"{usual},x"))
        )
    pool = pools.get(option.type, _TEXTS)
    return _text(random, random.choice(pool if random.random() < 0.9 else _TEXTS))


def _text(random: Random, value: str) -> str:
    """JSON text of the value; seldom of another JSON value."""
    chance = random.random()
    if chance < 0.05:
        return random.choice(_JSON)
    return random.choice(_NESTED) if chance < 0.052 else json.dumps(value)
