"""Every ``snapshot.mode``, while connectors start again, change their mode, or lose their slots or offsets."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final

from .alterations import alter
from .change_run import add_tables
from .changes import change, insert
from .configuration import draw_configuration
from .run import Outcome, Run
from .stop_run import leave_changeable, without
from .world import World

LEFT_OUT: Final = (
    "snapshot.", "topic.creation", "key.converter", "heartbeat", "replica.identity", "slot.stream", "message.key", "topic.transaction",
    "streaming.delay",
)  # fmt: skip
MODES: Final = ("initial", "always", "no_data", "initial_only", "when_needed", "configuration_based")
BASED: Final = ("snapshot.data", "snapshot.schema", "start.stream", "snapshot.on.data.error")
"""Without ``snapshot.on.schema.error``, with which Debezium fails where it has no offset (docs/differences.md)."""
QUIET: Final = 2.5


def run_modes(run: Run) -> Outcome:
    """Within each key what came is compared; what came twice counts once."""
    random = run.random
    with run.opened() as world:
        add_tables(world)
        for _ in range(random.randint(0, 12)):
            insert(world, random.choice(world.tables))
        # Without a record Debezium stores no offset (docs/differences.md).
        world.execute("INSERT INTO public.zz_end VALUES (0, 'first')")
        drawn = draw_configuration(random, [], transforms=0.1, later=run.place.later)
        run.config = without(drawn, LEFT_OUT)
        leave_changeable(run.config)
        run.config |= _mode(random)
        run.rules = replace(run.rules, order="key", reads="apart", sequences=False, exact=False, ignore="heartbeat|transaction|message$")
        if outcome := run.create(streams=_streams(run)):
            return outcome
        going = run.silence(QUIET)
        for _ in range(random.choice((1, 2, 3))):
            if going:
                _changes(world)
                going = _settled(run) and _interrupted(run, world) and _settled(run)
        return run.compared(complete=going)


def _mode(random: Random) -> dict[str, str]:
    mode = random.choice(MODES)
    if mode != "configuration_based":
        return {"snapshot.mode": mode}
    flags = {f"snapshot.mode.configuration.based.{name}": random.choice(("true", "false")) for name in BASED}
    return {"snapshot.mode": mode} | flags


def _streams(run: Run) -> bool:
    based = run.config.get("snapshot.mode.configuration.based.start.stream", "true") == "true"
    return run.config["snapshot.mode"] != "initial_only" and based


def _settled(run: Run) -> bool:
    return (not _streams(run) or run.mark()) and run.silence(QUIET if run.quiet or not _streams(run) else 0.5)


def _changes(world: World) -> None:
    for _ in range(world.random.randint(2, 10)):
        if world.tables:
            change(world)


def _interrupted(run: Run, world: World) -> bool:
    """Let both begin again when all was read; False if one has failed."""
    random = run.random
    forms = ["restart", "stop", "stop", "mode", "offsets"]
    if run.config["snapshot.mode"] != "always" and run.real.call("GET", "/offsets")[1]["offsets"]:
        # With always ours takes a new slot, and without a record Debezium has no offset (docs/differences.md).
        forms.append("slot")
    form = random.choice(forms)
    run.statements.append(f"-- INTERRUPTED: {form}")
    former = run.walsenders()
    if form == "restart":
        run.call("POST", "/restart?includeTasks=true")
    else:
        run.call("PUT", "/stop")
        run.until(lambda: all(side.state() == "STOPPED" for side in run.sides))
        run.wait_streaming(count=0)
        if form == "offsets":
            run.call("DELETE", "/offsets")
        elif form == "slot":
            for side in run.sides:
                world.execute(f"SELECT pg_drop_replication_slot('{side.name}')")
        elif form == "mode":
            _change_mode(run)
        elif world.chance(0.5):
            alter(world)
        _changes(world)
        run.call("PUT", "/resume")
    if _streams(run):
        run.wait_streaming(former)
    else:
        run.until(lambda: all(side.state().startswith("RUNNING RUNNING") or side.failed() for side in run.sides))
    return run.silence(QUIET)


def _change_mode(run: Run) -> None:
    for name in [name for name in run.config if name.startswith("snapshot.mode")]:
        del run.config[name]
    run.config |= _mode(run.random)
    run.statements.append(f"-- MODE {run.config}")
    for side in run.sides:
        side.call("PUT", "/config", run.configuration(side))
