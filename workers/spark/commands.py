"""The commands of ``understudy-spark`` that write tables from a connector's topics.

Exit codes: 0 success, with all compared tables equal; 1 a compared table differs; 2 wrong arguments or configuration; 3 no suitable
Java, or no PySpark; 4 a read or write failed; 70 a defect of this program.
"""

from __future__ import annotations

import argparse
import logging
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TextIO

import psycopg
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from workers.spark.compare.command import add_verify
from workers.spark.compare.command import run as run_verify
from workers.spark.compare.show import show
from workers.spark.failure import FAULT, UNREADABLE, WRONG, JobError, failure_sentence
from workers.spark.jobs.arrival import arrival
from workers.spark.jobs.mirror_config import read_config
from workers.spark.jobs.stream import kept_tables, mirrored_tables, place_of, ruled, run_history, run_mirror, session_of, unmirrored_tables
from workers.spark.maintenance.command import add_maintain, chosen
from workers.spark.maintenance.command import run as run_maintain
from workers.spark.maintenance.maintain import lake_of, maintain
from workers.spark.maintenance.own_output import own_output
from workers.spark.prepare import HELP as PREPARE
from workers.spark.prepare import add_prepare
from workers.spark.prepare import run as run_prepare
from workers.spark.sinks import sink_of
from workers.spark.source.dsn import check_dsn
from workers.spark.tables.table import Table


class Command(Protocol):
    """A command that another package adds, such as ``bulk-snapshot``."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a module's constant
        """The command's name."""

    @property
    def HELP(self) -> str:  # noqa: N802 - a module's constant
        """One line for ``--help``."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare its options."""

    def run(self, options: argparse.Namespace) -> int:
        """Run it and return the exit code."""


def main(arguments: Sequence[str] | None = None, further: Sequence[Command] = ()) -> int:
    """Run the command line and return the exit code. ``further`` are commands in addition to those of this package."""
    options = _parser(further).parse_args(arguments)
    # It writes a line for each attempt to connect. A mirror reports itself that it cannot read, once.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    try:
        return int(options.run(options))
    except JobError as error:
        _say(f"error: {error}", sys.stderr)
        return error.code
    except psycopg.Error as error:
        said = str(error).strip().splitlines()
        _say(f"error: The source could not be read: {said[0] if said else type(error).__name__}. Check its dsn.", sys.stderr)
        return UNREADABLE
    except (PySparkException, Py4JJavaError) as error:
        _say(f"error: {failure_sentence(str(error))}", sys.stderr)
        return UNREADABLE
    except Exception as error:  # noqa: BLE001 - see FAULT
        _say(_fault(error), sys.stderr)
        return FAULT


def _parser(further: Sequence[Command]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="understudy-spark", description="Write tables from a connector's topics with Spark.")
    commands = parser.add_subparsers(required=True, metavar="command")
    command = commands.add_parser("mirror", help="keep tables that equal the source's")
    command.add_argument("--config", type=Path, required=True, metavar="FILE", help="the mirror's configuration (mirror.toml)")
    command.add_argument(
        "--show", type=int, metavar="ROWS", help="end when all present records are mirrored, and show small tables beside the source's"
    )
    _add_rebuild(command)
    command.set_defaults(run=_mirror)
    command = commands.add_parser("history", help="keep every state of every row, with the times of its validity")
    command.add_argument(
        "--config",
        type=Path,
        required=True,
        metavar="FILE",
        help="a configuration like the mirror's, with its own checkpoint and sink",
    )
    _add_rebuild(command)
    command.set_defaults(run=_history)
    command = commands.add_parser("verify", help="compare a mirror's tables with the source's")
    add_verify(command)
    command.set_defaults(run=_verify)
    command = commands.add_parser("maintain", help="compact the files of a mirror's tables, and remove those that are no longer needed")
    add_maintain(command)
    command.set_defaults(run=_maintain)
    command = commands.add_parser("prepare", help=PREPARE)
    add_prepare(command)
    command.set_defaults(run=_prepare)
    for one in further:
        command = commands.add_parser(one.NAME, help=one.HELP)
        one.add_arguments(command)
        command.set_defaults(run=one.run)
    return parser


def _add_rebuild(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--rebuild",
        action="append",
        default=[],
        metavar="TABLE",
        help="replace this table's rows (schema.table) by those from the start of its topic; may be repeated",
    )


def _mirror(options: argparse.Namespace) -> int:
    config = read_config(options.config)
    if options.show is None:
        run_mirror(config, rebuild=options.rebuild)
        return 0
    if config.dsn is None:
        raise JobError(WRONG, "--show needs the source: set dsn in the configuration.")
    # A wrong dsn fails before Spark starts.
    psycopg.connect(config.dsn).close()
    spark = session_of(config, "mirror")
    try:
        run_mirror(replace(config, trigger="available-now"), spark, rebuild=options.rebuild)
        tables = mirrored_tables(config, spark)
        return 0 if show(spark, config.dsn, tables, ruled(config, sink_of(place_of(config), spark), spark), options.show) else 1
    finally:
        spark.stop()


def _history(options: argparse.Namespace) -> int:
    run_history(read_config(options.config), rebuild=options.rebuild)
    return 0


def _verify(options: argparse.Namespace) -> int:
    config = read_config(options.config)
    dsn = options.dsn or config.dsn
    if dsn is None:
        raise JobError(WRONG, "The source's dsn is missing: set dsn in the configuration, or --dsn.")
    check_dsn("--dsn" if options.dsn else "dsn", dsn)
    psycopg.connect(dsn).close()
    spark = session_of(config, "verify", "postgres", kafka=options.wait is not None)
    try:
        sink = ruled(config, sink_of(place_of(config), spark), spark)
        found, aside = mirrored_tables(config, spark), unmirrored_tables(config, spark)
        names = [name.partition(".") for name in aside if name not in {table.full_name for table in found}]
        lacking = [Table(schema, name, (), ()) for schema, _, name in names]
        tables = chosen([*found, *lacking], options.table)
        reached = None if options.wait is None else arrival(config, dsn, spark)
        return run_verify(
            spark,
            dsn,
            tables,
            sink.read,
            reached=reached,
            keys=options.keys,
            partitions=options.partitions,
            patience=options.wait or 0,
            rounds=options.rounds,
            as_json=options.json,
            aside=aside,
        )
    finally:
        spark.stop()


def _maintain(options: argparse.Namespace) -> int:
    config = read_config(options.config)
    if config.sink.format not in ("delta", "iceberg"):
        raise JobError(WRONG, f"Tables of the format {config.sink.format} need no maintenance. maintain is for delta and iceberg.")
    # Before the session starts: its JVM inherits standard output.
    with own_output() as output:
        spark = session_of(config, "maintain", kafka=False)
        try:
            lake = lake_of(sink_of(place_of(config), spark))
            kept = kept_tables(config, spark, lake)
            tables = chosen(list(kept.values()), options.table, {table.full_name: name for name, table in kept.items()})
            return run_maintain(tables, lambda table: maintain(spark, lake, table, config.maintain), as_json=options.json, stream=output)
        finally:
            spark.stop()


def _prepare(options: argparse.Namespace) -> int:
    return run_prepare(options.jars, sys.stdout)


def _fault(error: BaseException) -> str:
    """The type and the place of an unexpected error. Its text is left out, because it may hold a value of a row."""
    frames = [f"  at {frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
    return "\n".join([f"error: The program has a defect, please report it: {type(error).__name__}", *reversed(frames)])


def _say(text: str, stream: TextIO | None = None) -> None:
    print(text, file=stream or sys.stdout, flush=True)
