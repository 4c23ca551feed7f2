"""``understudy check``: what a worker would say to a connector's configuration."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from connector.preflight.finding import Finding as Found
from workers.cli import findings
from workers.cli.config_file import read_config
from workers.cli.failure import FOUND, OK
from workers.cli.findings import Finding
from workers.cli.output import Output, with_output
from workers.cli.rest import Rest, open_rest, rest_options
from workers.settings.preflight import Preflight
from workers.settings.worker_settings import WorkerSettings, current_environment, worker_properties

if TYPE_CHECKING:
    from workers.herder.configuration_check import LookAtDatabase


@click.command("check")
@click.argument("file", metavar="FILE|-")
@click.option("--name", help="The connector's name, if the file has none.")
@click.option(
    "--worker",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The worker's .properties file: secrets, converters, preflight. Default: CONNECT_* variables.",
)
@click.option(
    "--preflight",
    type=click.Choice(["warn", "refuse", "off"]),
    help="In place of the worker's setting. refuse: what would certainly fail is an error.",
)
@rest_options(None)
@with_output
def command(
    file: str,
    name: str | None,
    worker: Path | None,
    preflight: Preflight | None,
    url: str | None,
    user: str | None,
    netrc: Path | None,
    ca_file: Path | None,
    out: Output,
) -> int:
    """Check the configuration in FILE as POST /connectors does, its database included. Needs no worker and no Kafka.

    FILE holds {"name", "config"}, the bare properties as JSON, or a .properties file. With --url the worker there checks it,
    with its own settings.

    Exit code 0: it would be accepted. 1: it would be refused. 2: the call or the file is wrong.
    """
    if url is not None and (worker is not None or preflight is not None):
        raise click.UsageError("With --url the worker there decides by its own settings. Omit --worker and --preflight, or --url.")
    name, config = read_config(file, name)
    if url is not None:
        found = ask(open_rest(url, user, netrc, ca_file), config)
    else:
        settings = WorkerSettings.from_properties(worker_properties(worker, current_environment()))
        found = asyncio.run(check(replace(settings, preflight=preflight or settings.preflight), name, config, look))
    report(out, name, found)
    return FOUND if any(one.severity == "error" for one in found) else OK


def ask(rest: Rest, config: Mapping[str, str | None]) -> list[Finding]:
    """The findings of the worker at ``rest``."""
    plugin = config.get("connector.class") or "PostgresConnector"
    answer: Any = rest.call("PUT", f"/connector-plugins/{plugin}/config/validate", dict(config), query={"warnings": "true"})
    return findings.of_answer(answer["configs"])


async def check(settings: WorkerSettings, name: str, config: Mapping[str, str | None], look_at: LookAtDatabase) -> list[Finding]:
    """The findings of a worker with ``settings``; ``look_at`` looks at the database."""
    from connect_api.herder import HerderError  # noqa: PLC0415
    from workers.herder.configuration_check import ConfigurationCheck  # noqa: PLC0415
    from workers.herder.plugins import check_class  # noqa: PLC0415
    from workers.herder.submitted_config import SubmittedConfigs  # noqa: PLC0415
    from workers.herder.task_plan import TaskPlanner  # noqa: PLC0415
    from workers.stores.memory import MemoryLog  # noqa: PLC0415
    from workers.stores.offset_store import AllOffsets  # noqa: PLC0415

    planner = TaskPlanner(settings, AllOffsets(MemoryLog()), lambda _name, _topic: None)
    validate = ConfigurationCheck(look_at, settings.preflight, classes=settings.class_map)
    submitted = SubmittedConfigs(planner, validate, settings.preflight)
    plugin = config.get("connector.class") or ""
    try:
        if "${" not in plugin:
            # POST's own words; those of validate are Connect's for another status.
            check_class(config)
        infos = await submitted.infos(plugin, {**config, "name": name})
    except HerderError as refused:
        return [_of_class(refused.message)]
    return findings.of_values([value for _, value in infos.configs])


def _of_class(message: str) -> Finding:
    # Connect's sentence lists all plugins.
    what = message.partition(", available connectors are:")[0]
    return Finding("connector.class", "error", what + ".", "Set connector.class to io.debezium.connector.postgresql.PostgresConnector.")


async def look(config: Mapping[str, str], /, *, further: bool) -> Sequence[Found]:
    """Look at the database as a worker does."""
    from connector.io.postgres.preflight import findings as look_at_database  # noqa: PLC0415
    from connector.io.regex_process import BacktrackingProcess  # noqa: PLC0415

    return await look_at_database(config, BacktrackingProcess(), further=further)


def report(out: Output, name: str, found: Sequence[Finding]) -> None:
    """Print the findings."""
    errors = sum(one.severity == "error" for one in found)
    if not out.text:
        out.json({"name": name, "accepted": errors == 0, "findings": [one.as_json() for one in found]})
        return
    lines(out, found)
    verdict = "would be refused" if errors else "would be accepted"
    counts = f"{_counted(errors, 'error')}, {_counted(len(found) - errors, 'warning')}"
    out.line(f"{name} {verdict}: {counts}.", "bold red" if errors else "bold green")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def lines(out: Output, found: Sequence[Finding]) -> None:
    """Print each finding for people: what was found, and below it the remedy."""
    for one in found:
        out.line(f"{one.severity:<8} {one.property}", "red" if one.severity == "error" else "yellow")
        out.line(f"  {one.what}")
        out.line(f"  → {one.remedy}", "cyan")
