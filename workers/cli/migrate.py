"""``understudy migrate``: what happens to the connectors of a Kafka Connect cluster on Understudy."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from workers.cli.check import check, lines, look
from workers.cli.failure import FOUND, OK, CommandError
from workers.cli.output import Output, with_output
from workers.cli.takeover.comparison import ABSENT, Comparison
from workers.settings.required import require_all
from workers.settings.worker_settings import WorkerSettings, current_environment, worker_properties

if TYPE_CHECKING:
    from workers.cli.takeover.cluster_state import StoredConnector
    from workers.cli.takeover.plan import Plan

_WORDS: Final = {
    "resumes": ("ok", "resumes without a snapshot"),
    "snapshot": ("warning", "takes a new snapshot"),
    "finished": ("ok", "has nothing left to do"),
    "stops": ("error", "would not start"),
    "refused": ("error", "would be refused"),
    "other class": ("error", "would not be taken over"),
    "unknown": ("error", "cannot be determined"),
}
_DIFFERENCES: Final = 20
"""The most differences that a terminal shows."""


@click.command("migrate")
@click.option(
    "--from",
    "worker",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The .properties file of the cluster's workers.",
)
@click.option(
    "--rehearse",
    "rehearsed",
    metavar="NAME",
    help="Read this connector's next events here too, and compare them with those that Kafka Connect writes.",
)
@click.option("--events", type=click.IntRange(min=1), default=20, show_default=True, help="How many records a rehearsal compares.")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=60.0, show_default=True, help="How long a rehearsal waits for them.")
@with_output
def command(worker: Path, rehearsed: str | None, events: int, seconds: float, out: Output) -> int:
    """Say for each connector of a Kafka Connect cluster what happens to it when Understudy takes the cluster over.

    Reads the cluster's internal topics and the connectors' databases. Nothing is written, and no group is joined. The cluster may run.
    A rehearsal makes a temporary replication slot, which vanishes with the command.

    Exit code 1: a connector would not run here, or the rehearsal found a difference.
    """
    settings = require_all(WorkerSettings.from_properties(worker_properties(worker, current_environment())), worker)
    if rehearsed is not None:
        return asyncio.run(_rehearse(settings, rehearsed, events, seconds, out))
    plans = asyncio.run(_plans(settings))
    if out.text:
        _show(out, settings, plans)
    else:
        ignored, unknown = list(settings.ignored), list(settings.unknown)
        out.json({"worker": {"without_effect": ignored, "unknown": unknown}, "connectors": [plan.as_json() for plan in plans]})
    return FOUND if any(plan.blocks for plan in plans) else OK


async def _plans(settings: WorkerSettings) -> list[Plan]:
    from workers.cli.takeover.cluster_state import read_cluster  # noqa: PLC0415

    return [await plan_of(stored, settings) for stored in await read_cluster(settings)]


async def plan_of(stored: StoredConnector, settings: WorkerSettings) -> Plan:
    """What happens to one connector. Looks at its database."""
    from connector.catalog.selection import Selection  # noqa: PLC0415
    from connector.config.connector_config import parse  # noqa: PLC0415
    from connector.io.postgres.slot_health import look as look_at_slot  # noqa: PLC0415
    from connector.io.regex_process import BacktrackingProcess  # noqa: PLC0415
    from workers.cli.takeover import plan as migration  # noqa: PLC0415
    from workers.herder.task_plan import TaskPlanner  # noqa: PLC0415
    from workers.stores.memory import MemoryLog  # noqa: PLC0415
    from workers.stores.offset_store import AllOffsets  # noqa: PLC0415

    if not migration.is_ours(stored):
        return migration.other_class(stored)
    found = await check(settings, stored.name, stored.config, look)
    if any(one.severity == "error" for one in found):
        return migration.refused(stored, found)
    planner = TaskPlanner(settings, AllOffsets(MemoryLog()), lambda _name, _topic: None)
    resolved = planner.as_read(await planner.resolve(stored.config))
    config, _notices = parse(resolved)
    backtrack = BacktrackingProcess()
    selection = await asyncio.to_thread(Selection.of, config, backtrack)
    return migration.planned(stored, found, config, selection, await look_at_slot(resolved, backtrack))


async def _rehearse(settings: WorkerSettings, name: str, events: int, seconds: float, out: Output) -> int:
    from workers.cli.takeover.cluster_state import read_cluster  # noqa: PLC0415
    from workers.cli.takeover.rehearse import Limits, rehearse  # noqa: PLC0415

    stored = {each.name: each for each in await read_cluster(settings)}
    if name not in stored:
        raise CommandError(f"The cluster has no connector {name}", f"It has: {', '.join(stored) or 'none'}.")
    plan = await plan_of(stored[name], settings)
    if plan.verdict in ("refused", "other class") or plan.slot is None:
        raise CommandError(f"The connector {name} cannot be rehearsed: {plan.why}", plan.remedy)

    def opened() -> None:
        # On standard error also for a pipe, so that a script knows when its changes count.
        click.echo(f"Reading the next {events} records of {name} from a temporary slot, for at most {seconds:g} s.", err=True)

    count, found = await rehearse(stored[name], settings, plan.slot.plugin or "pgoutput", Limits(events, seconds), opened)
    if not count:
        raise CommandError(
            f"No event of {name} was committed within {seconds:g} s", "Change a row of a captured table meanwhile, or raise --seconds."
        )
    _show_rehearsal(out, name, count, found)
    return OK if found.agrees else FOUND


def _show(out: Output, settings: WorkerSettings, plans: Sequence[Plan]) -> None:
    for key, listed in (("without an effect here", settings.ignored), ("unknown", settings.unknown)):
        if listed:
            out.line(f"Properties of the worker {key}: {', '.join(listed)}", "yellow")
    if not plans:
        out.line("The cluster has no connector.")
    out.table(("connector", "state", "", ""), [(plan.name, plan.state, *_WORDS[plan.verdict]) for plan in plans])
    for plan in plans:
        out.line(plan.name, "bold")
        out.line(f"  {plan.why}")
        if plan.remedy:
            out.line(f"  → {plan.remedy}", "cyan")
        if plan.slot is not None:
            out.line(f"  slot {_slot(plan)}")
        if plan.offset is not None:
            out.line(f"  offset {json.dumps(plan.offset)}")
        for said, names in (("without an effect here", plan.without_effect), ("unknown", plan.unknown)):
            if names:
                out.line(f"  properties {said}: {', '.join(names)}", "yellow")
        lines(out, plan.findings)
    blocked = sum(plan.blocks for plan in plans)
    out.line(f"{len(plans) - blocked} of {len(plans)} connectors would run here.", "bold red" if blocked else "bold green")


def _slot(plan: Plan) -> str:
    slot = plan.slot
    if slot is None or not slot.exists:
        return f"{slot.name if slot else ''}: does not exist"
    used = f"read by {slot.holder}" if slot.active else "not in use"
    gap = slot.behind_offset
    where = (
        ""
        if gap is None
        else ", at the offset"
        if gap == 0
        else f", {gap} bytes of WAL before the offset"
        if gap > 0
        else f", {-gap} bytes after the offset"
    )
    return f"{slot.name}: {slot.plugin}, WAL {slot.wal_status}, {used}, confirmed up to {slot.confirmed}{where}"


def _shown(value: Any) -> str:
    return "absent" if value is ABSENT else json.dumps(value, ensure_ascii=False)


def _show_rehearsal(out: Output, name: str, count: int, found: Comparison) -> None:
    if not out.text:
        out.json(
            {
                "name": name,
                "agrees": found.agrees,
                "records": count,
                "equal": found.equal,
                "different": [one.as_json() for one in found.different],
                "only_here": len(found.missing),
                "only_in_connect": len(found.additional),
            }
        )
        return
    for one in found.different[:_DIFFERENCES]:
        out.line(f"{one.topic} {json.dumps(one.key, ensure_ascii=False)} {one.path}", "bold")
        out.line(f"  here    {_shown(one.here)}", "green")
        out.line(f"  connect {_shown(one.connect)}", "yellow")
    for said, samples in (("Only here", found.missing), ("Only written by Kafka Connect", found.additional)):
        if samples:
            out.line(f"{said}: {len(samples)} records of {', '.join(sorted({sample.topic for sample in samples}))}", "red")
    verdict = f"{found.equal} of {count} records are the same."
    out.line(verdict, "bold green" if found.agrees else "bold red")
