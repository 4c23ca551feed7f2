"""Random configurations of transforms and predicates."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from connector.transforms.catalog import transforms_of
from tests.differential.transforms.parts import NAMES, Json
from tests.differential.transforms.records import HEADERS, Record

KAFKA: Final = "org.apache.kafka.connect.transforms"
DEBEZIUM: Final = "io.debezium.transforms"
_ODD: Final = (
    "",
    " ",
    ",",
    "x",
    "null",
    " true",
    "TRUE",
    "0",
    "-1",
    "99999999999",
    "1.5",
    "a,,b",
    "a,a",
    "a:b:c",
    ":",
    "$",
    "${x}",
    "ä",
    ".",
)
_PREDICATES: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("TopicNameMatches", {"pattern": ".*"}),
    ("TopicNameMatches", {"pattern": "s\\.public\\..*"}),
    ("TopicNameMatches", {"pattern": "(?i)T"}),
    ("HasHeaderKey", {"name": "h"}),
    ("HasHeaderKey", {"name": "__op"}),
    ("RecordIsTombstone", {}),
)
_IN_PLACE: Final = ("SwapGeometryCoordinates", "GeometryFormatTransformer", "EnforceRecordSize", "TimezoneConverter")
Options = dict[str, str]


class ConfigurationMaker:
    """Makes configurations whose options name what is in the records, at times."""

    def __init__(self, random: Random, records: Sequence[Record], version: str, only: str | None = None) -> None:
        self.random: Final = random
        self._paths: Final = sorted({path for record in records for side in ("key", "value") for path in _paths(_schema(record[side]))})
        self._unstable: Final = {path for record in records for path in _paths(_schema(record["value"]), only_unstable=True)}
        self._tops: Final = sorted({path for path in self._paths if "." not in path})
        self._rows: Final = sorted({path.split(".", 1)[1] for path in self._paths if path.startswith(("after.", "before."))})
        self._headers: Final[list[str]] = sorted({name for record in records for name, _ in record["headers"]}) + list(HEADERS)
        known = {each.name for each in transforms_of(version)}
        self._steps: Final = [(name, make) for name, make in self._all().items() if name in known and (only is None or only in name)]

    def configuration(self) -> dict[str, str]:
        """Return a connector's properties with a chain of one to three steps."""
        config = {"name": "c", "connector.class": "io.debezium.connector.postgresql.PostgresConnector"}
        aliases = ["a", "b", "c"][: self.random.choice((1, 1, 1, 2, 3))]
        predicates: list[str] = []
        used: list[str] = []
        shared = False
        for alias in aliases:
            name, make = self.random.choice(self._steps)
            if shared and name.endswith(_IN_PLACE):
                # The key holds structs of the value, which these transforms change in place in the reference.
                continue
            shared = shared or ".ValueToKey" in name
            used.append(alias)
            options = self._changed(make())
            config[f"transforms.{alias}.type"] = name
            config |= {f"transforms.{alias}.{option}": value for option, value in options.items()}
            if self.random.random() < (0.7 if name.endswith("transforms.Filter") else 0.15):
                predicates.append(f"p{alias}")
                config[f"transforms.{alias}.predicate"] = f"p{alias}"
                if self.random.random() < 0.4:
                    config[f"transforms.{alias}.negate"] = self.random.choice(("true", "false", "TRUE", "no"))
                kind, of_kind = self.random.choice(_PREDICATES)
                config[f"predicates.p{alias}.type"] = f"{KAFKA}.predicates.{kind}"
                config |= {f"predicates.p{alias}.{option}": value for option, value in self._changed(dict(of_kind)).items()}
        config["transforms"] = ",".join(used)
        if predicates:
            config["predicates"] = ",".join(predicates)
        return config

    def _changed(self, options: Options) -> Options:
        """Return the options; some are missing or odd."""
        draw = self.random.random
        found = {name: value for name, value in options.items() if draw() >= 0.02}
        for name, value in found.items():
            if draw() < 0.03:
                found[name] = self.random.choice(_ODD)
            elif draw() < 0.05:
                found[name] = self._pick(f" {value} ", f"{value} ", f" {value}", value.swapcase())
        return found

    def _pick(self, *values: str) -> str:
        return self.random.choice(values)

    def _maybe(self, chance: float, name: str, value: str) -> Options:
        return {name: value} if self.random.random() < chance else {}

    def _name(self) -> str:
        """Return the name of a field at the top, or of any."""
        draw = self.random.random()
        if self._tops and draw < 0.8:
            return self.random.choice(self._tops)
        return self.random.choice(NAMES)

    def _path(self) -> str:
        draw = self.random.random()
        if self._paths and draw < 0.9:
            return self.random.choice(self._paths)
        return self.random.choice(("a.b", "after.id", "change.id", "after.none", "a..b", "`a.b`", "after.`a.b`"))

    def _column(self) -> str:
        return self.random.choice(self._rows) if self._rows and self.random.random() < 0.8 else self._name()

    def _listed(self, name: Callable[[], str], most: int = 3) -> str:
        return ",".join(name() for _ in range(self.random.randint(1, most)))

    def _header(self) -> str:
        return self.random.choice(self._headers)

    def _flag(self) -> str:
        return self._pick("true", "false")

    def _both(self, name: str, make: Callable[[], Options]) -> dict[str, Callable[[], Options]]:
        def filled() -> Options:
            return make() | self._maybe(0.3, "replace.null.with.default", self._flag())

        return {f"{KAFKA}.{name}$Value": filled, f"{KAFKA}.{name}$Key": filled}

    def _all(self) -> dict[str, Callable[[], Options]]:
        return {
            **self._both("Cast", self._cast),
            **self._both("ExtractField", self._extract),
            **self._both("Flatten", lambda: self._maybe(0.6, "delimiter", self._pick("_", ".", "", "::"))),
            **self._both("HeaderFrom", self._header_from),
            **self._both("HoistField", lambda: {"field": self._name()}),
            **self._both("InsertField", self._insert_field),
            **self._both("MaskField", self._mask),
            **self._both("ReplaceField", self._replace),
            **self._both("SetSchemaMetadata", self._metadata),
            **self._both("TimestampConverter", self._timestamp),
            f"{KAFKA}.DropHeaders": lambda: {"headers": self._listed(self._header)},
            f"{KAFKA}.InsertHeader": self._insert_header,
            f"{KAFKA}.RegexRouter": lambda: {
                "regex": self._regex(),
                "replacement": self._pick("$1", "x-$2", "new", "$3_$1", "${topic}", "a\\$b", ""),
            },
            f"{KAFKA}.TimestampRouter": self._timestamp_router,
            f"{KAFKA}.ValueToKey": lambda: (
                {"fields": self._listed(self._name)} | self._maybe(0.3, "replace.null.with.default", self._flag())
            ),
            f"{KAFKA}.Filter": dict,
            f"{DEBEZIUM}.ExtractNewRecordState": self._unwrap,
            f"{DEBEZIUM}.ExtractChangedRecordState": lambda: (
                self._maybe(0.8, "header.changed.name", "changed")
                | self._maybe(0.8, "header.unchanged.name", self._pick("unchanged", "changed"))
            ),
            f"{DEBEZIUM}.ExtractSchemaToNewRecord": dict,
            f"{DEBEZIUM}.outbox.EventRouter": self._outbox,
            f"{DEBEZIUM}.ByLogicalTableRouter": self._logical,
            f"{DEBEZIUM}.ToLogicalTopicRouter": self._logical,
            f"{DEBEZIUM}.partitions.PartitionRouting": self._partition,
            f"{DEBEZIUM}.HeaderToValue": self._header_to_value,
            f"{DEBEZIUM}.TimezoneConverter": self._timezone,
            f"{DEBEZIUM}.SwapGeometryCoordinates": lambda: self._maybe(0.5, "srids", self._pick("4326", "4326,3857", "0", "x", "")),
            f"{DEBEZIUM}.GeometryFormatTransformer": lambda: self._maybe(0.8, "format", self._pick("wkb", "ewkb", "EWKB", "x")),
            f"{DEBEZIUM}.VectorToJsonConverter": dict,
            f"{DEBEZIUM}.EnforceRecordSize": lambda: (
                {"max.bytes": self._pick("1", "1000", "1200", "1500", "100000", "0")}
                | self._maybe(0.5, "compression.ratio", self._pick("0.5", "1", "2.0", "0", "-1", "1e2"))
                | self._maybe(0.8, "min.field.size", self._pick("0", "1", "5", "-1"))
            ),
            f"{DEBEZIUM}.SchemaChangeEventFilter": lambda: {
                "schema.change.event.exclude.list": self._listed(
                    lambda: self._pick("CREATE", "ALTER", "DROP", "TRUNCATE", "DATABASE", "create")
                )
            },
            "io.debezium.connector.postgresql.transforms.DecodeLogicalDecodingMessageContent": lambda: self._maybe(
                0.5, "fields.null.include", self._flag()
            ),
        }

    def _cast(self) -> Options:
        def kind() -> str:
            return self._pick("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string", "STRING", "bytes")

        draw = self.random.random()
        if draw < 0.2:
            return {"spec": kind()}
        return {"spec": self._listed(lambda: f"{self._name()}:{kind()}")}

    def _extract(self) -> Options:
        if self.random.random() < 0.4:
            return {"field": self._path(), "field.syntax.version": self._pick("V1", "V2", "V2", "v2", "V3")}
        return {"field": self._name()}

    def _header_from(self) -> Options:
        count = self.random.choice((1, 1, 2, 3))
        headers = count if self.random.random() < 0.95 else 2
        return {
            "fields": ",".join(self._name() for _ in range(count)),
            "headers": ",".join(self._header() for _ in range(headers)),
            "operation": self._pick("move", "copy", "copy", "Move"),
        }

    def _insert_field(self) -> Options:
        def name() -> str:
            return self._pick(self._name(), "new", "new2", "__x") + self._pick("", "", "!", "?")

        return {
            **self._maybe(0.5, "topic.field", name()),
            **self._maybe(0.4, "partition.field", name()),
            **self._maybe(0.05, "offset.field", name()),
            **self._maybe(0.4, "timestamp.field", name()),
            **self._maybe(0.5, "static.field", name()),
            **self._maybe(0.6, "static.value", self._pick("v", "1", "", "ä")),
        }

    def _mask(self) -> Options:
        return {"fields": self._listed(self._name)} | self._maybe(0.6, "replacement", self._pick("0", "x", "-7", "1.5", "300", "", "***"))

    def _replace(self) -> Options:
        return {
            **self._maybe(0.5, "exclude", self._listed(self._name)),
            **self._maybe(0.4, "include", self._listed(self._name)),
            **self._maybe(0.5, "renames", self._listed(lambda: f"{self._name()}:{self._pick('n1', 'n2', self._name())}")),
        }

    def _metadata(self) -> Options:
        return self._maybe(0.8, "schema.name", self._pick("n", "a.b.C", "ä-1", "")) | self._maybe(
            0.6, "schema.version", self._pick("1", "7", "-1", "x")
        )

    def _timestamp(self) -> Options:
        return {
            "target.type": self._pick("string", "unix", "Date", "Time", "Timestamp", "date"),
            **self._maybe(0.8, "field", self._name()),
            **self._maybe(0.7, "format", self._pick("yyyy-MM-dd", "yyyy-MM-dd'T'HH:mm:ss.SSSX", "HH:mm", "yyyyMMddHHmmssSSS", "x", "")),
            **self._maybe(0.5, "unix.precision", self._pick("milliseconds", "seconds", "microseconds", "nanoseconds", "Seconds")),
        }

    def _insert_header(self) -> Options:
        literal = self._pick(
            "x",
            "1",
            "300",
            "70000",
            "3.5",
            "true",
            "",
            " a ",
            "null",
            "[1,2]",
            '{"a":1}',
            "2021-01-02",
            '[1,"x"]',
            '[1.5,"x"]',
            '[0.1,true,"2021-01-02"]',
            "[]",
            "[null]",
            '{"a":1,"b":"x"}',
            "{1:2}",
            "{}",
            "1e400",
            "NaN",
            "99999999999999999999",
        )
        return {"header": self._header(), "value.literal": literal}

    def _timestamp_router(self) -> Options:
        return self._maybe(
            0.6, "topic.format", self._pick("${topic}-${timestamp}", "x", "${timestamp}${topic}${topic}", "$1", "a\\b${topic}")
        ) | self._maybe(0.6, "timestamp.format", self._pick("yyyy", "yyyy-MM-dd'T'HH", "EEE", "u", "D w"))

    def _regex(self) -> str:
        return self._pick(".*", "(.*)\\.(.*)\\.(.*)", "s\\.(.*)", "([^.]+)\\.([^.]+)", "(?<topic>.*)", "t", "(", "", "x", "(.*)(\\d+)?")

    def _unwrap(self) -> Options:
        def reference() -> str:
            found = self._pick(
                "op",
                "table",
                "source.ts_ms",
                "lsn",
                "transaction.id",
                "ts_ms",
                "after.id",
                "before.id",
                "source.snapshot",
                "db",
                "x",
                "ts_us",
            )
            return found + (f":{self._pick('n', 'a', 'id', '')}" if self.random.random() < 0.2 else "")

        return {
            **self._maybe(
                0.7,
                "delete.tombstone.handling.mode",
                self._pick("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone", "Rewrite", "none"),
            ),
            **self._maybe(0.2, "route.by.field", self._column()),
            **self._maybe(0.5, "add.fields", self._listed(reference)),
            **self._maybe(0.2, "add.fields.prefix", self._pick("", "x_", "__")),
            **self._maybe(0.4, "add.headers", self._listed(reference)),
            **self._maybe(0.2, "add.headers.prefix", self._pick("", "x_")),
            **self._maybe(0.3, "drop.fields.header.name", self._header()),
            **self._maybe(0.3, "drop.fields.from.key", self._flag()),
            **self._maybe(0.3, "drop.fields.keep.schema.compatible", self._flag()),
            **self._maybe(0.2, "replace.null.with.default", self._flag()),
            **self._maybe(0.03, "drop.tombstones", self._flag()),
            **self._maybe(0.03, "delete.handling.mode", "rewrite"),
        }

    def _outbox(self) -> Options:
        def column() -> str:
            return self._pick("id", "aggregateid", "type", "payload", "ts", "version", "a", "aggregatetype", "none")

        def placement() -> str:
            return (
                column()
                + self._pick(":header", ":envelope", ":envelope", ":partition", ":x", "")
                + self._pick("", "", ":alias", ":payload")
            )

        return {
            **self._maybe(0.1, "table.field.event.id", column()),
            **self._maybe(0.15, "table.field.event.key", column()),
            **self._maybe(0.1, "table.field.event.type", column()),
            **self._maybe(0.1, "table.field.event.payload", column()),
            **self._maybe(0.25, "table.field.event.timestamp", self._pick("ts", "ts", column())),
            **self._maybe(0.5, "table.fields.additional.placement", self._listed(placement)),
            **self._maybe(0.3, "table.field.additional.missing", self._pick("ignore", "error", "Ignore", "x")),
            **self._maybe(0.3, "table.field.event.schema.version", self._pick("version", column())),
            **self._maybe(0.4, "table.op.invalid.behavior", self._pick("warn", "error", "fatal", "x")),
            **self._maybe(0.5, "table.expand.json.payload", self._flag()),
            **self._maybe(0.3, "table.json.payload.null.behavior", self._pick("ignore", "optional_bytes", "x")),
            **self._maybe(0.3, "table.json.payload.empty.array.behavior", self._pick("ignore", "optional_string", "x")),
            **self._maybe(0.1, "field.name.adjustment.mode", self._pick("none", "avro", "avro_unicode", "x")),
            **self._maybe(0.15, "route.by.field", column()),
            **self._maybe(0.2, "route.topic.regex", self._pick("(?<routedByValue>.*)", "(.*)", "o(.*)", "x", "(")),
            **self._maybe(0.2, "route.topic.replacement", self._pick("t.${routedByValue}", "$1", "fixed", "$2", "")),
            **self._maybe(0.4, "route.tombstone.on.empty.payload", self._flag()),
        }

    def _logical(self) -> Options:
        return {
            "topic.regex": self._regex(),
            "topic.replacement": self._pick("$1", "all", "$3", "s.all", "${topic}", "$1.all", ""),
            **self._maybe(0.4, "key.enforce.uniqueness", self._flag()),
            **self._maybe(0.3, "key.field.regex", self._regex()),
            **self._maybe(0.4, "key.field.replacement", self._pick("$1", "k", "$3", "")),
            **self._maybe(0.2, "key.field.name", self._pick("id", "k", self._name())),
            **self._maybe(0.1, "logical.table.cache.size", self._pick("1", "0", "-1", "x")),
        }

    def _partition(self) -> Options:
        def path() -> str:
            names = [f"{self._pick('change', 'after', 'before')}.{self._column()}", self._path(), "op", "source.table"]
            # Their hash differs from run to run in the reference.
            return self.random.choice([name for name in names if not self._unstable & {name, name.replace("change.", "after.", 1)}])

        return {
            "partition.payload.fields": self._listed(path),
            "partition.topic.num": self._pick("1", "2", "7", "64", "0", "-1"),
            **self._maybe(0.4, "partition.hash.function", self._pick("java", "murmur", "JAVA", "x")),
        }

    def _header_to_value(self) -> Options:
        count = self.random.choice((1, 1, 2))
        fields = count if self.random.random() < 0.95 else 2

        def target() -> str:
            return self._pick("new", self._name(), f"after.{self._pick('new', self._column())}", "n.m", "before.x", self._path())

        return {
            "headers": ",".join(self._header() for _ in range(count)),
            "fields": ",".join(target() for _ in range(fields)),
            "operation": self._pick("move", "copy", "MOVE", "x"),
        }

    def _timezone(self) -> Options:
        def entry() -> str:
            table = self._pick("t", "orders", "public.t", "s.public.t", "none")
            draw = self.random.random()
            if draw < 0.3:
                return f"source:{table}"
            if draw < 0.5:
                return f"topic:{self._pick('s.public.t', 't')}:{self._column()}"
            return f"source:{table}:{self._column()}" if draw < 0.75 else self._column()

        return {
            "converted.timezone": self._pick("+02:00", "Europe/Berlin", "America/New_York", "UTC", "Asia/Kolkata", "-05:30", "Z", "x"),
            **self._maybe(0.3, "include.list", self._listed(entry, 2)),
            **self._maybe(0.3, "exclude.list", self._listed(entry, 2)),
        }


def _schema(text: str | None) -> Json | None:
    found: Any = None if text is None else json.loads(text)["schema"]
    return found  # type: ignore[no-any-return]


def _paths(schema: Json | None, prefix: str = "", *, only_unstable: bool = False) -> list[str]:
    """The paths of all fields of a struct, and of the structs in it; or only those that hold structs or Java's arrays of bytes."""
    found: list[str] = []
    if schema is None:
        return found
    arrays = str(schema.get("name")).startswith("io.debezium.data.")
    for each in schema.get("fields", ()):
        unstable = '"struct"' in json.dumps(each) or "io.debezium.data.Bits" in json.dumps(each) or (arrays and each["type"] == "bytes")
        if unstable or not only_unstable:
            found.append(f"{prefix}{each['field']}")
        if each["type"] == "struct":
            found += _paths(each, f"{prefix}{each['field']}.", only_unstable=only_unstable)
    return found
