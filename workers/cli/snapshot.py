"""``understudy snapshot``: tables of a running connector are read again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import click

from connector.catalog.identifiers import quote_table, split_name
from workers.cli.output import Output, with_output
from workers.cli.rest import Rest, with_rest
from workers.cli.sending import Access, send, with_access
from workers.cli.signal import shown

_NAME: Final = re.compile(r'(?:\w+|"(?:[^"]|"")+")(?:\.(?:\w+|"(?:[^"]|"")+"))+')
"""A table's name with its schema, each part plain or in double quotes."""


@click.command("snapshot")
@click.argument("name")
@click.argument("tables", metavar="TABLE...", nargs=-1, required=True)
@click.option("--filter", "condition", metavar="COND", help="Read only the rows that this SQL condition selects.")
@click.option("--blocking", is_flag=True, help="Suspend the stream meanwhile, in place of an incremental snapshot.")
@with_access
@with_rest
@with_output
def command(name: str, tables: tuple[str, ...], condition: str | None, blocking: bool, access: Access, rest: Rest, out: Output) -> None:
    """Read each TABLE (schema.table, or a regular expression) of the connector NAME again.

    The connector must be running and stream. An incremental snapshot needs a signal table or read.only=true. `understudy status NAME`
    shows its progress.
    """
    shown(out, send(rest, name, "execute-snapshot", request(tables, condition, blocking=blocking), access))


def request(tables: Sequence[str], condition: str | None, *, blocking: bool) -> dict[str, Any]:
    """The data of the signal. Raises UsageError for a condition that cannot be put into a SELECT."""
    data: dict[str, Any] = {"type": "blocking" if blocking else "incremental", "data-collections": list(tables)}
    if condition is not None:
        # A blocking snapshot takes a whole SELECT in place of a condition.
        data["additional-conditions"] = [
            {"data-collection": table, "filter": _select(table, condition) if blocking else condition} for table in tables
        ]
    return data


def _select(table: str, condition: str) -> str:
    if _NAME.fullmatch(table) is None:
        raise click.UsageError(f"--filter with --blocking needs the names of tables, as schema.table; {table} is none.")
    schema, name = split_name(table)[-2:]
    return f"SELECT * FROM {quote_table(schema, name)} WHERE {condition}"
