"""Draws chains of transforms."""

from __future__ import annotations

from random import Random
from typing import Final

DEBEZIUM: Final = "io.debezium.transforms."
KAFKA: Final = "org.apache.kafka.connect.transforms."
Choices = tuple[tuple[str, tuple[str, ...]], ...]
UNWRAP: Final[Choices] = (
    ("drop.tombstones", ("true", "false")),
    ("delete.tombstone.handling.mode", ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")),
    (
        "add.fields",
        ("op,table,lsn", "op,source.ts_ms,ts_ms", "op:OP,source.lsn:L,before.a", "transaction.id,op", "op,source.sequence,source.snapshot"),
    ),
    ("add.headers", ("op,source.table", "db,ts_ms", "source.lsn:LL", "before.id")),
    ("add.fields.prefix", ("", "x_")),
    ("add.headers.prefix", ("", "h.")),
    ("route.by.field", ("val", "a", "region")),
    ("drop.fields.from.key", ("true",)),
    ("drop.fields.keep.schema.compatible", ("false",)),
    ("replace.null.with.default", ("false",)),
)
ROUTER: Final[Choices] = (
    ("key.enforce.uniqueness", ("false",)),
    ("key.field.name", ("__dbz_tbl",)),
    ("schema.name.adjustment.mode", ("avro",)),
)
LATER_ROUTER: Final[Choices] = (
    ("logical.destination.cache.size", ("1", "16")),
    ("key.field.regex", ("(.*)t(.)(.*)",)),
    ("key.field.replacement", ("$2",)),
)
PLAIN: Final[tuple[tuple[str, dict[str, tuple[str, ...]], Choices], ...]] = (
    ("InsertHeader", {"header": ("x",), "value.literal": ("1", "true", "abc", "1.5")}, ()),
    ("InsertField$Value", {"static.field": ("sf", "sf!", "sf?"), "static.value": ("SV",), "topic.field": ("tpc",)}, ()),
    ("ReplaceField$Value", {"exclude": ("a,val,source,Upper", "v")}, ()),
    ("ReplaceField$Value", {"renames": ("a:aa,val:vv,op:operation",)}, ()),
    ("ReplaceField$Value", {"include": ("a,val,id,op,after,m,v",)}, ()),
    ("MaskField$Value", {"fields": ("a", "val,a", "id", "op", "Upper")}, (("replace.null.with.default", ("false",)),)),
    ("Flatten$Value", {}, (("delimiter", ("_", ".")),)),
    ("HoistField$Key", {"field": ("k",)}, ()),
    ("ExtractField$Key", {"field": ("id", "zser")}, ()),
    ("RegexRouter", {"regex": ("(.*)\\.(\\w+)",), "replacement": ("$1-x.$2",)}, ()),
    ("TimestampRouter", {"topic.format": ("${topic}-${timestamp}",), "timestamp.format": ("yyyyMM", "yyyy")}, ()),
    ("SetSchemaMetadata$Value", {"schema.name": ("my.Name",), "schema.version": ("3",)}, ()),
    ("DropHeaders", {"headers": ("__debezium.context.runId,__debezium.newkey",)}, ()),
    ("HeaderFrom$Value", {"fields": ("op", "a", "id"), "headers": ("hh",), "operation": ("copy", "move")}, ()),
    ("ValueToKey", {"fields": ("op", "id")}, ()),
    ("ReplaceField$Key", {"renames": ("id:key", "zser:k,a:b")}, ()),
    ("ReplaceField$Key", {"exclude": ("id", "region,a")}, ()),
    ("MaskField$Key", {"fields": ("id", "a,zser")}, (("replacement", ("7", "x")),)),
    ("MaskField$Value", {"fields": ("a", "val", "n,m"), "replacement": ("7", "x", "2020-01-01")}, ()),
    ("Flatten$Key", {}, (("delimiter", ("_",)),)),
    ("HoistField$Value", {"field": ("line", "a b")}, ()),
    ("ExtractField$Value", {"field": ("after", "op", "id", "source")}, (("replace.null.with.default", ("false",)),)),
    ("ExtractField$Value", {"field": ("source.lsn", "after.a", "source.ts_ms"), "field.syntax.version": ("V2",)}, ()),
    ("InsertField$Key", {"static.field": ("sf",), "static.value": ("SV",)}, (("topic.field", ("tpc!", "tpc?")),)),
    ("SetSchemaMetadata$Key", {"schema.name": ("my.Key",)}, (("schema.version", ("2",)),)),
    ("Cast$Key", {"spec": ("id:string", "zser:int64,id:int64", "int8")}, ()),
    ("Filter", {}, ()),
    (
        "Cast$Value",
        {"spec": ("id:string", "a:string,val:string", "ts_ms:string", "id:int16,val:string", "n:float64")},
        (("replace.null.with.default", ("false",)),),
    ),
    (
        "TimestampConverter$Value",
        {
            "field": ("ts_ms", "a", "val"),
            "target.type": ("string", "Timestamp", "unix", "Date"),
            "format": ("yyyy-MM-dd HH:mm:ss.SSS",),
        },
        (),
    ),
)

POSTGRES: Final = "io.debezium.connector.postgresql.transforms."
DEBEZIUM_PLAIN: Final[tuple[tuple[str, dict[str, tuple[str, ...]], Choices], ...]] = (
    (DEBEZIUM + "ExtractSchemaToNewRecord", {}, ()),
    (DEBEZIUM + "SchemaChangeEventFilter", {"schema.change.event.exclude.list": ("ALTER", "CREATE,DROP")}, ()),
    (DEBEZIUM + "EnforceRecordSize", {"max.bytes": ("1000", "5000")}, (("min.field.size", ("0", "5", "50")),)),
    (DEBEZIUM + "VectorToJsonConverter", {}, ()),
    (DEBEZIUM + "SwapGeometryCoordinates", {}, ()),
    (DEBEZIUM + "GeometryFormatTransformer", {"format": ("EWKB", "WKB")}, ()),
    (POSTGRES + "DecodeLogicalDecodingMessageContent", {}, (("fields.null.include", ("true",)),)),
)
HASH: Final[Choices] = (("partition.hash.function", ("murmur", "java")),)


class _Chain:
    def __init__(self, random: Random, config: dict[str, str]) -> None:
        self.random, self.config = random, config
        self.names: list[str] = []

    def add(self, kind: str, options: dict[str, str], choices: Choices = ()) -> None:
        name = f"t{len(self.names)}"
        self.names.append(name)
        drawn = {option: self.random.choice(values) for option, values in choices if self.random.random() < 0.45}
        for option, value in ({"type": kind} | options | drawn).items():
            self.config[f"transforms.{name}.{option}"] = value


def draw_transforms(random: Random, config: dict[str, str], *, later: bool = False) -> None:
    """Add a chain to a configuration, at times with predicates. ``PREFIX`` stands for the topic prefix. ``later``: for Debezium 3.7."""
    chain = _Chain(random, config)
    if random.random() < 0.25:
        zone = random.choice(("+05:30", "Europe/Berlin", "America/New_York", "UTC"))
        chain.add(
            DEBEZIUM + "TimezoneConverter",
            {"converted.timezone": zone},
            (("include.list", ("table:t1", "source:t2:a", "table:t1,topic:PREFIX.public.t2:a;val")),),
        )
    if random.random() < 0.2:
        headers = {"header.changed.name": "Changed", "header.unchanged.name": "Unchanged"}
        chain.add(DEBEZIUM + "ExtractChangedRecordState", headers)
    if random.random() < 0.2:
        route = {"topic.regex": "(.*)\\.(public|s2)\\.(.*?)\\d+", "topic.replacement": "$1.$2.$3.all"}
        if random.random() < 0.3:
            route = {"topic.regex": "(.*)\\.(.*)", "topic.replacement": "$1.all"}
        kind = random.choice(("ByLogicalTableRouter", "ToLogicalTopicRouter" if later else "ByLogicalTableRouter"))
        if "topic.creation.default.partitions" in config:
            chain.add(DEBEZIUM + kind, route | {"key.enforce.uniqueness": "false"})
        else:
            chain.add(DEBEZIUM + kind, route, ROUTER + LATER_ROUTER if later else ROUTER)
    if random.random() < 0.2:
        _headers_to_value(chain)
    for kind, required, choices in DEBEZIUM_PLAIN:
        if random.random() < 0.08:
            drawn = {option: random.choice(values) for option, values in required.items()}
            chain.add(kind, drawn, choices)
    if "topic.creation.default.partitions" in config and random.random() < 0.5:
        fields = random.choice(("change.id", "change.id,change.a", "source.table,op", "change.val"))
        count = random.choice(("2", "3"))
        chain.add(DEBEZIUM + "partitions.PartitionRouting", {"partition.payload.fields": fields, "partition.topic.num": count}, HASH)
    if random.random() < 0.6:
        chain.add(DEBEZIUM + "ExtractNewRecordState", {}, UNWRAP)
    for _ in range(random.choice((0, 1, 1, 2))):
        kind, required, choices = random.choice(PLAIN)
        chain.add(KAFKA + kind, {option: random.choice(values) for option, values in required.items()}, choices)
    if any(name.endswith(".add.headers") for name in config):
        # After a move Debezium collects the added headers of all records (docs/differences.md).
        config.update({name: "copy" for name, value in config.items() if value == "move" and name.endswith(".operation")})
    if not chain.names:
        return
    config["transforms"] = ",".join(chain.names)
    if random.random() < 0.85:
        config["errors.tolerance"] = "all"
    _predicates(random, config, chain.names)


def _predicates(random: Random, config: dict[str, str], steps: list[str]) -> None:
    kinds: tuple[dict[str, str], ...] = (
        {"type": "RecordIsTombstone"},
        {"type": "HasHeaderKey", "name": random.choice(("__debezium.newkey", "__debezium.oldkey", "x", "__debezium.context.taskId"))},
        {"type": "TopicNameMatches", "pattern": random.choice((".*public.*", ".*\\.t\\d+", "(?i).*S2.*", ".*(message|zz_end)"))},
    )
    names: list[str] = []
    for step in steps:
        # Filter without a predicate would leave nothing.
        filters = config[f"transforms.{step}.type"] == KAFKA + "Filter"
        if not filters and random.random() > 0.25:
            continue
        name = f"p{len(names)}"
        names.append(name)
        for option, value in random.choice(kinds).items():
            config[f"predicates.{name}.{option}"] = f"{KAFKA}predicates.{value}" if option == "type" else value
        config[f"transforms.{step}.predicate"] = name
        if random.random() < 0.4:
            config[f"transforms.{step}.negate"] = "true"
    if names:
        config["predicates"] = ",".join(names)


def _headers_to_value(chain: _Chain) -> None:
    headers = "__debezium.context.taskId,__debezium.context.connectorName"
    operation = chain.random.choice(("copy", "move"))
    chain.add(DEBEZIUM + "HeaderToValue", {"headers": headers, "fields": "hTask,hKey", "operation": operation})
