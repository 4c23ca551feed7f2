"""``understudy-spark maintain``: its arguments, and the maintenance of several tables."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TextIO

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.maintenance.report import Report
from workers.spark.tables.table import Table


def add_maintain(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="the configuration of the mirror or the history")
    parser.add_argument("--table", action="append", metavar="SCHEMA.NAME", help="maintain only this table; may be repeated")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def chosen(tables: Sequence[Table], names: Sequence[str] | None, sources: Mapping[str, str] = MappingProxyType({})) -> list[Table]:
    """The tables with these names; all if there are no names. Raises JobError for a name that no table has.

    ``sources``: name of a table → its name without a route, by which it can be chosen too. Several may have it.
    """
    called = {table.full_name: {table.full_name, sources.get(table.full_name, table.full_name)} for table in tables}
    known = {name for both in called.values() for name in both}
    unknown = [name for name in names or () if name not in known]
    if unknown or not tables:
        which = f"no table {unknown[0]}" if unknown else "no table yet"
        raise JobError(UNREADABLE, f"The sink has {which} of this configuration. Run the mirror first, and see --table.")
    return [table for table in tables if not names or called[table.full_name] & {*names}]


def run(tables: Sequence[Table], maintain: Callable[[Table], Report], *, as_json: bool, stream: TextIO | None = None) -> int:
    """Maintain the tables one after another, and print the results. Returns 0, or UNREADABLE if the maintenance of a table failed."""
    to = stream or sys.stdout
    reports = []
    for table in tables:
        reports.append(maintain(table))
        if not as_json:
            print(reports[-1].text(), file=to, flush=True)
    if as_json:
        print(json.dumps({"tables": [one.document() for one in reports]}, ensure_ascii=False, indent=2), file=to, flush=True)
    return UNREADABLE if any(report.failed for report in reports) else 0
