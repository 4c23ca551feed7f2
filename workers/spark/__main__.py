"""``python -m workers.spark rebuild``: make tables of a connector's topics and lay them beside the source's.

Exit codes: 0 every table is equal, 1 one is not, 2 wrong arguments, 3 no suitable Java, 4 something could not be read.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import psycopg
from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from workers.spark.comparison import Comparison, compare, table_text
from workers.spark.envelope import Column, Topic, changes, outlined, survey
from workers.spark.failure import UNREADABLE, JobError
from workers.spark.jars import kafka_jars
from workers.spark.rebuild import rebuild
from workers.spark.session import IVY, find_java, open_session
from workers.spark.source import bare_columns, rows_as_text, snapshot, table_columns
from workers.spark.topics import read_topics, topics_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and answer its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return _rebuild(options)
    except JobError as error:
        _say(f"error: {error}", sys.stderr)
        return error.code
    except psycopg.Error as error:
        said = str(error).strip().splitlines()
        _say(f"error: The source could not be read: {said[0] if said else type(error).__name__}. Check --dsn.", sys.stderr)
        return UNREADABLE
    except (PySparkException, Py4JJavaError) as error:
        _say(f"error: {failure_sentence(str(error))}", sys.stderr)
        return UNREADABLE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.spark", description="PySpark jobs over a connector's topics.")
    command = parser.add_subparsers(required=True, metavar="command").add_parser(
        "rebuild", help="rebuild the tables from their topics and compare them with the source"
    )
    command.add_argument("--bootstrap", required=True, metavar="HOST:PORT", help="Kafka's bootstrap servers")
    command.add_argument("--prefix", required=True, help="the connector's topic.prefix")
    command.add_argument("--dsn", required=True, help="libpq's connection string of the source (a password is better kept in PGPASSWORD)")
    command.add_argument("--topics", metavar="REGEX", help="read these topics (whole names) instead of all under the prefix")
    command.add_argument("--rows", type=int, default=40, help="lines to print of each table (default 40)")
    command.add_argument("--ivy", type=Path, default=IVY, help="folder for Spark's Kafka jars (default .cache/ivy)")
    return parser


def _rebuild(options: argparse.Namespace) -> int:
    java = find_java()
    # A wrong --dsn is told before Spark starts; the rows are read in a later transaction, after the topics.
    psycopg.connect(options.dsn).close()
    spark = open_session("rebuild", java, kafka_jars(java, options.ivy))
    try:
        pattern = options.topics or topics_of(options.prefix)
        outlines = outlined(read_topics(spark, options.bootstrap, pattern)).persist(StorageLevel.MEMORY_AND_DISK)
        topics = survey(outlines)
        if not topics:
            raise JobError(UNREADABLE, f"No topic with records on {options.bootstrap} matches {pattern}. Check --prefix or --topics.")
        with snapshot(options.dsn) as connection:
            unequal = [topic.name for topic in topics if not _table(spark, connection, outlines, topic, options.rows)]
    finally:
        spark.stop()
    _say(f"\nNot equal: {', '.join(unequal)}." if unequal else "\nAll tables are equal.")
    return 1 if unequal else 0


def _table(spark: SparkSession, connection: psycopg.Connection, outlines: DataFrame, topic: Topic, limit: int) -> bool:
    """Print one topic's table beside the source's; whether they are equal."""
    if topic.strangers:
        _say(f"\n{topic.name}: {topic.strangers} of {topic.records} records are no change events. Take the topic before any unwrapping.")
        return topic.table is None
    if topic.table is None:
        _say(f"\n{topic.name}: no changes of a table, left out.")
        return True
    name = ".".join(topic.table)
    catalog = table_columns(connection, topic.table)
    if not catalog:
        _say(f"\n{topic.name}: the source has no table {name}.")
        return False
    events, columns = changes(outlines, topic, bare_columns(catalog))
    there = {column.name: column for column in catalog}
    common = [column for column in columns if column.name in there and _comparable(column, there[column.name].type)]
    rebuilt = rebuild(events, [column.name for column in columns])
    comparison = compare(rebuilt, rows_as_text(spark, connection, topic.table, common), common, limit)
    _report(topic, name, comparison, sorted({*there, *(column.name for column in columns)} - {column.name for column in common}))
    return comparison.different == 0


def _comparable(column: Column, type_name: str) -> bool:
    """Whether PostgreSQL's text can be held against the value: a bytea sent as text may be base64 or hex, the schema does not say."""
    encoded = type_name == "bytea" and column.kind.raw == column.kind.type
    return column.kind.comparable and not encoded


def _report(topic: Topic, name: str, comparison: Comparison, aside: Sequence[str]) -> None:
    versions = f", {len(topic.versions)} schema versions" if len(topic.versions) > 1 else ""
    _say(f"\n{name} (topic {topic.name}, {topic.records} records{versions})")
    _say(table_text(comparison))
    hidden = max(comparison.topic, comparison.source) - len(comparison.lines)
    if hidden > 0:
        _say(f"… and at least {hidden} more")
    if aside:
        _say(f"not compared: {', '.join(aside)}")
    if topic.unordered:
        _say(f"append-only: the table has no key, so {topic.unordered} updates and deletes are not applied")
    verdict = "equal" if comparison.different == 0 else f"{comparison.different} rows differ"
    _say(f"{name}: {comparison.topic} rows rebuilt, {comparison.source} in the source: {verdict}")


def failure_sentence(trace: str) -> str:
    """What Spark's trace comes down to, without the values it quotes: Kafka's words or the name of Spark's error condition."""
    kafka = re.findall(r"org\.apache\.kafka\.[\w.]*Exception: ([^\n]+)", trace)
    if kafka:
        return f"Kafka could not be read: {kafka[-1].rstrip('.')}. Check --bootstrap."
    condition = re.search(r"\[([A-Z][A-Z_]*(?:\.[A-Z_]+)?)\]", trace)
    name = condition[1] if condition else trace.splitlines()[0].rpartition(":")[0] or "an unknown error"
    if name.startswith("MALFORMED_RECORD"):
        return "An event holds a value of another type than its schema, or without one the source's table now, has for the column."
    return f"Spark stopped with {name}."


def _say(text: str, stream: TextIO | None = None) -> None:
    print(text, file=stream or sys.stdout, flush=True)


if __name__ == "__main__":
    sys.exit(main())
