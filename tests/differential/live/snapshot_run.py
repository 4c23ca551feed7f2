"""Snapshots that signals ask for: incremental and blocking ones, by the table of signals and by Kafka, while rows change."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from .change_run import add_tables
from .changes import change, insert
from .comparison import Reads
from .configuration import draw_configuration
from .run import Outcome, Run
from .signals import EXECUTE, Signals, draw_snapshot, file_of
from .world import World

KEPT: Final = (
    "decimal.handling.mode", "time.precision.mode", "binary.handling.mode", "hstore.handling.mode", "include.unknown.datatypes",
    "provide.transaction.metadata", "tombstones.on.delete", "publish.via.partition.root", "column.propagate.source.type",
    "schema.name.adjustment.mode", "field.name.adjustment.mode", "event.processing.failure.handling.mode",
    "column.truncate.to.3.chars", "column.mask.with.4.chars", "interval.handling.mode", "publication.autocreate.mode",
    "skip.messages.without.change", "schema.refresh.mode",
)  # fmt: skip
"""The properties that leave rows comparable."""


IGNORED: Final = "heartbeat|transaction|dbz_signal|-signals|beats"


def run_snapshots(run: Run) -> Outcome:
    """Rounds of signals and changes."""
    random = run.random
    with run.opened() as world:
        world.plain = True
        # The driver cannot read timetz of 24:00 in chunks.
        world.kinds = {name: kind for name, kind in world.kinds.items() if not name.startswith("timetz")}
        add_tables(world)
        for table in world.tables:
            for _ in range(random.randint(0, 25)):
                insert(world, table)
        pausing = world.chance(0.4)
        run.config = _configuration(run, pausing=pausing)
        reads: Reads = random.choice(("apart", "apart", "last"))
        run.rules = replace(
            run.rules, reads=reads, sequences=False, ignore=IGNORED, exact=False, edges="snapshot.max.threads" not in run.config
        )
        admin = AdminClient({"bootstrap.servers": run.place.bootstrap})
        for future in admin.create_topics([NewTopic(f"{side.name}-signals", 1, 1) for side in run.sides]).values():
            future.result()
        if outcome := run.create():
            return outcome
        # Rows that are written from now on may be read in chunks too: dates before Christ stay out.
        going = run.mark()
        signals = Signals(run, world)
        for _ in range(random.choice((1, 2, 3))):
            if going:
                _round(run, world, signals, pausing=pausing, changing=reads == "last")
                going = run.mark()
        if "signal.file" in run.config:
            for side in run.sides:
                file_of(run, side.name).unlink(missing_ok=True)
        return run.compared(complete=going)


def _configuration(run: Run, *, pausing: bool) -> dict[str, str]:
    random = run.random
    drawn = draw_configuration(random, [], transforms=0, later=run.place.later)
    config = {name: value for name, value in drawn.items() if name in KEPT}
    config |= {
        "signal.data.collection": "public.dbz_signal",
        "incremental.snapshot.chunk.size": random.choice(("1", "3", "7", "1024")),
        "snapshot.mode": random.choice(("initial", "no_data")),
        "skipped.operations": "none",
        "signal.poll.interval.ms": "200",
        "signal.enabled.channels": "source,kafka",
        "signal.kafka.topic": "PREFIX-signals",
        "signal.kafka.bootstrap.servers": run.place.bootstrap,
        "signal.kafka.groupId": "PREFIX-signals-group",
    }
    if run.place.signals is not None and random.random() < 0.4:
        config |= {"signal.enabled.channels": "source,kafka,file", "signal.file": str(file_of(run, "PREFIX"))}
    if random.random() < 0.3:
        config["incremental.snapshot.watermarking.strategy"] = "insert_delete"
    if random.random() < 0.35:
        # Windows close with later transactions, which the heartbeat's query makes.
        config |= {"read.only": "true", "heartbeat.interval.ms": "200"}
        if random.random() < 0.5:
            config["signal.enabled.channels"] = config["signal.enabled.channels"].removeprefix("source,")
        config["heartbeat.action.query"] = "INSERT INTO public.beats VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET n = beats.n + 1"
    # With pauses or threads, their order is that of time.
    if not pausing and random.random() < 0.4:
        config |= {"notification.enabled.channels": "sink", "notification.sink.topic.name": "PREFIX-notes"}
    if random.random() < 0.2:
        config["incremental.snapshot.allow.schema.changes"] = "true"
    elif random.random() < 0.2:
        config["snapshot.max.threads"] = "2"
    return config


def _round(run: Run, world: World, signals: Signals, *, pausing: bool, changing: bool) -> None:
    random = run.random
    channel = random.choice(run.config["signal.enabled.channels"].split(","))
    form = random.random()
    tables = random.sample(world.tables, min(len(world.tables), random.choice((1, 2))))
    kind = "incremental" if random.random() < 0.7 else "blocking"
    if form < 0.1:
        signals.send("log", {"message": "at {}"}, channel)
    elif form < 0.15:
        signals.send(random.choice(("unknown-signal", EXECUTE)), random.choice(("{", "not JSON", '{"type": "other"}', "")), "source")
    elif form < 0.25:
        # Without a snapshot they have no effect.
        kind = random.choice(("pause-snapshot", "resume-snapshot", "stop-snapshot"))
        signals.send(kind, {"type": "incremental"}, channel)
    else:
        signals.send(EXECUTE, draw_snapshot(world, tables, kind), channel)
        if pausing and kind == "incremental":
            # Debezium never continues a snapshot that is paused before its first chunk (docs/differences.md).
            run.silence(0.4)
            signals.send("pause-snapshot", {"type": "incremental"}, channel)
            run.silence(0.4)
            if changing:
                change(world)
            signals.send("resume-snapshot", {"type": "incremental"}, channel)
        if changing and kind == "incremental":
            for _ in range(random.randint(1, 6)):
                change(world)
    run.silence(1.8)
    for _ in range(random.randint(0, 5)):
        change(world)
