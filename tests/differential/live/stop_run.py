"""Connectors that are restarted, paused, stopped, changed or replaced while rows and tables change."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .alterations import alter
from .change_run import add_tables
from .changes import change, insert, transaction
from .configuration import draw_configuration
from .run import Outcome, Run
from .side import MISSING
from .world import World

LEFT_OUT: Final = (
    "snapshot.", "topic.creation", "key.converter", "heartbeat", "replica.identity", "slot.stream", "message.key",
    "topic.transaction",
)  # fmt: skip
"""Properties of snapshots, or that take away the keys by which the records are compared."""


def run_stops(run: Run) -> Outcome:
    """What came is compared within each key; what came twice counts once.

    Logical messages are left out: around a restart, Debezium does not send some (docs/differences.md).
    """
    random = run.random
    with run.opened() as world:
        add_tables(world)
        for _ in range(random.randint(0, 10)):
            insert(world, random.choice(world.tables))
        drawn = draw_configuration(random, [], transforms=0.1, later=run.place.later)
        run.config = without(drawn, LEFT_OUT)
        run.rules = replace(run.rules, order="key", sequences=False, exact=False, ignore="heartbeat|transaction|message$")
        leave_changeable(run.config)
        if outcome := run.create():
            return outcome
        world.snapshot = False
        going = run.mark()
        for _ in range(random.choice((1, 2, 3))):
            if going:
                _changes(world)
                former = run.walsenders()
                form = _interrupt(run, world)
                # A paused task of Kafka Connect keeps its slot.
                run.wait_streaming(() if form == "pause" else former)
                if run.quiet:
                    # Debezium may stream for a while before it sends the first record.
                    run.silence(3)
                _changes(world)
                going = run.mark()
        return run.compared(complete=going)


def without(config: dict[str, str], prefixes: tuple[str, ...]) -> dict[str, str]:
    """The properties that do not begin with ``prefixes``, and no transforms that need more than one partition."""
    if any(value.endswith("PartitionRouting") for value in config.values()):
        prefixes += ("transforms", "predicates")
    return {name: value for name, value in config.items() if not name.startswith(prefixes)}


def leave_changeable(config: dict[str, str]) -> None:
    """Leave out what keeps Debezium from changing a filtered publication at the next start (docs/differences.md)."""
    if config.get("publication.autocreate.mode") == "filtered":
        for name in ("publish.via.partition.root", "skipped.operations"):
            config.pop(name, None)


def _changes(world: World) -> None:
    for _ in range(world.random.randint(2, 12)):
        if not world.tables:
            alter(world)
        elif world.chance(0.25):
            transaction(world, altering=False)
        else:
            change(world)


def _interrupt(run: Run, world: World) -> str:
    """One of the ways to interrupt both connectors. Tables are altered only when nothing is left to read, or all is."""
    form = run.random.choice(("task", "connector", "pause", "stop", "stop altered", "configuration", "again", "succession"))
    run.statements.append(f"-- INTERRUPTED: {form}")
    match form:
        case "task":
            run.call("POST", "/tasks/0/restart")
        case "connector":
            run.call("POST", "/restart?includeTasks=true")
        case "pause":
            run.call("PUT", "/pause")
            run.reach("PAUSED PAUSED")
            _changes(world)
            run.call("PUT", "/resume")
        case "stop" | "stop altered":
            if form != "stop":
                run.mark()
            run.call("PUT", "/stop")
            run.reach("STOPPED")
            if form != "stop":
                for _ in range(run.random.choice((1, 2, 3))):
                    alter(world)
            _changes(world)
            run.call("PUT", "/resume")
        case "configuration":
            run.config["max.batch.size"] = str(run.random.randint(1, 2000))
            for side in run.sides:
                side.call("PUT", "/config", run.configuration(side))
        case _:
            # The slot stays. With another name the offset does not, and the stream begins where the slot is.
            for side in run.sides:
                side.call("DELETE", "")
            _changes(world)
            run.config["snapshot.mode"] = "no_data"
            run.reach(MISSING)
            run.wait_streaming(count=0)
            for side in run.sides:
                if form == "succession":
                    side.connector += "s"
                side.create(run.configuration(side))
    return form
