"""An outbox table, read through ``EventRouter``."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final

from .configuration import draw_configuration
from .kinds import HSTORE
from .literals import quote
from .run import Outcome, Run
from .world import World

PAYLOADS: Final = (
    '{"a":1,"b":"x"}', "{}", "[]", "[1,2.5]", '[{"a":1},{"b":null}]', "plain", '{"n":null}', '{"d":{"e":[{"f":1.5}]}}', "12", "true",
    "null", '""', '{"big":12345678901234567890}', '{"u":"é😀"}', '{"a":[]}', '{"a":[null]}', '{"a":[[1],[2]]}', '{"1st":1,"b-c":2}',
    '{"a": 1e3}', '{"x":{"y":{}}}', "", '  {"sp":1}', '{"a":1', '{"i":3000000000,"j":1.0}', '{"a":[1,"x"]}', '{"k":"' + "z" * 600 + '"}',
)  # fmt: skip
OPTIONS: Final[tuple[tuple[float, str, tuple[str, ...]], ...]] = (
    (0.6, "table.expand.json.payload", ("true",)),
    (0.4, "table.json.payload.null.behavior", ("ignore", "optional_bytes")),
    (
        0.5,
        "table.fields.additional.placement",
        (
            "type:header:eventType", "tenant:envelope,n:header", "num:envelope,ts:header:when", "n:partition", "hdr:header,ver:envelope:v",
            "missing:header", "tenant:envelope", "type:header,n:envelope,num:header",
        ),
    ),
    (0.3, "table.field.additional.missing", ("ignore",)),
    (0.3, "table.field.event.key", ("tenant", "n", "id")),
    (0.3, "table.field.event.timestamp", ("ts", "n")),
    (0.2, "table.field.event.schema.version", ("ver",)),
    (0.3, "table.op.invalid.behavior", ("error", "warn", "fatal")),
    (0.3, "route.topic.regex", ("(?<routedByValue>.*)r", "(.*)")),
    (0.3, "route.by.field", ("tenant", "type", "aggregatetype")),
    (0.3, "route.tombstone.on.empty.payload", ("true",)),
    (0.2, "table.field.event.payload", ("tenant", "payload")),
    (0.1, "table.field.event.id", ("n", "id")),
)  # fmt: skip
KEPT: Final = (
    "decimal.handling.mode", "time.precision.mode", "binary.handling.mode", "hstore.handling.mode", "tombstones.on.delete",
    "provide.transaction.metadata", "schema.name.adjustment.mode", "field.name.adjustment.mode", "column.propagate.source.type",
    "message.key.columns",
)  # fmt: skip
PARTITIONS: Final = "topic.creation.default.partitions"
CONVERTERS: Final = (
    "org.apache.kafka.connect.storage.StringConverter",
    "io.debezium.converters.BinaryDataConverter",
    "org.apache.kafka.connect.json.JsonConverter",
)


def run_outbox(run: Run) -> Outcome:
    """Rows of an outbox, then changes that an outbox must not have."""
    random = run.random
    with run.opened() as world:
        payload = random.choice([kind for kind in ("jsonb", "json", "text", "varchar(9999)", "bytea", "hstore") if kind in _known(world)])
        name = random.choice(("uuid", "int", "text"))
        world.execute(
            f"CREATE TABLE outbox (id {name} PRIMARY KEY, aggregatetype text {random.choice(('NOT NULL', ''))},"
            f" aggregateid {random.choice(('text', 'int', 'uuid'))}, type varchar(20), payload {payload} {random.choice(('', 'NOT NULL'))},"
            " ts timestamp, num numeric(10,2), tenant text DEFAULT 'dd', n int, ver int, hdr boolean)"
        )
        run.config = draw_outbox(random, later=run.place.later)
        run.rules = replace(run.rules, exact=False, partitions=PARTITIONS in run.config)
        for _ in range(random.randint(0, 3)):
            _insert(world, payload, name)
        if outcome := run.create():
            return outcome
        run.silence(0.8)
        for _ in range(random.randint(8, 25)):
            _insert(world, payload, name)
        if world.chance(0.5):
            world.execute("UPDATE outbox SET n = 2 WHERE n = 1")
            world.execute("DELETE FROM outbox WHERE n = 2")
        if world.chance(0.3):
            run.silence()
            world.execute("ALTER TABLE outbox ADD COLUMN extra text")
            for _ in range(2):
                _insert(world, payload, name)
        if world.chance(0.3):
            world.execute("TRUNCATE outbox")
        run.silence()
        outcome = run.compared()
        if PARTITIONS in run.config and "InvalidTopicException" in run.real.trace:
            # Ours leaves the record out (docs/differences.md).
            return Outcome("ok, until a name that no topic can have")
        return outcome


def _known(world: World) -> set[str]:
    return {"varchar(9999)", *world.kinds}


def draw_outbox(random: Random, *, later: bool = False) -> dict[str, str]:
    """Properties of a connector that reads the outbox. ``later``: for Debezium 3.7."""
    config = {f"transforms.o.{name}": random.choice(values) for probability, name, values in OPTIONS if random.random() < probability}
    topic = random.choice(("outbox.event.${routedByValue}", "ev.${routedByValue}", "${routedByValue}.x"))
    config |= {
        "transforms": "o",
        "transforms.o.type": "io.debezium.transforms.outbox.EventRouter",
        # The topics of both sides must differ, and show whose they are.
        "transforms.o.route.topic.replacement": f"PREFIX.{topic}",
        "errors.tolerance": "all",
        "table.include.list": "public.outbox",
    }
    if random.random() < 0.3:
        config["value.converter"] = random.choice(CONVERTERS)
        if "Json" in config["value.converter"]:
            config["value.converter.schemas.enable"] = "false"
    if "transforms.o.table.field.event.schema.version" in config:
        # Debezium has one schema for each version, whatever the payload's shape is (docs/differences.md).
        config.pop("transforms.o.table.expand.json.payload", None)
    if "partition" in config.get("transforms.o.table.fields.additional.placement", ""):
        config |= {PARTITIONS: "3", "topic.creation.default.replication.factor": "1"}
    drawn = draw_configuration(random, [], transforms=0, later=later)
    return config | {name: value for name, value in drawn.items() if name in KEPT}


def _insert(world: World, kind: str, name: str) -> None:
    random = world.random
    text = random.choice(PAYLOADS)
    if kind in {"json", "jsonb"} and world.chance(0.5):
        text = random.choice([payload for payload in PAYLOADS if payload[:1] in {"{", "["}])
    payload = "NULL" if world.chance(0.12) else quote(text)
    if kind == "bytea" and payload != "NULL":
        payload = f"convert_to({payload}, 'UTF8')"
    elif kind == "hstore":
        payload = HSTORE(random, False)
    key = f"'{random.getrandbits(128):032x}'" if name == "uuid" else quote(str(random.randint(1, 10**6)))
    values = (
        key,
        random.choice(("'order'", "'user'", "'order'", "NULL", "'a b'", "''")),
        random.choice(("'1'", "'77'", "NULL", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'")),
        random.choice(("NULL", "'Created'", "'Ünï'")),
        payload,
        # Kafka takes no record from before 1970.
        random.choice(("'2024-02-29 12:34:56.789012'", "'1970-01-01 00:00:00'", "'2262-04-12'", "NULL")),
        random.choice(("1.5", "NULL", "-3")),
        random.choice(("DEFAULT", "NULL", "'t1'", "''")),
        random.choice(("0", "1", "NULL", "2")),
        random.choice(("1", "NULL", "2")),
        random.choice(("true", "NULL")),
    )
    world.execute(f"INSERT INTO outbox VALUES ({', '.join(values)})")
