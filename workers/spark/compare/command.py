"""``understudy-spark verify``: its arguments, and the output of the comparison of several tables."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final, TextIO

from pyspark.sql import DataFrame, SparkSession

from workers.spark.compare.verdict import MIRROR, Verdict, summary_text, verdict_text
from workers.spark.compare.verify import HasReached, verify
from workers.spark.compilation import compiled
from workers.spark.source.snapshot import all_small
from workers.spark.tables.table import Table

EQUAL: Final = 0
DIFFERENT: Final = 1


def add_verify(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="the mirror's configuration (mirror.toml)")
    parser.add_argument("--dsn", help="libpq's connection string of the source, instead of the configuration's")
    parser.add_argument("--table", action="append", metavar="SCHEMA.NAME", help="verify only this table; may be repeated")
    parser.add_argument("--keys", type=_count, default=20, metavar="N", help="name at most N differing keys of a table (default 20)")
    parser.add_argument("--partitions", type=_count, metavar="N", help="read the source in N ranges of pages (default: by its size)")
    parser.add_argument(
        "--wait", type=float, metavar="SECONDS", help="for a source in use: wait this long for the mirror, and compare differing keys again"
    )
    parser.add_argument("--rounds", type=_count, default=3, metavar="N", help="with --wait: compare N times at most (default 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(
    spark: SparkSession,
    dsn: str,
    tables: Sequence[Table],
    mirror: Callable[[Table], DataFrame | None],
    *,
    reached: HasReached | None = None,
    keys: int = 20,
    partitions: int | None = None,
    patience: float = 600,
    rounds: int = 3,
    at_once: int = 2,
    aside: Mapping[str, str] = MappingProxyType({}),
    as_json: bool = False,
    stream: TextIO | None = None,
) -> int:
    """Verify the tables, ``at_once`` at a time, and print the results in order. Returns :data:`EQUAL` or :data:`DIFFERENT`.

    ``mirror`` is a sink's ``read``. ``aside``: table that is not mirrored, because its topic is set aside → the reason. For the others see
    :func:`workers.spark.compare.verify.verify`, whose errors end the command.
    """
    to = stream or sys.stdout

    def one(table: Table) -> Verdict:
        if table.full_name in aside:
            return Verdict(table.full_name, absent=MIRROR, set_aside=aside[table.full_name])
        look = partial(mirror, table)
        return verify(spark, dsn, table, look, keys=keys, partitions=partitions, reached=reached, patience=patience, rounds=rounds)

    verdicts: list[Verdict] = []
    # Generated code serves one table. It takes seconds for each, which a small table does not win back.
    small = all_small(dsn, [(table.schema, table.name) for table in tables if table.full_name not in aside])
    with compiled(spark, not small), ThreadPoolExecutor(at_once) as pool:
        for verdict in pool.map(one, tables):
            verdicts.append(verdict)
            if not as_json:
                print(verdict_text(verdict), file=to, flush=True)
    equal = all(verdict.equal for verdict in verdicts)
    if as_json:
        document = {"equal": equal, "tables": [verdict.document() for verdict in verdicts]}
        print(json.dumps(document, ensure_ascii=False, indent=2), file=to, flush=True)
    elif len(verdicts) > 1:
        print("\n" + summary_text(verdicts), file=to, flush=True)
    return EQUAL if equal else DIFFERENT


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not above 0")
    return number
