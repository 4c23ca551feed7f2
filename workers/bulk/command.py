"""The arguments of ``bulk-snapshot``. What it does is imported when it runs.

All commands of ``understudy-spark`` declare their arguments before one of them runs. The connector and the worker's settings take 0.8 CPU-s
to import, two thirds of what the start of ``mirror`` took.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

NAME: Final = "bulk-snapshot"
HELP: Final = "take a connector's initial snapshot with Spark, and let the connector stream from there"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    command.add_argument("--connect", required=True, metavar="URL", help="the Connect worker's REST interface")
    command.add_argument("--name", help="the connector, which must be STOPPED; with --config the name it gets")
    command.add_argument("--config", type=Path, metavar="FILE", help="a connector that is not there yet: the JSON it is to be made of")
    command.add_argument(
        "--worker", type=Path, metavar="FILE", help="the worker's .properties: Kafka, converters, providers; else CONNECT_* variables"
    )
    command.add_argument("--master", help="Spark's master (default local[*])")
    command.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark's; may be repeated")
    command.add_argument("--netrc", type=Path, metavar="FILE", help="holds the login for --connect")
    command.add_argument("--stay-stopped", action="store_true", help="do not resume the connector afterwards")


def run(options: argparse.Namespace) -> int:
    """Take the snapshot and return 0. Raises JobError with the failure and what to do next."""
    from workers.bulk.initial_snapshot import run as take  # noqa: PLC0415

    return take(options)
