"""Tables whose names try to be something else: their rows arrive under their names by snapshot, stream and incremental snapshot."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from typing import Any, Final

import pytest

from connector.catalog.identifiers import quote_identifier, quote_literal, quote_table
from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector, parsed
from tests.support.topics import topic_reader
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

NAMES: Final = {
    "%s": "_s",
    "%(id)s": "__id_s",
    "{}": "__",
    "a.b": "a.b",
    '"': "_",
    "'": "_",
    "x'; DROP TABLE sig;--": "x___DROP_TABLE_sig_--",
    "$$": "__",
    "\\": "_",
    "\\N": "_N",
    "\t": "_",
    "line\nbreak": "line_break",
    " ": "_",
    "SELECT": "SELECT",
    "ключ" * 7 + "клюx": "_" * 31 + "x",
    "🙂": "__",
    "مرحبا": "_____",
    "__debezium": "__debezium",
    "before": "before",
    "op": "op",
    "1st": "1st",
    "[a-z]+(": "_a-z___",
    "\u200b": "_",
    "e\u0301": "e_",
}
"""Each is the name of a schema, of a table in it and of a column of that; and what the reference's topic holds in its place.

The reference fails at a double quote, and does not read a table whose name is only blanks. Their topics are derived from the others'.
"""


async def test_rows_arrive_under_their_names_for_any_names(pg: PgServer, shared_worker: Worker) -> None:
    connector = Connector(shared_worker, pg.database("hostile"), f"hostile_{uuid.uuid4().hex[:10]}")
    database = connector.database
    database.execute("CREATE TABLE sig (id text PRIMARY KEY, type text NOT NULL, data text)")
    for name in NAMES:
        column = quote_identifier(name)
        database.execute(
            f"CREATE SCHEMA {column}",
            f"CREATE TABLE {quote_table(name, name)} (id int PRIMARY KEY, {column} text)",
            f"INSERT INTO {quote_table(name, name)} VALUES (1, 'there')",
        )
    connector.create(
        {"signal.data.collection": "public.sig", "topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
    )
    try:
        for name in NAMES:
            table, column = quote_table(name, name), quote_identifier(name)
            database.execute(
                f"INSERT INTO {table} VALUES (2, 'new')",
                f"UPDATE {table} SET {column} = 'changed' WHERE id = 2",
                f"DELETE FROM {table} WHERE id = 1",
            )
        connector.await_confirmed(connector.lsn())
        asked = json.dumps({"data-collections": [quote_table(name, name) for name in NAMES]})
        database.execute(f"INSERT INTO sig VALUES ('s', 'execute-snapshot', {quote_literal(asked)})")

        def look() -> bool:
            return any(
                "incremental snapshot ends" in line and f"connector={connector.name}" in line for line in shared_worker.log.splitlines()
            )

        wait_until(look, lambda: f"the incremental snapshot to end: {connector.progress()}\n{shared_worker.log[-4000:]}", SECONDS)
        connector.await_confirmed(connector.lsn())
        found = await events(connector)
    finally:
        connector.delete()
    read, new, changed = {"id": 1, None: "there"}, {"id": 2, None: "new"}, {"id": 2, None: "changed"}
    wanted = [("r", None, read), ("c", None, new), ("u", None, changed), ("d", {"id": 1, None: None}, None), ("r", None, changed)]
    for name, shown in NAMES.items():
        topic = f"{connector.name}.{shown}.{shown}"
        rows = [(op, named(before, name), named(after, name)) for op, before, after in wanted]
        assert found[name, name] == [(topic, {"id": row[-1]["id"] if row[-1] else 1}, *row) for row in rows]


def named(row: dict[str | None, Any] | None, column: str) -> dict[str, Any] | None:
    return None if row is None else {column if key is None else key: value for key, value in row.items()}


async def events(connector: Connector) -> dict[tuple[str, str], list[tuple[object, ...]]]:
    """By schema and table: topic, key, operation, row before and row after; tombstones left out."""
    found: dict[tuple[str, str], list[tuple[object, ...]]] = defaultdict(list)
    async with topic_reader(connector.worker.bootstrap) as reader:
        for topic in await reader.topics():
            if not topic.startswith(f"{connector.name}."):
                continue
            for raw in await reader.read(topic):
                value = parsed(raw.value)
                if value is not None:
                    source = value["source"]
                    event = (topic, parsed(raw.key), value["op"], value["before"], value["after"])
                    found[source["schema"], source["table"]].append(event)
    return found
