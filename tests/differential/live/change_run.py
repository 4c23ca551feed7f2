"""Tables, changes and alterations of any kind, with a configuration of any kind."""

from __future__ import annotations

import re
from dataclasses import replace

from .alterations import alter
from .changes import change, insert, transaction
from .configuration import draw_configuration
from .literals import quote_name
from .run import Outcome, Run
from .shapes import add_special, add_table
from .world import World


def add_tables(world: World) -> None:
    """One table or some, with rows."""
    for _ in range(world.random.choice((1, 2, 3, 4))):
        add_table(world)
    if world.chance(0.4):
        add_special(world)
    while not world.tables:
        add_table(world)


def run_changes(run: Run) -> Outcome:
    """Rows before the snapshot, then phases: alterations, a mark, changes."""
    random = run.random
    with run.opened() as world:
        add_tables(world)
        for _ in range(random.randint(0, 15)):
            insert(world, random.choice(world.tables))
        # Debezium reads no other names in overrides.
        names = [
            name for name in (f"{table.schema}.{table.name}" for table in world.tables) if re.fullmatch(r"[a-z0-9_]+\.[a-z0-9_]+", name)
        ]
        run.config = draw_configuration(random, names, later=run.place.later)
        if any(not table.key for table in world.tables):
            # With several threads Debezium does not read rows with null in the key of a unique index (docs/differences.md).
            for name in ("snapshot.max.threads", "snapshot.max.threads.multiplier"):
                run.config.pop(name, None)
        threads = run.config.keys() & {"snapshot.max.threads", "snapshot.max.threads.multiplier"}
        beats = "heartbeat.action.query" in run.config
        if beats:
            run.config.pop("topic.transaction", None)
        run.rules = replace(
            run.rules,
            order="none" if threads else "topic",
            partitions="topic.creation.default.partitions" in run.config,
            exact="transforms" not in run.config and not threads and not beats,
            # The snapshot may read what the heartbeat's query of the other one has written.
            edges=not threads and not beats,
            # The heartbeat's query runs as often as a connector has time.
            ignore="heartbeat|beats|transaction" if beats else "heartbeat",
            read_keys=not run.config.keys() & {"column.exclude.list", "column.include.list"},
        )
        if run.config.get("snapshot.mode") != "no_data" and world.chance(0.12):
            _publish(run, world)
        if outcome := run.create():
            return outcome
        world.snapshot = False
        going = run.mark()
        for phase in range(random.choice((1, 2, 3, 4))):
            if going:
                going = run_phase(run, world, random.choice((1, 2, 3)) if phase else 0)
        return run.compared(complete=going)


def _publish(run: Run, world: World) -> None:
    """Publications of one's own, which send some tables, operations, columns or rows only."""
    random, tables = run.random, [table for table in world.tables if not table.special]
    parts = []
    for table in random.sample(tables, random.randint(0, len(tables))):
        columns = [column for column in table.columns if column.name in table.key or world.chance(0.7)]
        plain = [column for column in columns if not column.generated]
        if world.version >= 15 and plain and world.chance(0.4):
            parts.append(f"{table.quoted} ({', '.join(quote_name(column.name) for column in plain)})")
        elif world.version >= 15 and table.columns[0].serial and world.chance(0.4):
            parts.append(f"{table.quoted} WHERE ({quote_name(table.columns[0].name)} > 2)")
        else:
            parts.append(table.quoted)
    parts.append("public.zz_end")
    publish = random.choice(("insert, update, delete, truncate", "insert, update", "insert, delete"))
    root = random.choice(("true", "false"))
    for side in run.sides:
        name = quote_name(side.name)
        world.execute(
            f"CREATE PUBLICATION {name} FOR TABLE {', '.join(parts)} WITH (publish = '{publish}', publish_via_partition_root = {root})"
        )
    run.config["publication.autocreate.mode"] = "disabled"
    run.config.pop("publish.via.partition.root", None)


def run_phase(run: Run, world: World, alterations: int) -> bool:
    """A table is altered only when all changes before were read: Debezium reads its columns from the catalog of that moment."""
    random = run.random
    for _ in range(alterations):
        alter(world)
    while not world.tables:
        alter(world)
    for _ in range(random.randint(3, 25)):
        if not world.tables:
            break
        if world.chance(0.75):
            change(world)
            continue
        altering = world.chance(0.2)
        if altering:
            run.mark()
        transaction(world, altering=altering)
        if altering:
            run.mark()
    return run.mark()
