"""``understudy-spark`` (``python -m workers.spark``): tables out of a connector's topics.

Exit codes: 0 done, and every table is equal where tables are compared; 1 one is not; 2 wrong arguments or configuration; 3 no suitable
Java; 4 something could not be read or written; 70 a fault of this program.
"""

from __future__ import annotations

import argparse
import re
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import psycopg
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from workers.spark.bulk.command import HELP as BULK_HELP
from workers.spark.bulk.command import NAME as BULK_SNAPSHOT
from workers.spark.bulk.command import add_arguments as add_bulk_arguments
from workers.spark.bulk.command import run as run_bulk_snapshot
from workers.spark.compare.command import add_verify
from workers.spark.compare.command import run as run_verify
from workers.spark.compare.show import show
from workers.spark.failure import FAULT, UNREADABLE, WRONG, JobError
from workers.spark.jobs.arrival import arrival
from workers.spark.jobs.mirror_config import read_config
from workers.spark.jobs.stream import mirrored_tables, place_of, run_history, run_mirror, session_of
from workers.spark.sinks import sink_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and answer its exit code."""
    options = _parser().parse_args(arguments)
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="understudy-spark", description="Tables out of a connector's topics, by Spark.")
    commands = parser.add_subparsers(required=True, metavar="command")
    command = commands.add_parser("mirror", help="keep tables that equal the source's")
    command.add_argument("--config", type=Path, required=True, metavar="FILE", help="the mirror's configuration (mirror.toml)")
    command.add_argument(
        "--show", type=int, metavar="ROWS", help="end when all that is there is mirrored, and show small tables beside the source's"
    )
    _add_rebuild(command)
    command.set_defaults(run=_mirror)
    command = commands.add_parser("history", help="keep every state of every row, with the times from when to when it held")
    command.add_argument(
        "--config",
        type=Path,
        required=True,
        metavar="FILE",
        help="a configuration like the mirror's, with a checkpoint and a sink of its own",
    )
    _add_rebuild(command)
    command.set_defaults(run=_history)
    command = commands.add_parser("verify", help="compare a mirror's tables with the source's")
    add_verify(command)
    command.set_defaults(run=_verify)
    command = commands.add_parser(BULK_SNAPSHOT, help=BULK_HELP)
    add_bulk_arguments(command)
    command.set_defaults(run=run_bulk_snapshot)
    return parser


def _add_rebuild(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--rebuild",
        action="append",
        default=[],
        metavar="TABLE",
        help="replace this table's rows (schema.table) by what its topic tells from its start; may be repeated",
    )


def _mirror(options: argparse.Namespace) -> int:
    config = read_config(options.config)
    if options.show is None:
        run_mirror(config, rebuild=options.rebuild)
        return 0
    if config.dsn is None:
        raise JobError(WRONG, "--show needs the source: set dsn in the configuration.")
    # A wrong dsn is told before Spark starts.
    psycopg.connect(config.dsn).close()
    spark = session_of(config, "mirror")
    try:
        run_mirror(replace(config, trigger="available-now"), spark, rebuild=options.rebuild)
        tables = mirrored_tables(config, spark)
        return 0 if show(spark, config.dsn, tables, sink_of(place_of(config), spark), options.show) else 1
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
    psycopg.connect(dsn).close()
    spark = session_of(config, "verify", "postgres", kafka=options.wait is not None)
    try:
        sink = sink_of(place_of(config), spark)
        tables = [table for table in mirrored_tables(config, spark) if not options.table or table.full_name in options.table]
        if not tables:
            raise JobError(UNREADABLE, "The mirror has no such table yet. Run the mirror first, and see --table.")
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
        )
    finally:
        spark.stop()


def failure_sentence(trace: str) -> str:
    """What Spark's trace comes down to, without the values it quotes: Kafka's words or the name of Spark's error condition."""
    kafka = re.findall(r"org\.apache\.kafka\.[\w.]*Exception: ([^\n]+)", trace)
    if kafka:
        return f"Kafka could not be read: {kafka[-1].rstrip('.')}. Check bootstrap and [kafka] in the configuration."
    condition = re.search(r"\[([A-Z][A-Z_]*(?:\.[A-Z_]+)?)\]", trace)
    java = re.findall(r"\b[a-z]\w*(?:\.\w+)*\.(\w+(?:Exception|Error))\b", trace)
    name = condition[1] if condition else java[-1] if java else "an unknown error"
    if name.startswith("MALFORMED_RECORD"):
        return "An event holds a value of another type than its schema, or without one the source's table now, has for the column."
    return f"Spark stopped with {name}."


def _fault(error: BaseException) -> str:
    """Where an error that nobody foresaw came from. Its text may hold a value of a row: its type and place must do."""
    frames = [f"  at {frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
    return "\n".join([f"error: The program has a fault, please report it: {type(error).__name__}", *reversed(frames)])


def _say(text: str, stream: TextIO | None = None) -> None:
    print(text, file=stream or sys.stdout, flush=True)


if __name__ == "__main__":
    sys.exit(main())
